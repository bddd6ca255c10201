// Keys of what is alive.
#include "libmemprof/src/log/internal/alive.h"

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/log/internal/layers.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

// The op that begins what `op` ends.
std::uint8_t BeginningOf(std::uint8_t op) {
  switch (op) {
    case kOpFree:
    case kOpFreeFailed:
    case kOpPresent:
      return kOpAlloc;
    case kOpUnmap:
      return kOpMap;
    case kOpModuleUnload:
      return kOpModuleLoad;
    case kOpContextDestroy:
      return kOpContextCreate;
    case kOpPoolDestroy:
      return kOpPoolCreate;
    default:
      return op;
  }
}

struct Key {
  std::uint64_t address;
  std::uint32_t kind;

  std::uint64_t hash() const { return Mix(Mix(kHashSeed, address), kind); }
};

Key KeyOf(const RingEvent& event) {
  const std::uint8_t op = BeginningOf(event.op);
  const std::uint64_t address = op == kOpContextCreate ? event.context : event.address;
  const std::uint32_t layer = op == kOpContextCreate || op == kOpPoolCreate ? 0 : event.layer;
  return {address, op + (layer << 8)};
}

}  // namespace

std::uint64_t Living::hash() const { return KeyOf(event).hash(); }

Living* Alive::Find(const RingEvent& event) {
  const Key key = KeyOf(event);
  return entries_.Find(key.hash(), [&](const Living& living) {
    const Key other = KeyOf(living.event);
    return other.address == key.address && other.kind == key.kind;
  });
}

bool Alive::EndsWith(const Living& living, const RingEvent& end) {
  const RingEvent& event = living.event;
  if (living.fate == Fate::kEndsEarly) return false;
  if (end.op == kOpModuleUnload) return event.op == kOpModuleGlobal && event.aux0 == end.address;
  const bool reset = end.op == kOpDeviceReset && event.device_plus_1 == end.device_plus_1;
  if (event.op == kOpModuleLoad || event.op == kOpModuleGlobal)
    return event.context != 0 && end.context != 0 ? event.context == end.context : reset;
  if (event.op == kOpContextCreate) return event.context == end.context;
  if (event.op != kOpAlloc && event.op != kOpPresent) return false;
  // The framework's own events say what becomes of its blocks.
  if (event.layer >= kLayerSegment) return false;
  const bool by_context = OwnedByContext(event.layer) && event.context != 0 && end.context != 0;
  return by_context ? event.context == end.context : reset;
}

bool BeginsLife(std::uint8_t op) {
  return op == kOpAlloc || op == kOpPresent || op == kOpMap || op == kOpModuleLoad ||
         op == kOpModuleGlobal || op == kOpContextCreate || op == kOpPoolCreate ||
         op == kOpFrameworkPool;
}

bool EndsLife(std::uint8_t op) {
  return op == kOpFree || op == kOpUnmap || op == kOpModuleUnload || op == kOpPoolDestroy;
}

}  // namespace memprof::recorder
