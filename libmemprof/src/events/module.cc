// Events of device code being loaded, looked into, and unloaded.
#include "libmemprof/src/events/module.h"

namespace memprof::recorder {

std::uint64_t FreeBytesNow(Call* call) {
  std::uint64_t free = 0, total = 0;
  return call->Context().device >= 0 && DriverState::MemoryInfo(&free, &total) ? free : 0;
}

// Other threads and processes use the device too, so the difference is an estimate. Loading is
// slow; two questions beside it cost nothing that could be noticed.
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
      {handle, HandleKind::kModule, context.id, 0, image_bytes, event.aux0, 1});
  call->Emit(&event, true);
}

void RecordModuleUnload(Call* call, CUresult result, std::uint64_t handle,
                        std::uint64_t before_ns) {
  if (result != CUDA_SUCCESS) return call->Freed(result, kLayerModule, handle);
  HandleTable* handles = call->driver()->handles();
  HandleTable::Entry known;
  handles->Drop(handle, HandleKind::kModule, &known);
  HandleTable::Entry global;
  while (handles->TakeOwned(handle, HandleKind::kGlobal, &global)) {
  }
  const CallContext context = call->Context();
  ring::RingEvent event = call->Event(kOpModuleUnload, kLayerModule);
  event.time_ns = before_ns;
  event.context = known.context != 0 ? known.context : context.id;
  event.SetDevice(context.device);
  event.address = handle;
  event.bytes = known.bytes;
  event.aux0 = known.aux;
  call->Emit(&event);
}

void RecordGlobal(Call* call, std::uint64_t address, std::uint64_t bytes, std::uint64_t module,
                  const char* name) {
  const CallContext context = call->Context();
  if (!call->driver()->handles()->Add(
          {address, HandleKind::kGlobal, context.id, module, bytes, 0, 1}))
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
