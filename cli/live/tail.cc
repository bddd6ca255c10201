#include "cli/live/internal/tail.h"

#include <algorithm>

#include "analysis/log/decode.h"
#include "analysis/log/reader.h"

namespace memprof::cli {
namespace {

using analysis::Layer;
using analysis::Op;
using analysis::TimeNs;

// Addresses of one space mean one allocation. The driver frees linear, pitched, managed and
// stream-ordered memory by any of its functions.
int SpaceOf(Layer layer) {
  if (layer == Layer::kBlock) return 1;
  if (layer == Layer::kArray || layer == Layer::kVmmPhysical) return static_cast<int>(layer);
  return 0;
}

bool Counts(Layer layer) { return layer == Layer::kBlock || OccupiesDevice(layer); }

// The value holds from `time` on; the curve gets its points up to there.
void Continue(TimeNs time, std::uint64_t before, std::uint64_t after, LiveDevice* device) {
  const std::uint64_t slot = time / kLiveSlot;
  while (device->curve_end <= slot) {
    device->curve.emplace_back(before, before);
    ++device->curve_end;
  }
  if (device->curve.size() > kLivePoints)
    device->curve.erase(device->curve.begin(), device->curve.end() - kLivePoints);
  auto& [least, most] = device->curve.back();
  least = std::min(least, after);
  most = std::max(most, after);
}

}  // namespace

LogTail::LogTail(const analysis::Session& session, std::uint64_t end)
    : end_(end),
      start_(session.run().start_time),
      known_(session.run().end_time),
      marks_(session.step_origin().source == analysis::StepSource::kMarks) {
  const auto steps = session.StepsOf(0);
  for (std::size_t i = steps.size() - std::min(steps.size(), kLiveRecentSteps + 1);
       i < steps.size(); ++i)
    steps_.push_back(steps[i].begin);
  if (session.events().size() == 0) return;
  const analysis::EventId last(static_cast<std::uint32_t>(session.events().size() - 1));
  for (const analysis::AllocationId id :
       session.LiveAfter(last, analysis::kDeviceLayers | analysis::LayerBit(Layer::kBlock))) {
    const analysis::Allocation a = session.allocation(id);
    live_[{SpaceOf(a.layer), a.address}] = {a.device, a.bytes};
    (a.layer == Layer::kBlock ? devices_[a.device].blocks : devices_[a.device].driver) += a.bytes;
  }
}

bool LogTail::Read(const std::string& path, LiveProcess* figures) {
  // What lives on comes late, and another log begins now and then; such logs are small.
  if (!figures->sampling.empty()) return false;
  const auto log = analysis::LogReader::Open(path, analysis::LogReader::Mode::kScan, end_);
  if (!log.ok() || (*log)->file_bytes() < end_) return false;
  analysis::PayloadBuffer buffer;
  analysis::EventColumns events;
  changes_.clear();
  for (const analysis::Chunk& chunk : (*log)->chunks()) {
    if (chunk.kind() == log::ChunkKind::kTrailer) return false;
    end_ = chunk.end();
    if (chunk.kind() != log::ChunkKind::kEvents) continue;
    const auto payload = (*log)->ReadPayload(chunk, &buffer);
    std::uint64_t unknown = 0;
    if (payload.ok() && DecodeEvents(*payload, chunk.frame.events, &events, &unknown))
      Collect(events);
  }
  Apply(figures);
  return true;
}

void LogTail::Collect(const analysis::EventColumns& events) {
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Op op = events.op[i];
    changes_.push_back({events.time[i], op, events.layer[i], events.device[i], events.address[i],
                        op == Op::kStep ? events.aux0[i] : events.bytes[i]});
  }
}

// Of events at the same time, frees come first, as in analysis/load.
void LogTail::Apply(LiveProcess* figures) {
  std::stable_sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) {
    return std::pair(a.time, a.op != Op::kFree) < std::pair(b.time, b.op != Op::kFree);
  });
  for (const Change& change : changes_) {
    if (change.time > start_)
      figures->last_event = std::max(figures->last_event, change.time - start_);
    if (change.op == Op::kStep) ApplyStep(change, figures);
    if (change.op == Op::kAlloc || change.op == Op::kFree) ApplyMemory(change, figures);
  }
  for (LiveDevice& device : figures->devices)
    Continue(figures->last_event, device.allocated, device.allocated, &device);
}

void LogTail::ApplyStep(const Change& change, LiveProcess* figures) {
  const auto number = static_cast<std::int64_t>(change.bytes);
  if (!marks_ || change.time <= known_ || number == figures->step) return;
  steps_.push_back(change.time);
  if (steps_.size() > kLiveRecentSteps + 1) steps_.erase(steps_.begin());
  figures->step = number;
  ++figures->steps;
  figures->steps_per_second = LiveStepRate(steps_);
}

void LogTail::ApplyMemory(const Change& change, LiveProcess* figures) {
  const bool birth = change.op == Op::kAlloc;
  // The end of a tensor or a segment is not that of the memory at its address.
  if (!Counts(change.layer) && (birth || change.layer != Layer::kUnspecified)) return;
  const std::pair key(SpaceOf(change.layer), change.address);
  const auto old = live_.find(key);
  if (!birth && old == live_.end()) return;
  const int number = old != live_.end() ? old->second.device : change.device;
  Device& device = devices_[number];
  const Device before = device;
  std::uint64_t& sum = change.layer == Layer::kBlock ? device.blocks : device.driver;
  if (old != live_.end()) {
    sum -= old->second.bytes;
    live_.erase(old);
  }
  if (birth) {
    sum += change.bytes;
    live_[key] = {number, change.bytes};
  }
  for (LiveDevice& shown : figures->devices) {
    if (shown.device != number) continue;
    const std::uint64_t allocated = shown.allocated;
    const std::uint64_t more_driver = device.driver - before.driver;  // modulo 2^64
    shown.reserved += more_driver;
    shown.used += more_driver;
    shown.allocated += shown.framework ? device.blocks - before.blocks : more_driver;
    if (change.time <= known_) continue;  // what the session had, once more
    shown.peak = std::max(shown.peak, shown.allocated);
    Continue(change.time - start_, allocated, shown.allocated, &shown);
  }
}

}  // namespace memprof::cli
