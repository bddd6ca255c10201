// Streams, events and host functions.
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

std::shared_ptr<Event> FindEvent(CUevent handle) { return AllHandles<Event>().Find(handle); }

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
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
  const auto event = FindEvent(hEvent);
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
    // Whichever process recorded it last.
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

CUresult cuEventCreate(CUevent* phEvent, unsigned int Flags) {
  std::shared_ptr<Context> context;
  const CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (phEvent == nullptr || (Flags & ~kEventFlags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0 && (Flags & CU_EVENT_DISABLE_TIMING) == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  std::shared_ptr<SharedEvent> shared;
  if ((Flags & CU_EVENT_INTERPROCESS) != 0) {
    shared = SharedEvent::Create();
    if (shared == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  }
  auto event = std::make_shared<Event>(context.get(), Flags, std::move(shared));
  *phEvent = reinterpret_cast<CUevent>(event.get());
  AllHandles<Event>().Add(std::move(event));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent hEvent) {
  return AllHandles<Event>().Remove(hEvent) == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent hEvent, CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  const CUresult result = RequireStream(hStream, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  const auto event = FindEvent(hEvent);
  if (event == nullptr || event->context() != context.get()) return CUDA_ERROR_INVALID_HANDLE;
  auto record = std::make_shared<Event::Record>();
  if (IsCapturing(stream)) {
    record->capture = stream->capture();
    event->set_record(std::move(record));
    return CUDA_SUCCESS;
  }
  const auto shared = event->shared();
  const uint64_t ticket = shared == nullptr ? 0 : shared->Record();
  context->Enqueue(
      stream,
      [record, shared, ticket] {
        record->time_ns = NowNs();
        if (shared != nullptr) shared->Complete(ticket);
      },
      Stream::Mode::kQuick);
  // Whatever got in behind it meanwhile may be waited for too; nothing before it is missed.
  record->point = stream->Last();
  event->set_record(std::move(record));
  return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  if ((flags & ~CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
  return api::cuEventRecord(hEvent, hStream);
}

CUresult cuEventQuery(CUevent hEvent) {
  const auto event = FindEvent(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto record = event->record();
  if (record != nullptr && record->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
  if (const auto& shared = event->shared(); shared != nullptr) {
    return shared->Reached(shared->Recorded()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }
  return record == nullptr || record->time_ns != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent hEvent) {
  const auto event = FindEvent(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (OnStreamWorker()) return CUDA_ERROR_NOT_PERMITTED;
  const auto record = event->record();
  if (record != nullptr && record->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
  if (const auto& shared = event->shared(); shared != nullptr) shared->Wait(shared->Recorded());
  if (record != nullptr) record->point.Wait();
  PoolsSynchronised(&event->context()->device());
  return CUDA_SUCCESS;
}

CUresult cuEventElapsedTime(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  const auto start = FindEvent(hStart);
  const auto end = FindEvent(hEnd);
  if (start == nullptr || end == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (pMilliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (((start->flags() | end->flags()) & CU_EVENT_DISABLE_TIMING) != 0) {
    return CUDA_ERROR_INVALID_HANDLE;
  }
  const auto first = start->record();
  const auto last = end->record();
  if (first == nullptr || last == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (first->time_ns == 0 || last->time_ns == 0) return CUDA_ERROR_NOT_READY;
  *pMilliseconds = static_cast<float>(static_cast<double>(last->time_ns - first->time_ns) / 1e6);
  return CUDA_SUCCESS;
}

#if CUDA_VERSION >= 12080
CUresult cuEventElapsedTime_v2(float* pMilliseconds, CUevent hStart, CUevent hEnd) {
  return api::cuEventElapsedTime(pMilliseconds, hStart, hEnd);
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
