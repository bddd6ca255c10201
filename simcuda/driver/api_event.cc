// Events: creation, recording, waiting, and the time between two.
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

constexpr unsigned kEventFlags =
    CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

}  // namespace

namespace api {

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
  const auto event = AllHandles<Event>().Find(hEvent);
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
  // Work that was enqueued meanwhile may be waited for too, but none before it is missed.
  record->point = stream->Last();
  event->set_record(std::move(record));
  return CUDA_SUCCESS;
}

CUresult cuEventRecordWithFlags(CUevent hEvent, CUstream hStream, unsigned int flags) {
  if ((flags & ~CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
  return api::cuEventRecord(hEvent, hStream);
}

CUresult cuEventQuery(CUevent hEvent) {
  const auto event = AllHandles<Event>().Find(hEvent);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const auto record = event->record();
  if (record != nullptr && record->capture != nullptr) return CUDA_ERROR_CAPTURED_EVENT;
  if (const auto& shared = event->shared(); shared != nullptr) {
    return shared->Reached(shared->Recorded()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  }
  return record == nullptr || record->time_ns != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent hEvent) {
  const auto event = AllHandles<Event>().Find(hEvent);
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
  const auto start = AllHandles<Event>().Find(hStart);
  const auto end = AllHandles<Event>().Find(hEnd);
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
