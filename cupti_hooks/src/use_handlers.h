// Handlers of driver calls that use memory: launches, copies, memsets and synchronisations. They
// are recorded after the call, and only when it succeeded; failed launches are recorded too.
#pragma once

#include <cstdint>

#include "cupti_hooks/src/address_marks.h"
#include "cupti_hooks/src/call.h"
#include "cupti_hooks/src/driver_params.h"
#include "cupti_hooks/src/recorder.h"

namespace memprof::cupti {

void ReportLaunch(const Call& call, void* function, std::uint64_t stream, void* const* arguments,
                  void* const* extra);
void LaunchKernel(const Call& call);
void LaunchKernelEx(const Call& call);
void LaunchCooperative(const Call& call);
void LaunchMultiDevice(const Call& call);
void LaunchGraph(const Call& call);
void LaunchOldAsync(const Call& call);
template <typename Params>
void LaunchOld(const Call& call) {
  ReportLaunch(call, call.As<Params>().f, 0, nullptr, nullptr);
}
void NoteFunction(const Call& call);
void NoteKernel(const Call& call);

// The stream of a call, or 0 for calls without one.
template <typename Params>
std::uint64_t StreamOf(const Params& params) {
  if constexpr (requires { params.hStream; }) {
    return Number(params.hStream);
  } else {
    return 0;
  }
}

struct Copy {
  std::uint32_t kind;
  std::uint64_t destination;
  std::uint64_t source;
  std::uint64_t bytes;
  std::uint64_t stream;
};
void ReportCopy(const Call& call, const Copy& copy);
// The direction of a copy between unified addresses, from the address map.
std::uint32_t UnifiedCopyKind(std::uint64_t destination, std::uint64_t source);

template <typename Params>
void CopyHtoD(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportCopy(call, {kCopyHostToDevice, params.dstDevice, Number(params.srcHost), params.ByteCount,
                    StreamOf(params)});
}

template <typename Params>
void CopyDtoH(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportCopy(call, {kCopyDeviceToHost, Number(params.dstHost), params.srcDevice, params.ByteCount,
                    StreamOf(params)});
}

template <typename Params>
void CopyDtoD(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportCopy(call, {kCopyDeviceToDevice, params.dstDevice, params.srcDevice, params.ByteCount,
                    StreamOf(params)});
}

template <typename Params>
void CopyUnified(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportCopy(call, {UnifiedCopyKind(params.dst, params.src), params.dst, params.src,
                    params.ByteCount, StreamOf(params)});
}

template <typename Params>
void CopyPeer(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportCopy(call,
             {kCopyPeer, params.dstDevice, params.srcDevice, params.ByteCount, StreamOf(params)});
}

// The address of one end of a two- or three-dimensional copy; of an array its handle.
template <typename Descriptor>
std::uint64_t DestinationOf(const Descriptor& copy) {
  switch (copy.dstMemoryType) {
    case CU_MEMORYTYPE_HOST:
      return Number(copy.dstHost);
    case CU_MEMORYTYPE_ARRAY:
      return Number(copy.dstArray);
    default:
      return copy.dstDevice;
  }
}
template <typename Descriptor>
std::uint64_t SourceOf(const Descriptor& copy) {
  switch (copy.srcMemoryType) {
    case CU_MEMORYTYPE_HOST:
      return Number(copy.srcHost);
    case CU_MEMORYTYPE_ARRAY:
      return Number(copy.srcArray);
    default:
      return copy.srcDevice;
  }
}
// The direction by the declared kinds of memory; of unified memory by its address.
std::uint32_t CopyKindOf(CUmemorytype destination_type, CUmemorytype source_type,
                         std::uint64_t destination, std::uint64_t source);

template <typename Descriptor>
void ReportShapedCopy(const Call& call, const Descriptor& copy, std::uint64_t bytes,
                      std::uint64_t stream, bool peer) {
  const std::uint64_t destination = DestinationOf(copy);
  const std::uint64_t source = SourceOf(copy);
  const std::uint32_t kind =
      peer ? kCopyPeer : CopyKindOf(copy.dstMemoryType, copy.srcMemoryType, destination, source);
  ReportCopy(call, {kind, destination, source, bytes, stream});
}

template <typename Params>
void Copy2D(const Call& call) {
  const auto& params = call.As<Params>();
  if (!Succeeded(call) || params.pCopy == nullptr) return;
  const std::uint64_t bytes = std::uint64_t{params.pCopy->WidthInBytes} * params.pCopy->Height;
  ReportShapedCopy(call, *params.pCopy, bytes, StreamOf(params), false);
}

template <typename Params>
void Copy3D(const Call& call) {
  const auto& params = call.As<Params>();
  if (!Succeeded(call) || params.pCopy == nullptr) return;
  const std::uint64_t bytes =
      std::uint64_t{params.pCopy->WidthInBytes} * params.pCopy->Height * params.pCopy->Depth;
  ReportShapedCopy(call, *params.pCopy, bytes, StreamOf(params), false);
}

template <typename Params>
void Copy3DPeer(const Call& call) {
  const auto& params = call.As<Params>();
  if (!Succeeded(call) || params.pCopy == nullptr) return;
  const std::uint64_t bytes =
      std::uint64_t{params.pCopy->WidthInBytes} * params.pCopy->Height * params.pCopy->Depth;
  ReportShapedCopy(call, *params.pCopy, bytes, StreamOf(params), true);
}

template <typename Params>
void CopyBatch(const Call& call) {
  const auto& params = call.As<Params>();
  if (!Succeeded(call) || params.dsts == nullptr || params.srcs == nullptr ||
      params.sizes == nullptr) {
    return;
  }
  for (std::size_t i = 0; i < params.count; ++i) {
    ReportCopy(call, {UnifiedCopyKind(params.dsts[i], params.srcs[i]), params.dsts[i],
                      params.srcs[i], params.sizes[i], StreamOf(params)});
  }
}

void ReportFill(const Call& call, std::uint64_t address, std::uint64_t bytes, std::uint64_t stream);

template <typename Params, unsigned element_bytes>
void Fill(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportFill(call, params.dstDevice, std::uint64_t{params.N} * element_bytes, StreamOf(params));
}

// Bytes written, without the padding of the pitch.
template <typename Params, unsigned element_bytes>
void Fill2D(const Call& call) {
  if (!Succeeded(call)) return;
  const auto& params = call.As<Params>();
  ReportFill(call, params.dstDevice, std::uint64_t{params.Width} * params.Height * element_bytes,
             StreamOf(params));
}

void SyncContext(const Call& call);
void SyncGivenContext(const Call& call);
void SyncStream(const Call& call);

void NoteHeartbeat(const Call& call);

}  // namespace memprof::cupti
