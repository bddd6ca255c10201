// Finds each device's peak and tells what was live then.
#include "analysis/peak.h"

#include <algorithm>
#include <compare>
#include <map>

#include "analysis/replay.h"
#include "analysis/site_query.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kAllLayers = ~std::uint32_t{0};

// What one device holds: driver memory, blocks of it in use, tensors in these. Compared in that
// order.
struct Holding {
  std::uint64_t driver = 0, blocks = 0, tensors = 0;
  auto operator<=>(const Holding&) const = default;
};

struct PeakMark {
  Holding now, peak;
  EventId event;  // after which `peak` held; none while nothing of the device was allocated
  bool changed = false;
};

// Running sums of every device, and the event at which each was largest.
class PeakFinder {
 public:
  explicit PeakFinder(const Session& session) : session_(session) {}
  void Birth(EventId, AllocationId id) {
    const Allocation& a = session_.allocation(id);
    if (std::uint64_t* sum = Change(a)) *sum += a.bytes;
  }
  void Death(EventId, AllocationId id) {
    const Allocation& a = session_.allocation(id);
    if (std::uint64_t* sum = Change(a)) *sum -= a.bytes;
  }
  void After(EventId event) {
    for (PeakMark* mark : changed_) {
      mark->changed = false;
      // Only once driver memory was allocated: blocks alone are no memory of the device.
      if (mark->now.driver == 0 || mark->now <= mark->peak) continue;
      mark->peak = mark->now;
      mark->event = event;
    }
    changed_.clear();
  }
  const std::map<int, PeakMark>& marks() const { return marks_; }

 private:
  // The sum that `a` belongs to; null if to none.
  std::uint64_t* Change(const Allocation& a) {
    if (a.device == kNoDevice) return nullptr;
    const bool driver = OccupiesDevice(a.layer);
    if (!driver && a.layer != Layer::kBlock && a.layer != Layer::kTensor) return nullptr;
    PeakMark& mark = marks_[a.device];
    if (!mark.changed) changed_.push_back(&mark);
    mark.changed = true;
    if (driver) return &mark.now.driver;
    return a.layer == Layer::kBlock ? &mark.now.blocks : &mark.now.tensors;
  }

  const Session& session_;
  std::map<int, PeakMark> marks_;
  std::vector<PeakMark*> changed_;
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
