// Counts what is in use on each device, by kind, for log.OP_LEVEL: exact also where blocks are
// left out of the log.
#pragma once

#include <cstdint>

#include "libmemprof/src/base/mapped_array.h"
#include "libmemprof/src/log/internal/kept_event.h"

namespace memprof::recorder {

class Levels {
 public:
  void Allocate(std::uint16_t device_plus_1, std::uint8_t layer, std::uint64_t bytes);
  void Free(std::uint16_t device_plus_1, std::uint8_t layer, std::uint64_t bytes);

  // Whether a level passed, since the last EndUnit, the highest of the units that were kept whole
  // by more than a hundredth.
  bool PassedWhole() const;
  // `whole`: the unit since the last call was kept whole.
  void EndUnit(bool whole);
  // Appends an OP_LEVEL for each device and kind of the units that were not whole since the last
  // call.
  void EndStretch(std::uint64_t time_ns, MappedArray<KeptEvent>* to);
  // Nothing is whole yet in the new segment.
  void BeginSegment();

 private:
  struct Level {
    std::uint16_t device_plus_1;
    std::uint8_t layer;  // kLayerNone = all that the driver allocated
    std::uint64_t now, whole_peak;
    std::uint64_t unit_peak, unit_allocations, unit_bytes;
    std::uint64_t stretch_peak, stretch_end, stretch_allocations, stretch_bytes;
    bool in_stretch;
  };
  // Null for kinds that are not counted, or without memory.
  Level* Of(std::uint16_t device_plus_1, std::uint8_t layer);

  MappedArray<Level> levels_;
};

}  // namespace memprof::recorder
