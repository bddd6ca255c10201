// Events of device code being loaded, looked into, and unloaded.
#include "libmemprof/src/hooks/module.h"

namespace memprof::recorder {

std::uint64_t FreeBytesNow(Hook* hook) {
  std::uint64_t free = 0, total = 0;
  return hook->Context().device >= 0 && DriverState::MemoryInfo(&free, &total) ? free : 0;
}

// Other threads and processes use the device too, so the difference is an estimate. Loading is
// slow; two questions beside it cost nothing that could be noticed.
void RecordModuleLoad(Hook* hook, std::uint64_t handle, std::uint64_t image_bytes, const char* file,
                      std::uint64_t free_before) {
  const std::uint64_t free_after = free_before == 0 ? 0 : FreeBytesNow(hook);
  const CallContext context = hook->Context();
  ring::RingEvent event = hook->Event(kOpModuleLoad, kLayerModule);
  event.context = context.id;
  event.SetDevice(context.device);
  event.address = handle;
  event.bytes = image_bytes;
  if (file != nullptr) event.label = TheRecorder()->definitions()->InternString(file);
  if (free_after != 0 && free_after < free_before) event.aux0 = free_before - free_after;
  hook->driver()->handles()->Add(
      {handle, HandleKind::kModule, context.id, 0, image_bytes, event.aux0, 1});
  hook->Emit(&event, true);
}

void RecordModuleUnload(Hook* hook, std::uint64_t handle, std::uint64_t before_ns) {
  HandleTable* handles = hook->driver()->handles();
  HandleTable::Entry known;
  handles->Drop(handle, HandleKind::kModule, &known);
  HandleTable::Entry global;
  while (handles->TakeOwned(handle, HandleKind::kGlobal, &global)) {
  }
  const CallContext context = hook->Context();
  ring::RingEvent event = hook->Event(kOpModuleUnload, kLayerModule);
  event.time_ns = before_ns;
  event.context = known.context != 0 ? known.context : context.id;
  event.SetDevice(context.device);
  event.address = handle;
  event.bytes = known.bytes;
  event.aux0 = known.aux;
  hook->Emit(&event);
}

void RecordGlobal(Hook* hook, std::uint64_t address, std::uint64_t bytes, std::uint64_t module,
                  const char* name) {
  const CallContext context = hook->Context();
  if (!hook->driver()->handles()->Add(
          {address, HandleKind::kGlobal, context.id, module, bytes, 0, 1}))
    return;
  ring::RingEvent event = hook->Event(kOpModuleGlobal, kLayerModule);
  event.context = context.id;
  event.SetDevice(context.device);
  event.address = address;
  event.bytes = bytes;
  event.aux0 = module;
  if (name != nullptr) event.label = TheRecorder()->definitions()->InternString(name);
  hook->Emit(&event);
}

}  // namespace memprof::recorder
