// Levels by device and kind.
#include "libmemprof/src/log/internal/levels.h"

#include <algorithm>

#include "libmemprof/src/log/internal/layers.h"

namespace memprof::recorder {

Levels::Level* Levels::Of(std::uint16_t device_plus_1, std::uint8_t layer) {
  if (OccupiesDevice(layer))
    layer = kLayerNone;
  else if (layer != kLayerSegment && layer != kLayerBlock)
    return nullptr;
  Level* found = levels_.Find([&](const Level& level) {
    return level.device_plus_1 == device_plus_1 && level.layer == layer;
  });
  if (found != nullptr) return found;
  Level level{};
  level.device_plus_1 = device_plus_1;
  level.layer = layer;
  return levels_.Append(level) ? levels_.end() - 1 : nullptr;
}

void Levels::Allocate(std::uint16_t device_plus_1, std::uint8_t layer, std::uint64_t bytes) {
  Level* level = Of(device_plus_1, layer);
  if (level == nullptr) return;
  level->now += bytes;
  level->unit_peak = std::max(level->unit_peak, level->now);
  ++level->unit_allocations;
  level->unit_bytes += bytes;
}

void Levels::Free(std::uint16_t device_plus_1, std::uint8_t layer, std::uint64_t bytes) {
  Level* level = Of(device_plus_1, layer);
  if (level != nullptr) level->now -= std::min(level->now, bytes);
}

bool Levels::PassedWhole() const {
  for (const Level& level : levels_)
    if (level.unit_peak > level.whole_peak + level.whole_peak / 100) return true;
  return false;
}

void Levels::EndUnit(bool whole) {
  for (Level& level : levels_) {
    if (whole) {
      level.whole_peak = std::max(level.whole_peak, level.unit_peak);
    } else {
      level.stretch_peak = std::max(level.stretch_peak, level.unit_peak);
      level.stretch_end = level.now;
      level.stretch_allocations += level.unit_allocations;
      level.stretch_bytes += level.unit_bytes;
      level.in_stretch = true;
    }
    level.unit_peak = level.now;
    level.unit_allocations = level.unit_bytes = 0;
  }
}

void Levels::EndStretch(std::uint64_t time_ns, MappedArray<KeptEvent>* to) {
  for (Level& level : levels_) {
    if (!level.in_stretch) continue;
    KeptEvent kept{};
    kept.event.time_ns = time_ns;
    kept.event.op = kOpLevel;
    kept.event.layer = level.layer;
    kept.event.device_plus_1 = level.device_plus_1;
    kept.event.bytes = level.stretch_peak;
    kept.event.aux0 = level.stretch_end;
    kept.event.aux1 = level.stretch_allocations;
    kept.event.address = level.stretch_bytes;
    to->Append(kept);
    level.stretch_peak = level.stretch_allocations = level.stretch_bytes = 0;
    level.in_stretch = false;
  }
}

void Levels::BeginSegment() {
  for (Level& level : levels_) level.whole_peak = 0;
}

}  // namespace memprof::recorder
