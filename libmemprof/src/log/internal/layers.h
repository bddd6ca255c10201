// What the kinds of memory have in common.
#pragma once

#include <cstdint>

#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {

inline bool OccupiesDevice(std::uint8_t layer) {
  switch (layer) {
    case kLayerLinear:
    case kLayerPitched:
    case kLayerArray:
    case kLayerManaged:
    case kLayerStreamOrdered:
    case kLayerVmmPhysical:
    case kLayerGraph:
      return true;
    default:
      return false;
  }
}

// It ends with its context. Pools and physical memory belong to the device: they end with a reset.
inline bool OwnedByContext(std::uint8_t layer) {
  return layer == kLayerLinear || layer == kLayerPitched || layer == kLayerArray ||
         layer == kLayerManaged || layer == kLayerImported || layer == kLayerPinned;
}

}  // namespace memprof::recorder
