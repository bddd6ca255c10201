// Streams and host functions. Events: api_event.cc.
#include <algorithm>
#include <chrono>

#include "driver_api.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/event.h"
#include "simcuda/driver/ipc.h"
#include "simcuda/driver/pool.h"

namespace memprof::simcuda {
namespace {

CUstream HandleOf(const std::shared_ptr<Stream>& stream) {
  return reinterpret_cast<CUstream>(stream.get());
}

constexpr int kMinPriority = 0;
constexpr int kGreatestPriority = -5;

}  // namespace

namespace api {

CUresult cuStreamCreateWithPriority(CUstream* phStream, unsigned int flags, int priority) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (phStream == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  priority = std::min(std::max(priority, kGreatestPriority), kMinPriority);
  *phStream = HandleOf(context->CreateStream(flags, priority));
  return CUDA_SUCCESS;
}

CUresult cuStreamCreate(CUstream* phStream, unsigned int Flags) {
  return api::cuStreamCreateWithPriority(phStream, Flags, 0);
}

CUresult cuStreamDestroy_v2(CUstream hStream) {
  const auto stream = AllHandles<Stream>().Find(hStream);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  stream->context()->RetireStream(stream);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (OnStreamWorker()) return CUDA_ERROR_NOT_PERMITTED;
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  // The legacy stream is done when the blocking streams before it are.
  if (stream->kind() == Stream::Kind::kLegacy) {
    context->Enqueue(
        stream, [] {}, Stream::Mode::kWait);
  } else {
    stream->Last().Wait();
  }
  PoolsSynchronised(&context->device());
  return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  if (stream->kind() == Stream::Kind::kLegacy) {
    return context->BlockingIdle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }
  return stream->Idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamGetPriority(CUstream hStream, int* priority) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (priority == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *priority = stream->priority();
  return CUDA_SUCCESS;
}

CUresult cuStreamGetFlags(CUstream hStream, unsigned int* flags) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = stream->flags();
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12000
CUresult cuStreamGetId(CUstream hStream, unsigned long long* streamId) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (streamId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *streamId = (static_cast<unsigned long long>(context->uid()) << 32) | stream->id();
  return CUDA_SUCCESS;
}
#endif

#if CUDA_VERSION >= 12080
CUresult cuStreamGetDevice(CUstream hStream, CUdevice* device) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device().id();
  return CUDA_SUCCESS;
}
#endif

CUresult cuStreamGetCtx(CUstream hStream, CUcontext* pctx) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (pctx == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *pctx = context->handle();
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream hStream, CUevent hEvent, unsigned int Flags) {
  if ((Flags & ~CU_EVENT_WAIT_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  const auto event = AllHandles<Event>().Find(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto record = event->record();
  if (record != nullptr && record->capture != nullptr) {
    if (record->capture->ended) return CUDA_ERROR_CAPTURED_EVENT;
    // The stream joins the capture that the event belongs to.
    const auto own = stream->capture();
    if (own != nullptr && own != record->capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
    stream->set_capture(record->capture);
    return CUDA_SUCCESS;
  }
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  if (event->shared() != nullptr) {
    // The process that recorded it last, which may be another one.
    const uint64_t ticket = event->shared()->Recorded();
    if (event->shared()->Reached(ticket)) return CUDA_SUCCESS;
    context->Enqueue(
        stream, [shared = event->shared(), ticket] { shared->Wait(ticket); }, Stream::Mode::kAsync);
    return CUDA_SUCCESS;
  }
  if (record == nullptr || record->time_ns != 0) return CUDA_SUCCESS;
  context->Enqueue(stream, [] {}, Stream::Mode::kQuick, {record->point});
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream hStream, CUhostFn fn, void* userData) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (fn == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto work = [fn, userData] { fn(userData); };
  if (IsCapturing(stream)) return CaptureWork(stream, CU_GRAPH_NODE_TYPE_HOST, std::move(work));
  context->Enqueue(stream, std::move(work), Stream::Mode::kAsync);
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream hStream, CUstreamCallback callback, void* userData,
                             unsigned int flags) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  context->Enqueue(
      stream, [=] { callback(hStream, CUDA_SUCCESS, userData); }, Stream::Mode::kAsync);
  return CUDA_SUCCESS;
}

CUresult cuStreamAttachMemAsync(CUstream hStream, CUdeviceptr dptr, size_t /*length*/,
                                unsigned int /*flags*/) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  return dptr == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda
