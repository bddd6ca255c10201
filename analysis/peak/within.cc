// Follows the memory in use through the times of ranges.
#include "analysis/peak/within.h"

#include <algorithm>
#include <map>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "analysis/peak/run_profile.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// The times of one name, those that overlap joined.
std::vector<TimeWindow> OpenTimesOf(const Session& session, const std::string& name) {
  std::vector<TimeWindow> times;
  for (const RangeInfo& range : session.ranges()) {  // in order of begin
    if (session.string(range.name) != name) continue;
    if (!times.empty() && range.begin <= times.back().end)
      times.back().end = std::max(times.back().end, range.end);
    else
      times.push_back({range.begin, range.end});
  }
  return times;
}

std::vector<TimeWindow> Both(const std::vector<TimeWindow>& a, const std::vector<TimeWindow>& b) {
  std::vector<TimeWindow> times;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const TimeWindow both{std::max(a[i].begin, b[k].begin), std::min(a[i].end, b[k].end)};
    if (both.begin <= both.end) times.push_back(both);
    a[i].end < b[k].end ? ++i : ++k;
  }
  return times;
}

// A visitor of WalkLifetimes.
class WithinWalk {
 public:
  WithinWalk(const Session& session, const std::vector<TimeWindow>& times)
      : session_(session), leaf_(session), times_(times) {}

  void Birth(EventId, AllocationId id) { Change(id, true); }
  void Death(EventId, AllocationId id) { Change(id, false); }
  // What is held after an event is held until the next one.
  void After(EventId event) {
    const EventTable& events = session_.events();
    while (time_ < times_.size() && times_[time_].end < events.time(event.value)) ++time_;
    if (time_ == times_.size()) return;
    const bool last = event.value + 1 == events.size();
    if (!last && events.time(event.value + 1) <= times_[time_].begin) return;
    for (auto& [device, held] : held_) {
      UsePeak& peak = held.peak;
      peak.driver = std::max(peak.driver, held.driver);
      if (held.in_use <= peak.in_use) continue;
      peak.in_use = held.in_use;
      peak.event = event;
    }
  }
  std::vector<UsePeak> Take() const {
    std::vector<UsePeak> peaks;
    for (const auto& [device, held] : held_)
      if (held.peak.event.valid()) peaks.push_back(held.peak);
    return peaks;
  }

 private:
  struct Held {
    std::uint64_t in_use = 0, driver = 0;
    UsePeak peak;
  };
  void Change(AllocationId id, bool birth) {
    const AllocationRecord& a = session_.record(id);
    const bool counts = leaf_.Counts(id), driver = OccupiesDevice(a.layer);
    if (a.device == kNoDevice || (!counts && !driver)) return;
    Held& held = held_[a.device];
    held.peak.device = a.device;
    const std::uint64_t change = birth ? a.bytes : 0 - a.bytes;  // wraps around, as the sums do
    if (counts) held.in_use += change;
    if (driver) held.driver += change;
  }

  const Session& session_;
  const LeafMemory leaf_;
  const std::vector<TimeWindow>& times_;
  std::size_t time_ = 0;  // the first that has not ended
  std::map<int, Held> held_;
};

}  // namespace

absl::StatusOr<std::vector<TimeWindow>> OpenTimes(const Session& session,
                                                  const std::vector<std::string>& names) {
  std::vector<TimeWindow> times{{.begin = 0, .end = kForever}};
  for (const std::string& name : names) {
    const std::vector<TimeWindow> open = OpenTimesOf(session, name);
    if (open.empty())
      return absl::NotFoundError(
          absl::StrCat(session.path(), ": no range has the name '", name, "'"));
    times = Both(times, open);
  }
  return times;
}

std::vector<UsePeak> PeaksWithin(const Session& session, const std::vector<TimeWindow>& times) {
  WithinWalk walk(session, times);
  WalkLifetimes(session, walk);
  return walk.Take();
}

std::vector<AllocationId> InUseAfter(const Session& session, int device, EventId event) {
  const LeafMemory leaf(session);
  std::vector<AllocationId> ids = session.LiveAfter(event);
  std::erase_if(ids, [&](AllocationId id) {
    return session.record(id).device != device || !leaf.Counts(id);
  });
  return ids;
}

}  // namespace memprof::analysis
