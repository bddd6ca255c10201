// Timelines of every device and of the host, built in one pass over the events.
#include "analysis/timeline/timeline.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>
#include <utility>

#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {
namespace {

// A running sum that becomes a Series: one sample for every event that changed it. Most devices
// have one kind of memory, which then equals their total and their reserve: a track that was equal
// to another one from the beginning has no samples of its own.
class Track {
 public:
  void Add(std::uint64_t bytes) { now_ += bytes; }
  void Remove(std::uint64_t bytes) { now_ -= bytes; }
  void Set(std::uint64_t bytes) { now_ = bytes; }
  std::uint64_t now() const { return now_; }
  void Sample(TimeNs time) {
    if (now_ == sampled_) return;
    sampled_ = now_;
    time_.push_back(time);
    value_.push_back(now_);
  }
  // As Sample, if `leader` was already sampled for this event; `leader` is always the same track.
  void Follow(TimeNs time, Track& leader) {
    if (!parted_ && now_ == leader.now_) {
      leader_ = &leader;
      sampled_ = now_;
      return;
    }
    if (!parted_) Part();
    Sample(time);
  }
  Series Finish() {
    if (!parted_ && leader_ != nullptr) return leader_->Finish();
    if (!time_.empty()) series_ = Series(std::exchange(time_, {}), std::exchange(value_, {}));
    return series_;
  }

 private:
  // From now on the track has samples of its own. Those so far are the leader's, except one of the
  // current event.
  void Part() {
    parted_ = true;
    if (leader_ == nullptr) return;
    const Track* source = leader_;
    while (!source->parted_ && source->leader_ != nullptr) source = source->leader_;
    time_ = source->time_;
    value_ = source->value_;
    if ((value_.empty() ? 0 : value_.back()) == sampled_) return;
    time_.pop_back();
    value_.pop_back();
  }

  std::uint64_t now_ = 0, sampled_ = 0;
  std::vector<TimeNs> time_;
  std::vector<std::uint64_t> value_;
  Track* leader_ = nullptr;  // equal to this one so far
  bool parted_ = false;
  Series series_;  // once finished
};

struct DeviceTracks {
  std::array<Track, kLayerCount> layer;
  Track total, reserved;
  Track* first = nullptr;    // the layer that held memory first, of those that count
  std::uint64_t beyond = 0;  // what pools hold
  bool touched = false;
};

struct PoolChange {
  std::uint32_t event = 0;
  int device = kNoDevice;
  std::uint64_t bytes = 0;
};

class Collector {
 public:
  explicit Collector(const Session& session) : session_(session), pools_(PoolsOf(session)) {
    for (const int device : DeviceOrdinals(session)) Of(device);
    for (const auto& [device, changes] : pools_->all())
      for (std::size_t i = 0; tracks_.contains(device) && i < changes.size(); ++i)
        pool_changes_.push_back({changes.event(i), device, changes.bytes(i)});
    std::sort(pool_changes_.begin(), pool_changes_.end(),
              [](const PoolChange& a, const PoolChange& b) {
                return std::tie(a.event, a.device) < std::tie(b.event, b.device);
              });
  }

  void Birth(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    DeviceTracks& tracks = Touch(a.device);
    Track& layer = tracks.layer[LayerSlot(a.layer)];
    layer.Add(a.bytes);
    if (!Counts(a)) return;
    if (tracks.first == nullptr) tracks.first = &layer;
    tracks.total.Add(a.bytes);
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session_.record(id);
    DeviceTracks& tracks = Touch(a.device);
    tracks.layer[LayerSlot(a.layer)].Remove(a.bytes);
    if (Counts(a)) tracks.total.Remove(a.bytes);
  }
  void After(EventId event) {
    for (; next_pool_ < pool_changes_.size() && pool_changes_[next_pool_].event == event.value;
         ++next_pool_) {
      const PoolChange& change = pool_changes_[next_pool_];
      Touch(change.device).beyond = change.bytes;
    }
    if (changed_.empty()) return;
    const TimeNs time = session_.events().time(event.value);
    for (DeviceTracks* tracks : changed_) {
      for (Track& track : tracks->layer) track.Sample(time);
      if (tracks->first != nullptr) tracks->total.Follow(time, *tracks->first);
      tracks->reserved.Set(tracks->total.now() + tracks->beyond);
      tracks->reserved.Follow(time, tracks->total);
      tracks->touched = false;
    }
    changed_.clear();
  }

  std::vector<DeviceTimeline> Finish() {
    std::vector<DeviceTimeline> timelines;
    for (auto& [device, tracks] : tracks_) {
      if (device != kNoDevice) timelines.push_back(FinishOne(device, *tracks));
    }
    if (const auto host = tracks_.find(kNoDevice); host != tracks_.end()) {
      timelines.push_back(FinishOne(kNoDevice, *host->second));
    }
    return timelines;
  }

 private:
  static std::size_t LayerSlot(Layer layer) {
    return std::min<std::size_t>(static_cast<std::size_t>(layer), kLayerCount - 1);
  }
  static bool Counts(const AllocationRecord& a) {
    return a.device == kNoDevice ? OccupiesHost(a.layer) : OccupiesDevice(a.layer);
  }
  DeviceTracks& Of(int device) {
    std::unique_ptr<DeviceTracks>& tracks = tracks_[device];
    if (!tracks) tracks = std::make_unique<DeviceTracks>();
    return *tracks;
  }
  DeviceTracks& Touch(int device) {
    DeviceTracks& tracks = Of(device);
    if (!tracks.touched) {
      tracks.touched = true;
      changed_.push_back(&tracks);
    }
    return tracks;
  }
  static DeviceTimeline FinishOne(int device, DeviceTracks& tracks) {
    DeviceTimeline timeline;
    timeline.device = device;
    for (int i = 0; i < kLayerCount; ++i) timeline.layer[i] = tracks.layer[i].Finish();
    timeline.total = tracks.total.Finish();
    timeline.reserved = tracks.reserved.Finish();
    timeline.framework_allocated = timeline.layer[static_cast<int>(Layer::kBlock)];
    timeline.framework_reserved = timeline.layer[static_cast<int>(Layer::kSegment)];
    timeline.tensors = timeline.layer[static_cast<int>(Layer::kTensor)];
    return timeline;
  }

  const Session& session_;
  std::shared_ptr<const DevicePools> pools_;
  std::vector<PoolChange> pool_changes_;  // of all devices, in order of events
  std::size_t next_pool_ = 0;
  std::map<int, std::unique_ptr<DeviceTracks>> tracks_;
  std::vector<DeviceTracks*> changed_;
};

}  // namespace

std::vector<DeviceTimeline> BuildTimelines(const Session& session) {
  Collector collector(session);
  WalkLifetimes(session, collector);
  return collector.Finish();
}

std::shared_ptr<const DeviceTimelines> TimelinesOf(const Session& session) {
  return session.facts().Get<DeviceTimelines>([&] { return BuildTimelines(session); });
}

}  // namespace memprof::analysis
