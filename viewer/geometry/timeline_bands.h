// What the timeline stacks: a device's memory split into bands that add up. Pure; thread-safe.
#pragma once

#include <QString>
#include <vector>

#include "analysis/timeline.h"

namespace memprof::viewer {

// Decides a band's colour and texture, the same in every log.
enum class BandRole {
  kTensors,  // live tensors
  kBlocks,   // in use by the framework's allocator, but no tensor known for it
  kCached,   // in segments of the framework, no block there
  kLinear,
  kPitched,
  kArray,
  kManaged,
  kStreamOrdered,
  kVmm,
  kGraph,  // straight from the driver
  kPool,   // held by the driver's pools and VMM beyond what was asked
  kPinned,
  kRegistered,  // host memory
};

struct Band {
  BandRole role = BandRole::kLinear;
  QString name;
  QString help;  // one sentence: what counts here
  analysis::Series series;
  analysis::Series edge;  // this band and all below it: where its upper edge is drawn
};

// One device's stack, bottom band first. At every instant the bands add up to `top`.
struct TimelineBands {
  int device = 0;  // analysis::kNoDevice: host memory
  std::vector<Band> bands;
  analysis::Series top;
  analysis::Series allocated;  // what the device's peak is measured on: driver bytes as requested
  analysis::Series in_use;     // the framework's live blocks where it was seen, else `allocated`
  bool framework = false;      // a framework's allocator was seen on this device
};

// max(a - b, 0), min(a, b), max(a, b) and a + b at every instant.
analysis::Series Subtract(const analysis::Series& a, const analysis::Series& b);
analysis::Series Minimum(const analysis::Series& a, const analysis::Series& b);
analysis::Series Maximum(const analysis::Series& a, const analysis::Series& b);
analysis::Series Sum(const analysis::Series& a, const analysis::Series& b);

// With a framework: tensors, other blocks, cached, other driver memory. Without: tensors and the
// rest by driver layer. Bands that are zero throughout are left out.
TimelineBands MakeBands(const analysis::DeviceTimeline& timeline);

}  // namespace memprof::viewer
