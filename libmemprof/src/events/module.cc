// Events of device code: loading, looking up variables, unloading.
#include "libmemprof/src/events/module.h"

namespace memprof::recorder {

std::uint64_t FreeBytesNow(Call* call) {
  std::uint64_t free = 0, total = 0;
  return call->Context().device >= 0 && DriverState::MemoryInfo(&free, &total) ? free : 0;
}

// The memory that a load takes is the difference of the free memory before and after. Other threads
// and processes use the device too, so this is an estimate. Loading is slow; the cost of two more
// queries could not be measured.
void RecordModuleLoad(Call* call, std::uint64_t handle, std::uint64_t image_bytes, const char* file,
                      std::uint64_t free_before) {
  const std::uint64_t free_after = free_before == 0 ? 0 : FreeBytesNow(call);
  const CallContext context = call->Context();
  ring::RingEvent event = call->Event(kOpModuleLoad, kLayerModule);
  event.context = context.id;
  event.SetDevice(context.device);
  event.address = handle;
  event.bytes = image_bytes;
  if (file != nullptr) event.label = TheRecorder()->definitions()->InternString(file);
  if (free_after != 0 && free_after < free_before) event.aux0 = free_before - free_after;
  call->driver()->handles()->Add(
      HandleTable::Entry::Module(handle, context.id, image_bytes, event.aux0));
  call->Emit(&event, true);
}

void RecordModuleUnload(Call* call, CUresult result, std::uint64_t handle,
                        std::uint64_t before_ns) {
  if (result != CUDA_SUCCESS) return call->Freed(result, kLayerModule, handle);
  HandleTable* handles = call->driver()->handles();
  HandleTable::Entry module;
  handles->Drop(handle, HandleKind::kModule, &module);
  HandleTable::Entry global;
  while (handles->TakeOwned(handle, HandleKind::kGlobal, &global)) {
  }
  const CallContext context = call->Context();
  ring::RingEvent event = call->Event(kOpModuleUnload, kLayerModule);
  event.time_ns = before_ns;
  event.context = module.context != 0 ? module.context : context.id;
  event.SetDevice(context.device);
  event.address = handle;
  event.bytes = module.bytes;
  event.aux0 = module.device_bytes();
  call->Emit(&event);
}

void RecordGlobal(Call* call, std::uint64_t address, std::uint64_t bytes, std::uint64_t module,
                  const char* name) {
  const CallContext context = call->Context();
  if (!call->driver()->handles()->Add(
          HandleTable::Entry(address, HandleKind::kGlobal, context.id, module, bytes)))
    return;
  ring::RingEvent event = call->Event(kOpModuleGlobal, kLayerModule);
  event.context = context.id;
  event.SetDevice(context.device);
  event.address = address;
  event.bytes = bytes;
  event.aux0 = module;
  if (name != nullptr) event.label = TheRecorder()->definitions()->InternString(name);
  call->Emit(&event);
}

}  // namespace memprof::recorder
