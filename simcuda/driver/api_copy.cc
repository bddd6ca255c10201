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

}  // namespace api
}  // namespace memprof::simcuda
