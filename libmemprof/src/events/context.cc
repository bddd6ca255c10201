// Events of contexts.
#include "libmemprof/src/events/context.h"

#include "libmemprof/src/events/arrays.h"

namespace memprof::recorder {
namespace {

void RecordContext(Call* call, Op op, std::uint32_t context_id, std::int32_t device,
                   std::uint64_t time_ns = 0) {
  ring::RingEvent event = call->Event(op, kLayerNone);
  if (time_ns != 0) event.time_ns = time_ns;
  event.context = context_id;
  event.SetDevice(device);
  call->Emit(&event, op == kOpContextCreate);
}

// The device's primary context has ended, and green ones and the memory that graphs hold with it.
void RecordEndOfPrimary(Call* call, std::int32_t device, std::uint64_t before_ns) {
  MappedArray<GraphLedger::Node> ended;
  call->driver()->graphs()->EndDevice(device, &ended);
  TheTorchLayer()->EndDevice(device);
  CallContext gone = call->driver()->TakePrimary(device);
  for (const GraphLedger::Node& node : ended) {
    ring::RingEvent event = call->Event(kOpFree, kLayerGraph);
    event.time_ns = before_ns;
    event.context = gone.id;
    event.SetDevice(device);
    event.address = node.address;
    event.bytes = node.bytes;
    call->Emit(&event);
  }
  for (; gone.id != 0; gone = call->driver()->TakePrimary(device)) {
    RecordEndOf(call, gone, before_ns);
    RecordContext(call, kOpContextDestroy, gone.id, device, before_ns);
  }
}

}  // namespace

void RecordEndOf(Call* call, const CallContext& gone, std::uint64_t before_ns) {
  RecordArraysEnd(call, gone.id, before_ns);
  call->driver()->handles()->EndContext(gone.id);
}

void RecordNewContext(Call* call, CUresult result, CUcontext* context, CUdevice device) {
  call->Failed(result, kLayerNone);
  if (result != CUDA_SUCCESS) return;
  call->driver()->ForgetContext(*context);
  const std::uint32_t context_id = call->driver()->ContextId(
      *context, device, DriverState::ContextKind::kCreated, call->IsCurrent(*context));
  RecordContext(call, kOpContextCreate, context_id, device);
}

void DestroyContext::Before(Call* call, CUcontext context) const {
  const CallContext gone = call->driver()->ForgetContext(context);
  while (call->driver()->handles()->Drop(Number(context), HandleKind::kAttached) ==
         HandleTable::Dropped::kStays) {
  }
  if (gone.id == 0) return;
  RecordEndOf(call, gone, NowNs());
  RecordContext(call, kOpContextDestroy, gone.id, gone.device);
}

void AttachContext::After(Call* call, CUresult result, CUcontext* context, unsigned) const {
  if (result == CUDA_SUCCESS)
    call->driver()->handles()->Add({Number(*context), HandleKind::kAttached, 0, 0, 0, 0, 1});
}

void DetachContext::Before(Call* call, CUcontext context) const {
  if (call->driver()->handles()->Drop(Number(context), HandleKind::kAttached) ==
      HandleTable::Dropped::kUnknown)
    DestroyContext().Before(call, context);
}

void RetainPrimary::After(Call* call, CUresult result, CUcontext* context, CUdevice device) const {
  call->Failed(result, kLayerNone);
  if (result != CUDA_SUCCESS) return;
  const bool known = call->driver()->PrimaryContext(device) == *context;
  const std::uint32_t context_id = call->driver()->ContextId(
      *context, device, DriverState::ContextKind::kPrimary, call->IsCurrent(*context));
  if (!known) RecordContext(call, kOpContextCreate, context_id, device);
}

void ReleasePrimary::After(Call* call, CUresult result, CUdevice device) const {
  if (result == CUDA_SUCCESS && !DriverState::PrimaryIsActive(device))
    RecordEndOfPrimary(call, device, before_ns);
}

void ResetPrimary::Before(Call* call, CUdevice device) const {
  DriverState* driver = call->driver();
  driver->graphs()->EndDevice(device, nullptr);  // the event says it of all memory
  TheTorchLayer()->EndDevice(device);
  const CallContext gone = driver->TakePrimary(device);
  RecordEndOf(call, gone, NowNs());
  RecordContext(call, kOpDeviceReset, gone.id, device);
  for (CallContext green = driver->TakePrimary(device); green.id != 0;
       green = driver->TakePrimary(device)) {
    RecordEndOf(call, green, NowNs());
    RecordContext(call, kOpContextDestroy, green.id, device);
  }
}

void CreateGreen::After(Call* call, CUresult result, void** green, void*, CUdevice device,
                        unsigned) const {
  call->Failed(result, kLayerNone);
  if (result == CUDA_SUCCESS)
    call->driver()->handles()->Add(
        {Number(*green), HandleKind::kGreen, 0, 0, 0, static_cast<std::uint64_t>(device), 1});
}

void ContextFromGreen::After(Call* call, CUresult result, CUcontext* context, void* green) const {
  if (result != CUDA_SUCCESS) return;
  HandleTable* handles = call->driver()->handles();
  HandleTable::Entry known;
  if (!handles->Get(Number(green), HandleKind::kGreen, &known) ||
      !handles->Add({Number(*context), HandleKind::kGreenContext, 0, Number(green), 0, 0, 1}))
    return;
  const auto device = static_cast<std::int32_t>(known.aux);
  const std::uint32_t context_id = call->driver()->ContextId(
      *context, device, DriverState::ContextKind::kGreen, call->IsCurrent(*context));
  RecordContext(call, kOpContextCreate, context_id, device);
}

void DestroyGreen::After(Call* call, CUresult result, void* green) const {
  if (result != CUDA_SUCCESS) return;
  HandleTable* handles = call->driver()->handles();
  HandleTable::Entry known, converted;
  while (handles->TakeOwned(Number(green), HandleKind::kGreenContext, &converted))
    call->driver()->RetireContext(reinterpret_cast<CUcontext>(converted.handle));
  if (handles->Drop(Number(green), HandleKind::kGreen, &known) == HandleTable::Dropped::kUnknown)
    return;
  const auto device = static_cast<std::int32_t>(known.aux);
  if (!DriverState::PrimaryIsActive(device)) RecordEndOfPrimary(call, device, before_ns);
}

}  // namespace memprof::recorder
