// Finds each device's peak, and describes the memory live then.
#include "analysis/peak/peak.h"

#include <algorithm>
#include <map>
#include <span>

#include "analysis/peak/finder.h"
#include "analysis/peak/internal/site_query.h"

namespace memprof::analysis {
namespace {

constexpr std::uint32_t kAllLayers = ~std::uint32_t{0};

// The sums of a device: 0 = driver memory, 1 = blocks in use, 2 = tensors, 3 = none.
std::size_t SumOf(const AllocationRecord& a) {
  if (OccupiesDevice(a.layer)) return 0;
  if (a.layer == Layer::kBlock) return 1;
  return a.layer == Layer::kTensor ? 2 : 3;
}

void SortBySize(const Session& session, std::vector<AllocationId>& ids) {
  std::stable_sort(ids.begin(), ids.end(), [&session](AllocationId a, AllocationId b) {
    return session.record(a).bytes > session.record(b).bytes;
  });
}

// `live`: live allocations, of this device or of others.
Peak Describe(const Session& session, int device, EventId event,
              std::span<const AllocationId> live) {
  Peak peak;
  peak.device = device;
  peak.event = event;
  if (event.valid() && event.value < session.events().size()) {
    peak.time = session.events().time(event.value);
    peak.step = session.StepOf(event);
  }
  std::vector<AllocationId> in_total;
  for (const AllocationId id : live) {
    const AllocationRecord& a = session.record(id);
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
  const PeakFinder<3> finder(session, SumOf);
  // In one go: a log may name a thousand devices.
  std::map<int, std::vector<AllocationId>> live;
  const std::span<const AllocationRecord> records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    const auto mark = finder.marks().find(a.device);
    if (mark == finder.marks().end() || !mark->second.event.valid()) continue;
    const std::uint32_t event = mark->second.event.value;
    if (a.birth.value <= event && a.death.value > event) live[a.device].push_back(AllocationId(i));
  }
  std::vector<Peak> peaks;
  for (const auto& [device, mark] : finder.marks())
    peaks.push_back(Describe(session, device, mark.event, live[device]));
  return peaks;
}

std::shared_ptr<const std::vector<Peak>> PeaksOf(const Session& session) {
  return session.facts().Get<std::vector<Peak>>([&] { return FindPeaks(session); });
}

Peak DescribeInstant(const Session& session, int device, TimeNs time) {
  const EventId event = session.EventAt(time);
  Peak peak = Describe(session, device, event, session.LiveAfter(event, kAllLayers));
  if (time != kForever) {
    peak.time = time;
    peak.step = session.StepAt(time);
  }
  return peak;
}

}  // namespace memprof::analysis
