// How copies are checked and put into streams.
#include "simcuda/driver/copy.h"

#include <cstring>
#include <vector>

#include "simcuda/driver/allocation.h"
#include "simcuda/driver/array.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/contents.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"

namespace memprof::simcuda {
namespace {

// Bytes from the first to the end of the last; false on overflow.
bool Extent(const CopySide& side, const CopyShape& shape, uint64_t* bytes) {
  uint64_t slices = 0;
  uint64_t rows = 0;
  return !__builtin_mul_overflow(shape.depth - 1, side.slice_bytes, &slices) &&
         !__builtin_mul_overflow(shape.height - 1, side.row_bytes, &rows) &&
         !__builtin_add_overflow(slices, rows, bytes) &&
         !__builtin_add_overflow(*bytes, shape.width, bytes);
}

// Whether the address is memory of a device without contents.
bool IsEmpty(const uint8_t* address) {
  if (DeviceKeepsContents()) return false;
  const auto found = Allocations().Find(reinterpret_cast<uint64_t>(address));
  return found != nullptr && !found->on_host();
}

// One row, if at least one side is memory without contents.
void MoveKnown(uint8_t* to, bool to_empty, const uint8_t* from, bool from_empty, uint64_t bytes) {
  const auto target = reinterpret_cast<uint64_t>(to);
  const auto source = reinterpret_cast<uint64_t>(from);
  KnownBytes& known = DeviceContents();
  if (!to_empty) {
    known.Read(source, to, bytes);
  } else if (!from_empty) {
    known.Write(target, from, bytes);
  } else if (bytes > KnownBytes::kMaxWrite) {
    known.Forget(target, bytes);
  } else {
    std::vector<uint8_t> row(bytes);
    known.Read(source, row.data(), bytes);
    known.Write(target, row.data(), bytes);
  }
}

void RunCopy(const CopySide& destination, const CopySide& source, const CopyShape& shape) {
  const bool to_empty = destination.array == nullptr && IsEmpty(destination.base);
  const bool from_empty = source.array == nullptr && IsEmpty(source.base);
  for (uint64_t z = 0; z < shape.depth; ++z) {
    for (uint64_t y = 0; y < shape.height; ++y) {
      uint8_t* to = destination.base + z * destination.slice_bytes + y * destination.row_bytes;
      const uint8_t* from = source.base + z * source.slice_bytes + y * source.row_bytes;
      if (to_empty || from_empty) {
        MoveKnown(to, to_empty, from, from_empty, shape.width);
      } else {
        std::memmove(to, from, shape.width);
      }
    }
  }
}

bool IsDeviceAddress(uint64_t address) {
  for (const Device* device : Devices()) {
    if (const_cast<Device*>(device)->memory().Owns(address)) return true;
  }
  return false;
}

}  // namespace

bool CheckSide(const CopySide& side, const CopyShape& shape) {
  uint64_t bytes = 0;
  if (!Extent(side, shape, &bytes)) return false;
  if (side.array != nullptr) return true;  // checked by its coordinates
  const auto address = reinterpret_cast<uint64_t>(side.base);
  if (side.pageable) return side.base != nullptr && !IsDeviceAddress(address);
  return InsideAllocations(address, bytes);
}

std::function<void()> CopyWork(const CopySide& destination, const CopySide& source,
                               const CopyShape& shape) {
  return [destination, source, shape] { RunCopy(destination, source, shape); };
}

CUresult EnqueueCopy(const CopySide& destination, const CopySide& source, const CopyShape& shape,
                     CopyWhen when, CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (shape.width == 0 || shape.height == 0 || shape.depth == 0) return CUDA_SUCCESS;
  if (!CheckSide(destination, shape) || !CheckSide(source, shape)) return CUDA_ERROR_INVALID_VALUE;
  auto work = CopyWork(destination, source, shape);
  if (IsCapturing(stream)) {
    if (when == CopyWhen::kSynchronous) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
    return CaptureWork(stream, CU_GRAPH_NODE_TYPE_MEMCPY, std::move(work));
  }
  // Without contents, kernels take effect at their launch, and copies too.
  const bool wait = when == CopyWhen::kSynchronous || destination.pageable || source.pageable ||
                    !DeviceKeepsContents();
  context->Enqueue(stream, std::move(work), wait ? Stream::Mode::kWait : Stream::Mode::kAsync);
  return CUDA_SUCCESS;
}

CUresult DeviceSide(CUdeviceptr address, uint64_t bytes, CopySide* side) {
  if (bytes != 0 && Allocations().Find(address) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *side = {};
  side->base = reinterpret_cast<uint8_t*>(address);
  return CUDA_SUCCESS;
}

CopySide HostSide(const void* address) {
  CopySide side;
  side.base = const_cast<uint8_t*>(static_cast<const uint8_t*>(address));
  side.pageable = Allocations().Find(reinterpret_cast<uint64_t>(address)) == nullptr;
  return side;
}

CUresult UnifiedSide(CUdeviceptr address, uint64_t /*bytes*/, CopySide* side) {
  *side = HostSide(reinterpret_cast<const void*>(address));
  return CUDA_SUCCESS;
}

}  // namespace memprof::simcuda
