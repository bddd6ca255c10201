// Finds each device's peak and tells what was live then.
#include "analysis/peak.h"

#include <algorithm>
#include <map>

#include "analysis/replay.h"
#include "analysis/site_query.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kAllLayers = ~std::uint32_t{0};

struct PeakMark {
  std::uint64_t now = 0, peak = 0;
  EventId event;  // of the maximum; none while nothing of the device was allocated
  bool changed = false;
};

// Running total of every device, and the event at which each was largest.
class PeakFinder {
 public:
  explicit PeakFinder(const Session& session) : session_(session) {}
  void Birth(EventId, AllocationId id) { Change(id, true); }
  void Death(EventId, AllocationId id) { Change(id, false); }
  void After(EventId event) {
    if (changed_ == nullptr) return;
    if (changed_->now > changed_->peak) {
      changed_->peak = changed_->now;
      changed_->event = event;
    }
    changed_ = nullptr;
  }
  const std::map<int, PeakMark>& marks() const { return marks_; }

 private:
  void Change(AllocationId id, bool birth) {
    const Allocation& a = session_.allocation(id);
    if (a.device == kNoDevice || !OccupiesDevice(a.layer)) return;
    PeakMark& mark = marks_[a.device];
    if (birth) {
      mark.now += a.bytes;
      changed_ = &mark;  // at most one birth of a device layer per event
    } else {
      mark.now -= a.bytes;
    }
  }

  const Session& session_;
  std::map<int, PeakMark> marks_;
  PeakMark* changed_ = nullptr;
};

void SortBySize(const Session& session, std::vector<AllocationId>& ids) {
  std::stable_sort(ids.begin(), ids.end(), [&session](AllocationId a, AllocationId b) {
    return session.allocation(a).bytes > session.allocation(b).bytes;
  });
}

Peak DescribeAfter(const Session& session, int device, EventId event) {
  Peak peak;
  peak.device = device;
  peak.event = event;
  if (event.valid() && event.value < session.events().size()) {
    peak.time = session.events().time[event.value];
    peak.step = session.StepAt(peak.time);
  }
  std::vector<AllocationId> in_total;
  for (const AllocationId id : session.LiveAfter(event, kAllLayers)) {
    const Allocation& a = session.allocation(id);
    if (a.device != device) continue;
    const auto layer = static_cast<std::size_t>(a.layer);
    if (layer < peak.by_layer.size()) peak.by_layer[layer] += a.bytes;
    if (OccupiesDevice(a.layer)) {
      peak.bytes += a.bytes;
      in_total.push_back(id);
    } else if (a.layer == Layer::kTensor) {
      peak.tensors.push_back(id);
    } else if (a.layer == Layer::kBlock) {
      peak.blocks.push_back(id);
    }
  }
  peak.sites = GroupBySite(session, in_total, false);
  SortBySize(session, peak.tensors);
  SortBySize(session, peak.blocks);
  return peak;
}

}  // namespace

std::vector<Peak> FindPeaks(const Session& session) {
  PeakFinder finder(session);
  ReplayLifetimes(session, finder);
  std::vector<Peak> peaks;
  for (const auto& [device, mark] : finder.marks()) {
    peaks.push_back(DescribeAfter(session, device, mark.event));
  }
  return peaks;
}

Peak DescribeInstant(const Session& session, int device, TimeNs time) {
  Peak peak = DescribeAfter(session, device, session.EventAt(time));
  if (time != kForever) {
    peak.time = time;
    peak.step = session.StepAt(time);
  }
  return peak;
}

}  // namespace memprof::analysis
