// Events of launches, copies, memsets and synchronisations.
#include "cupti_hooks/src/use_handlers.h"

#include <cstring>

#include "cupti_hooks/src/address_map.h"
#include "cupti_hooks/src/callbacks.h"
#include "cupti_hooks/src/kernel_arguments.h"

namespace memprof::cupti {

void ReportLaunch(const Call& call, void* function, std::uint64_t stream, void* const* arguments,
                  void* const* extra) {
  if (!call.exit) return;
  SourceEvent event = NewEvent(call, kOpLaunch, kLayerNone);
  event.stream = stream;
  event.label = Intern(call.symbol);
  Record(event);
  if (call.result != 0) return;
  TouchedAddresses touched;
  touched.Collect(function, arguments, extra);
  for (std::size_t i = 0; i < touched.size(); ++i) {
    SourceEvent touch = NewEvent(call, kOpTouch, kLayerNone);
    touch.address = touched[i];
    touch.stream = stream;
    Record(touch);
  }
}

void LaunchKernel(const Call& call) {
  const auto& params = call.As<cuLaunchKernel_params>();
  ReportLaunch(call, params.f, Number(params.hStream), params.kernelParams, params.extra);
}

void LaunchKernelEx(const Call& call) {
  const auto& params = call.As<cuLaunchKernelEx_params>();
  const std::uint64_t stream = params.config == nullptr ? 0 : Number(params.config->hStream);
  ReportLaunch(call, params.f, stream, params.kernelParams, params.extra);
}

void LaunchCooperative(const Call& call) {
  const auto& params = call.As<cuLaunchCooperativeKernel_params>();
  ReportLaunch(call, params.f, Number(params.hStream), params.kernelParams, nullptr);
}

void LaunchMultiDevice(const Call& call) {
  const auto& params = call.As<cuLaunchCooperativeKernelMultiDevice_params>();
  if (!call.exit || params.launchParamsList == nullptr) return;
  for (unsigned i = 0; i < params.numDevices; ++i) {
    const auto& launch = params.launchParamsList[i];
    ReportLaunch(call, launch.function, Number(launch.hStream), launch.kernelParams, nullptr);
  }
}

void LaunchGraph(const Call& call) {
  ReportLaunch(call, nullptr, Number(call.As<cuGraphLaunch_params>().hStream), nullptr, nullptr);
}

void LaunchOldAsync(const Call& call) {
  const auto& params = call.As<cuLaunchGridAsync_params>();
  ReportLaunch(call, params.f, Number(params.hStream), nullptr, nullptr);
}

void NoteFunction(const Call& call) {
  const auto& params = call.As<KernelHandleParams>();
  if (Succeeded(call) && params.handle != nullptr) {
    NoteKernelHandle(*params.handle, KernelHandleKind::kFunction);
  }
}

void NoteKernel(const Call& call) {
  const auto& params = call.As<KernelHandleParams>();
  if (Succeeded(call) && params.handle != nullptr) {
    NoteKernelHandle(*params.handle, KernelHandleKind::kKernel);
  }
}

namespace {

// kCaptured if the call only made a node of a graph. Calls without a stream cannot be captured. In
// the _ptsz functions, stream 0 is the thread's own stream, which can.
std::uint32_t CapturedFlag(const Call& call, std::uint64_t stream) {
  const std::size_t length = std::strlen(call.entry->name);
  auto* handle = reinterpret_cast<CUstream>(stream);
  if (stream == 0 && length > 5 && std::strcmp(call.entry->name + length - 5, "_ptsz") == 0)
    handle = CU_STREAM_PER_THREAD;
  int status = 0;
  const auto query = Driver().stream_is_capturing;
  return query != nullptr && query(handle, &status) == 0 &&
                 status == CU_STREAM_CAPTURE_STATUS_ACTIVE
             ? kCaptured
             : 0;
}

}  // namespace

void ReportCopy(const Call& call, const Copy& copy) {
  SourceEvent event = NewEvent(call, kOpMemcpy, kLayerNone);
  event.address = copy.destination;
  event.bytes = copy.bytes;
  event.aux0 = copy.source;
  event.aux1 = copy.kind + CapturedFlag(call, copy.stream);
  event.stream = copy.stream;
  Record(event);
}

std::uint32_t UnifiedCopyKind(std::uint64_t destination, std::uint64_t source) {
  const bool to_device = IsMarked(MemorySide::kDevice, destination);
  const bool from_device = IsMarked(MemorySide::kDevice, source);
  if (to_device && from_device) return kCopyDeviceToDevice;
  if (to_device) return kCopyHostToDevice;
  if (from_device) return kCopyDeviceToHost;
  const bool both_pinned =
      IsMarked(MemorySide::kHost, destination) && IsMarked(MemorySide::kHost, source);
  return both_pinned ? kCopyHostToHost : kCopyUnknown;
}

std::uint32_t CopyKindOf(CUmemorytype destination_type, CUmemorytype source_type,
                         std::uint64_t destination, std::uint64_t source) {
  if (destination_type == CU_MEMORYTYPE_UNIFIED || source_type == CU_MEMORYTYPE_UNIFIED) {
    return UnifiedCopyKind(destination, source);
  }
  const bool to_host = destination_type == CU_MEMORYTYPE_HOST;
  const bool from_host = source_type == CU_MEMORYTYPE_HOST;
  if (to_host) return from_host ? kCopyHostToHost : kCopyDeviceToHost;
  return from_host ? kCopyHostToDevice : kCopyDeviceToDevice;
}

void ReportFill(const Call& call, std::uint64_t address, std::uint64_t bytes,
                std::uint64_t stream) {
  SourceEvent event = NewEvent(call, kOpMemset, kLayerNone);
  event.address = address;
  event.bytes = bytes;
  event.aux1 = CapturedFlag(call, stream);
  event.stream = stream;
  Record(event);
}

namespace {

void ReportSync(const Call& call, std::uint64_t stream) {
  if (!Succeeded(call)) return;
  SourceEvent event = NewEvent(call, kOpSync, kLayerNone);
  event.stream = stream;
  Record(event);
}

}  // namespace

void SyncContext(const Call& call) { ReportSync(call, 0); }

void SyncGivenContext(const Call& call) {
  if (!Succeeded(call)) return;
  SourceEvent event = NewEvent(call, kOpSync, kLayerNone);
  const auto& params = call.As<CtxSynchronizeV2Params>();
  if (params.ctx != nullptr) event.context = Number(params.ctx);
  Record(event);
}

void SyncStream(const Call& call) {
  ReportSync(call, Number(call.As<cuStreamSynchronize_params>().hStream));
}

}  // namespace memprof::cupti
