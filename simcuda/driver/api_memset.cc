// Fills of device memory with 1-, 2- and 4-byte values.
#include <algorithm>
#include <cstring>
#include <vector>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/contents.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/graph.h"

namespace memprof::simcuda {
namespace {

// The same for memory without contents.
template <class Value>
void FillKnown(uint64_t address, uint64_t pitch, Value value, uint64_t width, uint64_t height) {
  const uint64_t bytes = width * sizeof(Value);
  const std::vector<Value> values(
      bytes <= KnownBytes::kMaxWrite && value != 0 ? static_cast<size_t>(width) : 0, value);
  for (uint64_t row = 0; row < height; ++row) {
    if (values.empty()) {
      DeviceContents().Forget(address + row * pitch, bytes);
    } else {
      DeviceContents().Write(address + row * pitch, values.data(), bytes);
    }
  }
}

template <class Value>
void RunFill(uint64_t address, uint64_t pitch, Value value, uint64_t width, uint64_t height) {
  if (!DeviceKeepsContents()) {
    const auto found = Allocations().Find(address);
    if (found != nullptr && !found->on_host())
      return FillKnown(address, pitch, value, width, height);
  }
  for (uint64_t row = 0; row < height; ++row) {
    auto* start = reinterpret_cast<Value*>(address + row * pitch);
    if constexpr (sizeof(Value) == 1) {
      std::memset(start, value, width);
    } else {
      std::fill_n(start, width, value);
    }
  }
}

// `width` counts values, `pitch` bytes.
template <class Value>
CUresult MakeFill(CUdeviceptr address, uint64_t pitch, Value value, uint64_t width, uint64_t height,
                  std::function<void()>* work) {
  if (address % sizeof(Value) != 0 || pitch % sizeof(Value) != 0) return CUDA_ERROR_INVALID_VALUE;
  uint64_t bytes = 0;
  uint64_t rows = 0;
  if (__builtin_mul_overflow(width, sizeof(Value), &bytes) || (height > 1 && pitch < bytes) ||
      __builtin_mul_overflow(pitch, height - 1, &rows) ||
      __builtin_add_overflow(bytes, rows, &bytes) || !InsideAllocations(address, bytes)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *work = [=] { RunFill(address, pitch, value, width, height); };
  return CUDA_SUCCESS;
}

template <class Value>
CUresult Fill(CUdeviceptr address, uint64_t pitch, Value value, uint64_t width, uint64_t height,
              CUstream handle, bool synchronous) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  CUresult result = RequireStream(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (width == 0 || height == 0) return CUDA_SUCCESS;
  std::function<void()> work;
  result = MakeFill(address, pitch, value, width, height, &work);
  if (result != CUDA_SUCCESS) return result;
  if (IsCapturing(stream)) {
    if (synchronous) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return CaptureWork(stream, CU_GRAPH_NODE_TYPE_MEMSET, std::move(work));
  }
  context->Enqueue(
      stream, std::move(work),
      synchronous || !DeviceKeepsContents() ? Stream::Mode::kWait : Stream::Mode::kAsync);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult FillWork(CUdeviceptr address, uint64_t pitch, unsigned value, unsigned element_bytes,
                  uint64_t width, uint64_t height, std::function<void()>* work) {
  if (width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  switch (element_bytes) {
    case 1:
      return MakeFill(address, pitch, static_cast<uint8_t>(value), width, height, work);
    case 2:
      return MakeFill(address, pitch, static_cast<uint16_t>(value), width, height, work);
    case 4:
      return MakeFill(address, pitch, uint32_t{value}, width, height, work);
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

namespace api {

CUresult cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return Fill<uint8_t>(dstDevice, 0, uc, N, 1, nullptr, true);
}
CUresult cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return Fill<uint16_t>(dstDevice, 0, us, N, 1, nullptr, true);
}
CUresult cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N) {
  return Fill<uint32_t>(dstDevice, 0, ui, N, 1, nullptr, true);
}
CUresult cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                         size_t Height) {
  return Fill<uint8_t>(dstDevice, dstPitch, uc, Width, Height, nullptr, true);
}
CUresult cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                          size_t Height) {
  return Fill<uint16_t>(dstDevice, dstPitch, us, Width, Height, nullptr, true);
}
CUresult cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                          size_t Height) {
  return Fill<uint32_t>(dstDevice, dstPitch, ui, Width, Height, nullptr, true);
}
CUresult cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N, CUstream hStream) {
  return Fill<uint8_t>(dstDevice, 0, uc, N, 1, hStream, false);
}
CUresult cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N, CUstream hStream) {
  return Fill<uint16_t>(dstDevice, 0, us, N, 1, hStream, false);
}
CUresult cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N, CUstream hStream) {
  return Fill<uint32_t>(dstDevice, 0, ui, N, 1, hStream, false);
}
CUresult cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc, size_t Width,
                           size_t Height, CUstream hStream) {
  return Fill<uint8_t>(dstDevice, dstPitch, uc, Width, Height, hStream, false);
}
CUresult cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us, size_t Width,
                            size_t Height, CUstream hStream) {
  return Fill<uint16_t>(dstDevice, dstPitch, us, Width, Height, hStream, false);
}
CUresult cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui, size_t Width,
                            size_t Height, CUstream hStream) {
  return Fill<uint32_t>(dstDevice, dstPitch, ui, Width, Height, hStream, false);
}

}  // namespace api
}  // namespace memprof::simcuda
