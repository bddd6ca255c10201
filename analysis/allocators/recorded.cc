// Reads requests, segments and what else was on the device from a log.
#include "analysis/allocators/recorded.h"

#include <map>
#include <memory>
#include <utility>

#include "analysis/allocators/internal/device_reader.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::allocators {
namespace {

// Hands births, deaths and other events to the readers of their devices.
class Reader {
 public:
  Reader(const Session& session, const RecordedOptions& options)
      : session_(session),
        stop_(options.stop),
        container_(session.records().size()),
        numbers_(session.records().size(), kNoNumber) {
    MakePlans();
    for (auto& [place, plan] : plans_) {
      readers_[place] = std::make_unique<DeviceReader>(session, plan, place.first, place.second,
                                                       options, &numbers_);
    }
  }

  bool Stop() const { return stop_.stop_requested(); }
  void Birth(EventId event, AllocationId id) {
    if (DeviceReader* reader = Of(session_.record(id))) {
      reader->Birth(id, container_[id.value]);
      reader->Stamp(event);
    }
    plain_ = true;
  }
  void Death(EventId event, AllocationId id) {
    if (DeviceReader* reader = Of(session_.record(id))) {
      reader->Death(id, container_[id.value]);
      reader->Stamp(event);
    }
    plain_ = true;
  }
  void After(EventId event) {
    if (std::exchange(plain_, false)) return;
    const int device = session_.events().device(event.value);
    const std::uint32_t process = session_.ProcessOf(event);
    for (auto& [place, reader] : readers_) {
      if (place.second != process) continue;
      if (device != kNoDevice && device != place.first) continue;
      reader->Other(event.value);
      reader->Stamp(event);
    }
  }

  std::vector<RecordedRun> Finish() {
    std::vector<RecordedRun> runs;
    for (auto& [place, reader] : readers_) {
      RecordedRun run = reader->Finish();
      if (!run.trace.blocks.empty()) runs.push_back(std::move(run));
    }
    return runs;
  }

 private:
  // A device as one process sees it.
  using Place = std::pair<int, std::uint32_t>;
  Place PlaceOf(const AllocationRecord& record) const {
    return {record.device, session_.ProcessOf(record.birth)};
  }
  DeviceReader* Of(const AllocationRecord& record) {
    const auto found = readers_.find(PlaceOf(record));
    return found == readers_.end() ? nullptr : found->second.get();
  }

  void MakePlans() {
    for (const AllocationRecord& record : session_.records()) {
      if (record.device == kNoDevice) continue;
      Plan& plan = plans_[PlaceOf(record)];
      if (record.layer == Layer::kBlock) ++plan.blocks;
      if (record.layer == Layer::kSegment) ++plan.segments;
      if (record.layer == Layer::kStreamOrdered) {
        plan.stream_ordered += record.bytes;
        ++plan.stream_ordered_requests;
      }
      if (IsDriverRequest(record.layer)) {
        plan.driver += record.bytes;
        ++plan.driver_requests;
      }
      if (record.layer != Layer::kSegment && record.layer != Layer::kBlock) continue;
      if (!record.parent.valid()) continue;
      container_[record.parent.value] = true;
      if (session_.record(record.parent).layer == Layer::kVmmAddress) plan.vmm_below = true;
    }
    for (auto& [place, plan] : plans_) {
      if (plan.blocks > 0) continue;
      plan.source = plan.stream_ordered >= plan.driver ? RequestSource::kStreamOrdered
                                                       : RequestSource::kDriver;
    }
  }

  const Session& session_;
  const std::stop_token stop_;
  std::vector<bool> container_;  // allocations that hold segments or blocks
  std::vector<std::uint32_t> numbers_;
  std::map<Place, Plan> plans_;
  std::map<Place, std::unique_ptr<DeviceReader>> readers_;
  bool plain_ = false;
};

}  // namespace

std::vector<RecordedRun> RecordedRuns(const Session& session, const RecordedOptions& options) {
  Reader reader(session, options);
  WalkLifetimes(session, reader);
  return reader.Finish();
}

void ExpectRecorded(const RecordedRun& run, Device* device) {
  for (const TraceRange& range : run.segments) device->ExpectAddress(range.bytes, range.address);
  for (const TraceRange& range : run.ranges)
    device->ExpectRange({.address = range.address, .bytes = range.bytes});
}

}  // namespace memprof::analysis::allocators
