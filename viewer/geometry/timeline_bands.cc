// What the timeline stacks: a device's memory split into bands that add up.
#include "viewer/geometry/timeline_bands.h"

#include <algorithm>
#include <utility>

namespace memprof::viewer {
namespace {

using analysis::DeviceTimeline;
using analysis::Layer;
using analysis::Series;
using analysis::TimeNs;

// combine(a(t), b(t)) for all t: a merge of the two step functions, equal values run together.
template <typename Combine>
Series Merge(const Series& a, const Series& b, Combine combine) {
  std::vector<TimeNs> times;
  std::vector<std::uint64_t> values;
  times.reserve(a.times().size() + b.times().size());
  values.reserve(times.capacity());
  std::size_t i = 0, j = 0;
  std::uint64_t value_a = 0, value_b = 0;
  while (i < a.times().size() || j < b.times().size()) {
    const TimeNs next_a = i < a.times().size() ? a.times()[i] : analysis::kForever;
    const TimeNs next_b = j < b.times().size() ? b.times()[j] : analysis::kForever;
    const TimeNs now = std::min(next_a, next_b);
    // One change of each at a time, also within one instant: a maximum there must not be lost.
    if (next_a == now) value_a = a.values()[i++];
    if (next_b == now) value_b = b.values()[j++];
    const std::uint64_t value = combine(value_a, value_b);
    if (!values.empty() && values.back() == value) continue;
    if (values.empty() && value == 0) continue;
    times.push_back(now);
    values.push_back(value);
  }
  return Series(std::move(times), std::move(values));
}

struct DriverLayer {
  Layer layer;
  BandRole role;
  const char* name;
  const char* help;
};

constexpr DriverLayer kDriverLayers[] = {
    {Layer::kLinear, BandRole::kLinear, "Driver allocations",
     "Memory from cudaMalloc and cuMemAlloc."},
    {Layer::kPitched, BandRole::kPitched, "Pitched", "Memory from cudaMallocPitch and its kin."},
    {Layer::kArray, BandRole::kArray, "Arrays", "CUDA arrays and mipmapped arrays."},
    {Layer::kManaged, BandRole::kManaged, "Managed", "Unified memory from cudaMallocManaged."},
    {Layer::kStreamOrdered, BandRole::kStreamOrdered, "Stream-ordered",
     "Memory from cudaMallocAsync."},
    {Layer::kVmmPhysical, BandRole::kVmm, "VMM", "Physical memory from cuMemCreate."},
    {Layer::kGraph, BandRole::kGraph, "Graphs", "Memory of CUDA graph allocation nodes."},
};

const Series& LayerSeries(const DeviceTimeline& timeline, Layer layer) {
  return timeline.layer[static_cast<std::size_t>(layer)];
}

// Adds the band between the uppermost edge so far and `edge`, which nowhere lies below it. Bands
// are differences of edges, and not the other way round, so that the maximum of an edge is exact.
void AddBand(TimelineBands& out, BandRole role, const char* name, const char* help,
             const Series& edge) {
  Series series = out.bands.empty() ? edge : Subtract(edge, out.bands.back().edge);
  if (series.empty() || series.max() == 0) return;
  out.bands.push_back(
      {role, QString::fromUtf8(name), QString::fromUtf8(help), std::move(series), edge});
}

constexpr const char* kTensorsHelp = "Live tensors, as the program named them.";

// Returns the uppermost edge.
Series AddFramework(TimelineBands& out, const DeviceTimeline& timeline) {
  AddBand(out, BandRole::kTensors, "Tensors", kTensorsHelp,
          Minimum(timeline.tensors, timeline.framework_allocated));
  AddBand(
      out, BandRole::kBlocks, "Blocks without tensor",
      "In use by the framework's allocator, but no tensor is known there: workspaces, rounding.",
      timeline.framework_allocated);
  const Series held = Maximum(timeline.framework_allocated, timeline.framework_reserved);
  AddBand(out, BandRole::kCached, "Cached in segments",
          "Held by the framework's allocator, free inside: it can be used again by this framework "
          "only.",
          held);
  const Series all = Maximum(held, timeline.total);
  AddBand(out, BandRole::kLinear, "Other driver memory",
          "Asked of the driver by code other than the framework's allocator.", all);
  return all;
}

// Tensors that lie straight in driver memory are taken out of the layers, lowest layer first.
Series AddDriver(TimelineBands& out, const DeviceTimeline& timeline) {
  const Series tensors = Minimum(timeline.tensors, timeline.total);
  AddBand(out, BandRole::kTensors, "Tensors", kTensorsHelp, tensors);
  Series layers;
  for (const DriverLayer& layer : kDriverLayers) {
    const Series& series = LayerSeries(timeline, layer.layer);
    if (series.empty()) continue;
    layers = Sum(layers, series);
    AddBand(out, layer.role, layer.name, layer.help, Maximum(tensors, layers));
  }
  return Maximum(tensors, layers);
}

}  // namespace

// What is equal shares its samples: with millions of them that is most of a window's memory.
Series Subtract(const Series& a, const Series& b) {
  if (b.empty()) return a;
  if (a.IsCopyOf(b)) return Series();
  return Merge(a, b, [](std::uint64_t x, std::uint64_t y) { return x > y ? x - y : 0; });
}

Series Minimum(const Series& a, const Series& b) {
  if (a.empty() || a.IsCopyOf(b)) return a;
  if (b.empty()) return b;
  return Merge(a, b, [](std::uint64_t x, std::uint64_t y) { return std::min(x, y); });
}

Series Maximum(const Series& a, const Series& b) {
  if (b.empty() || a.IsCopyOf(b)) return a;
  if (a.empty()) return b;
  return Merge(a, b, [](std::uint64_t x, std::uint64_t y) { return std::max(x, y); });
}

Series Sum(const Series& a, const Series& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  return Merge(a, b, [](std::uint64_t x, std::uint64_t y) { return x + y; });
}

TimelineBands MakeBands(const DeviceTimeline& timeline) {
  TimelineBands out;
  out.device = timeline.device;
  if (timeline.device == analysis::kNoDevice) {
    const Series& pinned = LayerSeries(timeline, Layer::kPinned);
    out.allocated = Sum(pinned, LayerSeries(timeline, Layer::kRegistered));
    AddBand(out, BandRole::kPinned, "Pinned", "Page-locked host memory.", pinned);
    AddBand(out, BandRole::kRegistered, "Registered", "Host memory registered with the driver.",
            out.allocated);
    out.top = out.allocated;
    out.in_use = out.allocated;
    return out;
  }
  out.framework = !timeline.framework_reserved.empty() && timeline.framework_reserved.max() > 0;
  const Series asked = out.framework ? AddFramework(out, timeline) : AddDriver(out, timeline);
  out.top = Maximum(asked, timeline.reserved);
  AddBand(out, BandRole::kPool, "Held by driver pools",
          "Kept by stream-ordered pools and VMM beyond what the program asked for.", out.top);
  out.allocated = timeline.total;
  out.in_use = out.framework ? timeline.framework_allocated : timeline.total;
  return out;
}

}  // namespace memprof::viewer
