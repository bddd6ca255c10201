// Which layers share addresses, free functions and contexts.
#include "analysis/load/internal/spaces.h"

namespace memprof::analysis::lifetimes {

Space SpaceOf(Layer layer) {
  switch (layer) {
    case Layer::kLinear:
    case Layer::kPitched:
    case Layer::kManaged:
    case Layer::kStreamOrdered:
    case Layer::kGraph:
    case Layer::kImported:
      return Space::kDevice;
    case Layer::kPinned:
    case Layer::kRegistered:
      return Space::kHost;
    case Layer::kArray:
      return Space::kArray;
    case Layer::kVmmPhysical:
      return Space::kPhysical;
    case Layer::kVmmAddress:
      return Space::kReservation;
    case Layer::kModule:
      return Space::kModule;
    case Layer::kMulticast:
      return Space::kMulticast;
    case Layer::kSegment:
      return Space::kSegment;
    case Layer::kBlock:
      return Space::kBlock;
    case Layer::kTensor:
      return Space::kTensor;
    case Layer::kUnspecified:
      return Space::kNowhere;
  }
  return Space::kNowhere;
}

Space SpaceOf(const AllocationRecord& allocation) {
  if (allocation.layer != Layer::kImported) return SpaceOf(allocation.layer);
  switch (allocation.import_kind) {
    case ImportKind::kPhysical:
      return Space::kPhysical;
    case ImportKind::kExternal:
    case ImportKind::kExternalArray:
    case ImportKind::kGraphics:
    case ImportKind::kGraphicsArray:
      return Space::kImport;
    default:
      return Space::kDevice;
  }
}

bool IsForeignFree(Layer freed, Layer by) {
  const auto is_linear = [](Layer layer) {
    return layer == Layer::kLinear || layer == Layer::kPitched || layer == Layer::kManaged;
  };
  if (freed == by || (is_linear(freed) && is_linear(by))) return false;
  if (freed == Layer::kImported) return !is_linear(by) && by != Layer::kStreamOrdered;
  return freed != Layer::kPinned || by != Layer::kStreamOrdered;
}

bool OwnedByContext(const AllocationRecord& allocation) {
  switch (allocation.layer) {
    case Layer::kLinear:
    case Layer::kPitched:
    case Layer::kManaged:
    case Layer::kArray:
    case Layer::kPinned:
    case Layer::kRegistered:
    case Layer::kModule:
      return true;
    case Layer::kImported:
      return allocation.import_kind != ImportKind::kPhysical;
    default:
      return false;
  }
}

}  // namespace memprof::analysis::lifetimes
