// Hooks of initialisation and contexts. The end of a context frees everything that belonged to it
// at once, and is recorded like a free: before the real call.
#pragma once

#include <unistd.h>

#include <tuple>

#include "libmemprof/src/hooks/sparse.h"

namespace memprof::recorder {

template <typename Real>
CUresult Init(FunctionId id, Real real, unsigned flags) {
  Hook hook(id, StartCause::kNone);
  const CUresult result = real(flags);
  // A program that only asks whether there is a GPU, or how many, leaves no log.
  if (result == CUDA_SUCCESS) hook.Activate(StartCause::kInit);
  return result;
}

inline void RecordContext(Hook* hook, Op op, std::uint32_t context_id, std::int32_t device) {
  ring::RingEvent event = hook->Event(op, kLayerNone);
  event.context = context_id;
  event.SetDevice(device);
  hook->Emit(&event, op == kOpContextCreate);
}

inline void RecordNewContext(Hook* hook, CUresult result, const CUcontext* context,
                             CUdevice device) {
  if (!hook->active()) return;
  hook->Failed(result, kLayerNone);
  if (result != CUDA_SUCCESS) return;
  hook->driver()->ForgetContext(*context);
  const std::uint32_t context_id = hook->driver()->ContextId(
      *context, device, DriverState::ContextKind::kCreated, hook->IsCurrent(*context));
  RecordContext(hook, kOpContextCreate, context_id, device);
}

template <typename Real, typename... Arguments>
CUresult CreateContext(FunctionId id, Real real, CUcontext* context, Arguments... arguments) {
  Hook hook(id);
  const CUresult result = real(context, arguments...);
  RecordNewContext(&hook, result, context,
                   std::get<sizeof...(arguments) - 1>(std::tuple(arguments...)));
  return result;
}

template <typename Real>
CUresult CreateVdpauContext(FunctionId id, Real real, CUcontext* context, unsigned flags,
                            CUdevice device, std::uint32_t vdpau, void* find) {
  Hook hook(id);
  const CUresult result = real(context, flags, device, vdpau, find);
  RecordNewContext(&hook, result, context, device);
  return result;
}

// The handles that belong to a context end with it.
inline void RecordEndOf(Hook* hook, const CallContext& gone, std::uint64_t before_ns) {
  RecordArraysEnd(hook, gone.id, before_ns);
  hook->driver()->handles()->EndContext(gone.id);
}

template <typename Real>
CUresult DestroyContext(FunctionId id, Real real, CUcontext context) {
  Hook hook(id);
  if (hook.active()) {
    const CallContext gone = hook.driver()->ForgetContext(context);
    while (hook.driver()->handles()->Drop(reinterpret_cast<std::uint64_t>(context),
                                          HandleKind::kAttached) == HandleTable::Dropped::kStays) {
    }
    if (gone.id != 0) {
      RecordEndOf(&hook, gone, NowNs());
      RecordContext(&hook, kOpContextDestroy, gone.id, gone.device);
    }
  }
  return real(context);
}

// Each attachment takes one more cuCtxDetach to destroy the context.
template <typename Real>
CUresult AttachContext(FunctionId id, Real real, CUcontext* context, unsigned flags) {
  Hook hook(id);
  const CUresult result = real(context, flags);
  if (hook.active() && result == CUDA_SUCCESS)
    hook.driver()->handles()->Add(
        {reinterpret_cast<std::uint64_t>(*context), HandleKind::kAttached, 0, 0, 0, 0, 1});
  return result;
}

template <typename Real>
CUresult DetachContext(FunctionId id, Real real, CUcontext context) {
  {
    Hook hook(id);
    if (!hook.active() ||
        hook.driver()->handles()->Drop(reinterpret_cast<std::uint64_t>(context),
                                       HandleKind::kAttached) != HandleTable::Dropped::kUnknown)
      return real(context);
  }
  return DestroyContext(id, real, context);
}

template <typename Real>
CUresult RetainPrimary(FunctionId id, Real real, CUcontext* context, CUdevice device) {
  Hook hook(id);
  const CUresult result = real(context, device);
  if (!hook.active()) return result;
  hook.Failed(result, kLayerNone);
  if (result != CUDA_SUCCESS) return result;
  const bool known = hook.driver()->PrimaryContext(device) == *context;
  const std::uint32_t context_id = hook.driver()->ContextId(
      *context, device, DriverState::ContextKind::kPrimary, hook.IsCurrent(*context));
  if (!known) RecordContext(&hook, kOpContextCreate, context_id, device);
  return result;
}

// The device's primary context has ended, and green ones and the memory that graphs hold with it.
inline void RecordEndOfPrimary(Hook* hook, std::int32_t device, std::uint64_t before_ns) {
  MappedArray<GraphLedger::Node> ended;
  hook->driver()->graphs()->EndDevice(device, &ended);
  TheTorchLayer()->EndDevice(device);
  CallContext gone = hook->driver()->TakePrimary(device);
  for (const GraphLedger::Node& node : ended) {
    ring::RingEvent event = hook->Event(kOpFree, kLayerGraph);
    event.time_ns = before_ns;
    event.context = gone.id;
    event.SetDevice(device);
    event.address = node.address;
    event.bytes = node.bytes;
    hook->Emit(&event);
  }
  for (; gone.id != 0; gone = hook->driver()->TakePrimary(device)) {
    RecordEndOf(hook, gone, before_ns);
    ring::RingEvent event = hook->Event(kOpContextDestroy, kLayerNone);
    event.time_ns = before_ns;
    event.context = gone.id;
    event.SetDevice(device);
    hook->Emit(&event);
  }
}

// Only the last release destroys the primary context; the driver's own answer tells which it was.
template <typename Real>
CUresult ReleasePrimary(FunctionId id, Real real, CUdevice device) {
  Hook hook(id);
  const std::uint64_t before_ns = hook.active() ? NowNs() : 0;
  const CUresult result = real(device);
  if (hook.active() && result == CUDA_SUCCESS && !DriverState::PrimaryIsActive(device))
    RecordEndOfPrimary(&hook, device, before_ns);
  return result;
}

template <typename Real>
CUresult ResetPrimary(FunctionId id, Real real, CUdevice device) {
  Hook hook(id);
  if (hook.active()) {
    hook.driver()->graphs()->EndDevice(device, nullptr);  // the event says it of all memory
    TheTorchLayer()->EndDevice(device);
    const CallContext gone = hook.driver()->TakePrimary(device);
    RecordEndOf(&hook, gone, NowNs());
    RecordContext(&hook, kOpDeviceReset, gone.id, device);
    for (CallContext green = hook.driver()->TakePrimary(device); green.id != 0;
         green = hook.driver()->TakePrimary(device)) {
      RecordEndOf(&hook, green, NowNs());
      RecordContext(&hook, kOpContextDestroy, green.id, device);
    }
  }
  return real(device);
}

// Steps of a checkpoint. While the process is locked, other calls of the driver wait: nothing is
// asked here, and the marks carry no context.
template <int kStage, typename Real>
CUresult Checkpoint(FunctionId id, Real real, int pid, void* arguments) {
  constexpr int kLock = 1, kUnlock = 4;
  Hook hook(id);
  const bool own = hook.active() && pid == getpid();
  const bool held = own && hook.driver()->calls_held();
  if (own && kStage == kLock) hook.driver()->HoldCalls(true);
  const CUresult result = real(pid, arguments);
  if (own && kStage == kLock && result != CUDA_SUCCESS) hook.driver()->HoldCalls(held);
  if (own && kStage == kUnlock && result == CUDA_SUCCESS) hook.driver()->HoldCalls(false);
  if (!hook.active() || result != CUDA_SUCCESS) return result;
  ring::RingEvent event = hook.Event(kOpCheckpoint, kLayerNone);
  event.aux0 = kStage;
  event.aux1 = static_cast<std::uint64_t>(pid);
  hook.Emit(&event, true);
  return result;
}

template <typename Real>
CUresult CheckpointLock(FunctionId id, Real real, int pid, void* arguments) {
  return Checkpoint<1>(id, real, pid, arguments);
}
template <typename Real>
CUresult CheckpointSave(FunctionId id, Real real, int pid, void* arguments) {
  return Checkpoint<2>(id, real, pid, arguments);
}
template <typename Real>
CUresult CheckpointRestore(FunctionId id, Real real, int pid, void* arguments) {
  return Checkpoint<3>(id, real, pid, arguments);
}
template <typename Real>
CUresult CheckpointUnlock(FunctionId id, Real real, int pid, void* arguments) {
  return Checkpoint<4>(id, real, pid, arguments);
}

}  // namespace memprof::recorder
