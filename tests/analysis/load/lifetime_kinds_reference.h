// A simple reference for lifetimes of all kinds of memory.
#pragma once

#include <algorithm>
#include <set>

#include "tests/support/load_log.h"

namespace memprof::analysis::testing {

inline constexpr std::uint64_t kPiece = 0x1000;  // the size of everything

struct KindsEvent {
  Op op = Op::kAlloc;
  Layer layer = Layer::kUnspecified;
  int device = 0;
  std::uint64_t address = 0, bytes = 0, handle = 0;
  std::uint32_t context = 0;  // 0 = unknown; context i is primary on device i - 1
  ImportKind kind = ImportKind::kUnknown;
};

// The rules of docs/log-format.md, with one list and loops over it.
class KindsReference {
 public:
  struct Life {
    Layer layer;
    int device;
    std::uint64_t address;
    std::uint32_t context;
    ImportKind kind;
    std::vector<std::uint32_t> marks;  // events that refer to it
    std::uint32_t death = EventId::kNone;
    EndReason reason = EndReason::kAlive;
    bool released = false;  // for VMM memory: its handle is released
    bool alive() const { return reason == EndReason::kAlive; }
  };

  void Run(const std::vector<KindsEvent>& events) {
    for (std::uint32_t i = 0; i < events.size(); ++i) {
      now_ = i;
      const KindsEvent& event = events[i];
      if (event.op == Op::kAlloc) Alloc(event);
      if (event.op == Op::kFree) Free(event);
      if (event.op == Op::kModuleLoad) Alloc(event);
      if (event.op == Op::kModuleUnload || event.op == Op::kModuleGlobal) OfModule(event);
      if (event.op == Op::kPrefetch) MarkManaged(event);
      if (event.op == Op::kMap && event.layer != Layer::kMulticast) Map(event);
      if (event.op == Op::kUnmap && event.layer != Layer::kMulticast)
        Unmap(event.address, event.bytes);
      if (event.op == Op::kContextDestroy)
        EndAll(EndReason::kContextDestroyed, [&event](const Life& life) {
          return event.context != 0 && OfContext(life) && life.context == event.context;
        });
      if (event.op == Op::kDeviceReset)
        EndAll(EndReason::kDeviceReset, [&event](const Life& life) {
          if (OfContext(life) && life.context != 0)
            return static_cast<int>(life.context) == event.device + 1;
          const bool of_process =
              SpaceOf(life.layer, life.kind) == 'v' || life.layer == Layer::kMulticast;
          return life.device == event.device && !of_process;
        });
    }
  }

  std::vector<Life> lives;
  std::uint64_t unmatched = 0, doubled = 0, foreign = 0;

 private:
  struct Mapping {
    std::uint64_t address;
    std::size_t memory;
  };

  static char SpaceOf(Layer layer, ImportKind kind = ImportKind::kUnknown) {
    if (layer == Layer::kPinned || layer == Layer::kRegistered) return 'h';
    if (layer == Layer::kArray) return 'a';
    if (layer == Layer::kModule) return 'm';
    if (layer == Layer::kMulticast) return 'c';
    if (kind == ImportKind::kExternal) return 'i';
    return layer == Layer::kVmmPhysical || kind == ImportKind::kPhysical ? 'v' : 'd';
  }
  static bool OfContext(const Life& life) {
    return life.layer != Layer::kStreamOrdered && life.layer != Layer::kGraph &&
           life.layer != Layer::kMulticast && SpaceOf(life.layer, life.kind) != 'v';
  }
  // The kinds of memory that the free function for `layer` is meant for.
  static std::set<Layer> FreedBy(Layer layer) {
    if (layer == Layer::kLinear || layer == Layer::kManaged)
      return {Layer::kLinear, Layer::kManaged, Layer::kImported};
    if (layer == Layer::kStreamOrdered)
      return {Layer::kStreamOrdered, Layer::kImported, Layer::kPinned};
    return {layer};
  }

