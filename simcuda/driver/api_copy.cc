// Linear copies: between host and device, within and between devices.
#include "driver_api.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/copy.h"

namespace memprof::simcuda {
namespace {

CUresult LinearCopy(CUresult destination_known, const CopySide& destination, CUresult source_known,
                    const CopySide& source, size_t bytes, CopyWhen when, CUstream stream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> resolved;
  const CUresult result = RequireStream(stream, &context, &resolved);
  if (result != CUDA_SUCCESS) return result;
  if (destination_known != CUDA_SUCCESS) return destination_known;
  if (source_known != CUDA_SUCCESS) return source_known;
  return EnqueueCopy(destination, source, {bytes, 1, 1}, when, stream);
}

CUresult HostToDevice(CUdeviceptr destination, const void* source, size_t bytes, CopyWhen when,
                      CUstream stream) {
  CopySide device;
  const CUresult known = DeviceSide(destination, bytes, &device);
  return LinearCopy(known, device, CUDA_SUCCESS, HostSide(source), bytes, when, stream);
}

CUresult DeviceToHost(void* destination, CUdeviceptr source, size_t bytes, CopyWhen when,
                      CUstream stream) {
  CopySide device;
  const CUresult known = DeviceSide(source, bytes, &device);
  return LinearCopy(CUDA_SUCCESS, HostSide(destination), known, device, bytes, when, stream);
}

CUresult DeviceToDevice(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CopyWhen when,
                        CUstream stream) {
  CopySide to;
  CopySide from;
  const CUresult to_known = DeviceSide(destination, bytes, &to);
  const CUresult from_known = DeviceSide(source, bytes, &from);
  return LinearCopy(to_known, to, from_known, from, bytes, when, stream);
}

CUresult AnyToAny(CUdeviceptr destination, CUdeviceptr source, size_t bytes, CopyWhen when,
                  CUstream stream) {
  CopySide to;
  CopySide from;
  const CUresult to_known = UnifiedSide(destination, bytes, &to);
  const CUresult from_known = UnifiedSide(source, bytes, &from);
  return LinearCopy(to_known, to, from_known, from, bytes, when, stream);
}

}  // namespace

namespace api {

CUresult cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount) {
  return AnyToAny(dst, src, ByteCount, CopyWhen::kSynchronous, nullptr);
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount, CUstream hStream) {
  return AnyToAny(dst, src, ByteCount, CopyWhen::kAsynchronous, hStream);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount) {
  return HostToDevice(dstDevice, srcHost, ByteCount, CopyWhen::kSynchronous, nullptr);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void* srcHost, size_t ByteCount,
                              CUstream hStream) {
  return HostToDevice(dstDevice, srcHost, ByteCount, CopyWhen::kAsynchronous, hStream);
}

CUresult cuMemcpyDtoH_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount) {
  return DeviceToHost(dstHost, srcDevice, ByteCount, CopyWhen::kSynchronous, nullptr);
}

CUresult cuMemcpyDtoHAsync_v2(void* dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  return DeviceToHost(dstHost, srcDevice, ByteCount, CopyWhen::kAsynchronous, hStream);
}

CUresult cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount) {
  return DeviceToDevice(dstDevice, srcDevice, ByteCount, CopyWhen::kSynchronous, nullptr);
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice, size_t ByteCount,
                              CUstream hStream) {
  return DeviceToDevice(dstDevice, srcDevice, ByteCount, CopyWhen::kAsynchronous, hStream);
}

CUresult cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                      CUcontext srcContext, size_t ByteCount) {
  if (AllHandles<Context>().Find(dstContext) == nullptr ||
      AllHandles<Context>().Find(srcContext) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return DeviceToDevice(dstDevice, srcDevice, ByteCount, CopyWhen::kSynchronous, nullptr);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext, CUdeviceptr srcDevice,
                           CUcontext srcContext, size_t ByteCount, CUstream hStream) {
  if (AllHandles<Context>().Find(dstContext) == nullptr ||
      AllHandles<Context>().Find(srcContext) == nullptr) {
    return CUDA_ERROR_INVALID_CONTEXT;
  }
  return DeviceToDevice(dstDevice, srcDevice, ByteCount, CopyWhen::kAsynchronous, hStream);
}

#if CUDA_VERSION >= 12080
// One after another, which is one of the orders that a batch may take.
CUresult cuMemcpyBatchAsync(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                            CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                            size_t* failIdx, CUstream hStream) {
  if (failIdx != nullptr) *failIdx = SIZE_MAX;
  if (dsts == nullptr || srcs == nullptr || sizes == nullptr || count == 0 || attrs == nullptr ||
      attrsIdxs == nullptr || numAttrs == 0 || numAttrs > count || attrsIdxs[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = AnyToAny(dsts[i], srcs[i], sizes[i], CopyWhen::kAsynchronous, hStream);
    if (result == CUDA_SUCCESS) continue;
    if (failIdx != nullptr) *failIdx = i;
    return result;
  }
  return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 13000
CUresult cuMemcpyBatchAsync_v2(CUdeviceptr* dsts, CUdeviceptr* srcs, size_t* sizes, size_t count,
                               CUmemcpyAttributes* attrs, size_t* attrsIdxs, size_t numAttrs,
                               CUstream hStream) {
  return api::cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, nullptr,
                                 hStream);
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
