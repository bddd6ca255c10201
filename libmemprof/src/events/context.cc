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

// Ends the device's primary context and, with it, green contexts and the memory that graphs hold.
void RecordEndOfPrimary(Call* call, std::int32_t device, std::uint64_t before_ns) {
  MappedArray<GraphLedger::Node> ended;
  call->driver()->graphs()->EndDevice(device, &ended);
  TheTorchLayer()->EndDevice(device);
  CallContext context = call->driver()->TakePrimary(device);
  for (const GraphLedger::Node& node : ended) {
    ring::RingEvent event = call->Event(kOpFree, kLayerGraph);
    event.time_ns = before_ns;
    event.context = context.id;
    event.SetDevice(device);
    event.address = node.address;
    event.bytes = node.bytes;
    call->Emit(&event);
  }
  for (; context.id != 0; context = call->driver()->TakePrimary(device)) {
    RecordEndOf(call, context, before_ns);
    RecordContext(call, kOpContextDestroy, context.id, device, before_ns);
  }
}

}  // namespace

void RecordEndOf(Call* call, const CallContext& ended, std::uint64_t before_ns) {
  RecordArraysEnd(call, ended.id, before_ns);
  call->driver()->handles()->EndContext(ended.id);
}

void RecordNewContext(Call* call, CUresult result, CUcontext* context, CUdevice device) {
  call->Failed(result, kLayerNone);
  if (result != CUDA_SUCCESS) return;
  call->driver()->RemoveContext(*context);
  const std::uint32_t context_id = call->driver()->ContextId(
      *context, device, DriverState::ContextKind::kCreated, call->IsCurrent(*context));
  RecordContext(call, kOpContextCreate, context_id, device);
}

void DestroyContext::Before(Call* call, CUcontext context) const {
  const CallContext ended = call->driver()->RemoveContext(context);
  while (call->driver()->handles()->Drop(Number(context), HandleKind::kAttached) ==
         HandleTable::Dropped::kReferenced) {
  }
  if (ended.id == 0) return;
  RecordEndOf(call, ended, NowNs());
  RecordContext(call, kOpContextDestroy, ended.id, ended.device);
}

void AttachContext::After(Call* call, CUresult result, CUcontext* context, unsigned) const {
  if (result == CUDA_SUCCESS)
    call->driver()->handles()->Add(HandleTable::Entry(Number(*context), HandleKind::kAttached));
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
  driver->graphs()->EndDevice(device, nullptr);  // one event stands for all memory of the device
  TheTorchLayer()->EndDevice(device);
  const CallContext ended = driver->TakePrimary(device);
  RecordEndOf(call, ended, NowNs());
  RecordContext(call, kOpDeviceReset, ended.id, device);
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
    call->driver()->handles()->Add(HandleTable::Entry::Green(Number(*green), device));
}

void ContextFromGreen::After(Call* call, CUresult result, CUcontext* context, void* green) const {
  if (result != CUDA_SUCCESS) return;
  HandleTable* handles = call->driver()->handles();
  HandleTable::Entry entry;
  if (!handles->Get(Number(green), HandleKind::kGreen, &entry) ||
      !handles->Add(
          HandleTable::Entry(Number(*context), HandleKind::kGreenContext, 0, Number(green))))
    return;
  const std::int32_t device = entry.device();
  const std::uint32_t context_id = call->driver()->ContextId(
      *context, device, DriverState::ContextKind::kGreen, call->IsCurrent(*context));
  RecordContext(call, kOpContextCreate, context_id, device);
}

void DestroyGreen::After(Call* call, CUresult result, void* green) const {
  if (result != CUDA_SUCCESS) return;
  HandleTable* handles = call->driver()->handles();
  HandleTable::Entry entry, converted;
  while (handles->TakeOwned(Number(green), HandleKind::kGreenContext, &converted))
    call->driver()->RetireContext(reinterpret_cast<CUcontext>(converted.handle));
  if (handles->Drop(Number(green), HandleKind::kGreen, &entry) == HandleTable::Dropped::kUnknown)
    return;
  const std::int32_t device = entry.device();
  if (!DriverState::PrimaryIsActive(device)) RecordEndOfPrimary(call, device, before_ns);
}

}  // namespace memprof::recorder