  bool Mapped(std::size_t memory) const {
    return std::any_of(maps_.begin(), maps_.end(),
                       [memory](const Mapping& map) { return map.memory == memory; });
  }
  void End(std::size_t i, EndReason reason) {
    lives[i].death = now_;
    lives[i].reason = reason;
  }
  template <typename Accept>
  void EndAll(EndReason reason, Accept accept) {
    for (std::size_t i = 0; i < lives.size(); ++i)
      if (lives[i].alive() && accept(lives[i])) End(i, reason);
  }

  // The live allocation at `address`; on another device only if `any`. -1 = none.
  int Find(char space, std::uint64_t address, int device, bool any) const {
    int other = -1;
    for (std::size_t i = 0; i < lives.size(); ++i) {
      const Life& life = lives[i];
      if (!life.alive() || life.released || SpaceOf(life.layer, life.kind) != space ||
          life.address != address)
        continue;
      if (life.device == device) return static_cast<int>(i);
      other = static_cast<int>(i);
    }
    return any ? other : -1;
  }

  void Alloc(const KindsEvent& event) {
    const char space = SpaceOf(event.layer, event.kind);
    const int older = Find(space, event.address, event.device, false);
    if (older >= 0) {
      ++doubled;
      const auto i = static_cast<std::size_t>(older);
      if (Mapped(i))
        lives[i].released = true;
      else
        End(i, EndReason::kAddressReused);
    }
    lives.push_back({event.layer, event.device, event.address, event.context, event.kind, {}});
  }

  // A live import, in any address space. -1 = none.
  int FindImport(const KindsEvent& event) const {
    for (const char space : {'d', 'v', 'i'}) {
      const int found = Find(space, event.address, event.device, true);
      if (found >= 0 && lives[static_cast<std::size_t>(found)].layer == Layer::kImported)
        return found;
    }
    return -1;
  }

  void OfModule(const KindsEvent& event) {
    const bool unload = event.op == Op::kModuleUnload;
    const int found = Find('m', unload ? event.address : event.handle, event.device, true);
    if (found < 0) return;
    if (unload)
      End(static_cast<std::size_t>(found), EndReason::kFreed);
    else
      lives[static_cast<std::size_t>(found)].marks.push_back(now_);
  }

  void MarkManaged(const KindsEvent& event) {
    for (Life& life : lives)
      if (life.alive() && life.layer == Layer::kManaged && event.address >= life.address &&
          event.address < life.address + kPiece)
        life.marks.push_back(now_);
  }

  void Free(const KindsEvent& event) {
    const char space = SpaceOf(event.layer);
    int found = event.layer == Layer::kImported ? FindImport(event) : -1;
    if (found < 0) found = Find(space, event.address, event.device, true);
    if (found < 0 && space == 'd') found = Find('h', event.address, event.device, true);
    if (found < 0 && space == 'h') found = Find('d', event.address, event.device, true);
    if (found < 0) found = FindImport(event);
    if (found < 0) {
      ++unmatched;
      return;
    }
    const auto i = static_cast<std::size_t>(found);
    foreign += FreedBy(event.layer).count(lives[i].layer) == 0;
    if (Mapped(i))
      lives[i].released = true;
    else
      End(i, EndReason::kFreed);
  }

  void Map(const KindsEvent& event) {
    const int found = Find('v', event.handle, event.device, true);
    Unmap(event.address, event.bytes);
    if (found >= 0 && lives[static_cast<std::size_t>(found)].alive())
      maps_.push_back({event.address, static_cast<std::size_t>(found)});
  }

  void Unmap(std::uint64_t address, std::uint64_t bytes) {
    std::vector<std::size_t> unmapped;
    for (const Mapping& map : maps_)
      if (map.address >= address && map.address < address + bytes) unmapped.push_back(map.memory);
    std::erase_if(maps_, [&](const Mapping& map) {
      return map.address >= address && map.address < address + bytes;
    });
    for (const std::size_t i : unmapped)
      if (lives[i].released && lives[i].alive() && !Mapped(i)) End(i, EndReason::kFreed);
  }

  std::uint32_t now_ = 0;
  std::vector<Mapping> maps_;
};

}  // namespace memprof::analysis::testing
