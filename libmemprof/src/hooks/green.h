// Hooks of green contexts, which share out the multiprocessors of a device. A green context holds
// the device's primary context, and is the primary one with fewer resources once it is converted
// (cuda.h): what is allocated under it ends with the primary context, not with itself, unless it
// was the last to hold that.
#pragma once

#include "libmemprof/src/hooks/context.h"

namespace memprof::recorder {

template <typename Real>
CUresult CreateGreen(FunctionId id, Real real, void** green, void* resources, CUdevice device,
                     unsigned flags) {
  Hook hook(id);
  const CUresult result = real(green, resources, device, flags);
  if (!hook.active()) return result;
  hook.Failed(result, kLayerNone);
  if (result == CUDA_SUCCESS)
    hook.driver()->handles()->Add({reinterpret_cast<std::uint64_t>(*green), HandleKind::kGreen, 0,
                                   0, 0, static_cast<std::uint64_t>(device), 1});
  return result;
}

template <typename Real>
CUresult ContextFromGreen(FunctionId id, Real real, CUcontext* context, void* green) {
  Hook hook(id);
  const CUresult result = real(context, green);
  if (!hook.active() || result != CUDA_SUCCESS) return result;
  HandleTable* handles = hook.driver()->handles();
  const auto number = reinterpret_cast<std::uint64_t>(green);
  HandleTable::Entry known;
  if (!handles->Get(number, HandleKind::kGreen, &known) ||
      !handles->Add({reinterpret_cast<std::uint64_t>(*context), HandleKind::kGreenContext, 0,
                     number, 0, 0, 1}))
    return result;
  const auto device = static_cast<std::int32_t>(known.aux);
  const std::uint32_t context_id = hook.driver()->ContextId(
      *context, device, DriverState::ContextKind::kGreen, hook.IsCurrent(*context));
  RecordContext(&hook, kOpContextCreate, context_id, device);
  return result;
}

template <typename Real>
CUresult DestroyGreen(FunctionId id, Real real, void* green) {
  Hook hook(id);
  const std::uint64_t before_ns = hook.active() ? NowNs() : 0;
  const CUresult result = real(green);
  if (!hook.active() || result != CUDA_SUCCESS) return result;
  HandleTable* handles = hook.driver()->handles();
  const auto number = reinterpret_cast<std::uint64_t>(green);
  HandleTable::Entry known, converted;
  while (handles->TakeOwned(number, HandleKind::kGreenContext, &converted))
    hook.driver()->RetireContext(reinterpret_cast<CUcontext>(converted.handle));
  if (handles->Drop(number, HandleKind::kGreen, &known) == HandleTable::Dropped::kUnknown)
    return result;
  const auto device = static_cast<std::int32_t>(known.aux);
  if (!DriverState::PrimaryIsActive(device)) RecordEndOfPrimary(&hook, device, before_ns);
  return result;
}

}  // namespace memprof::recorder
