// Patterns of memory that the host has a part in: page-locked and managed memory.
#include <algorithm>
#include <map>
#include <vector>

#include "analysis/advice/internal/drafts.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::advice {
namespace {

// Page-locked bytes at their highest.
struct HostPeak {
  const Session& session;
  std::uint64_t now = 0, peak = 0;
  EventId event;

  void Birth(EventId, AllocationId id) {
    const AllocationRecord& a = session.record(id);
    if (OccupiesHost(a.layer)) now += a.bytes;
  }
  void Death(EventId, AllocationId id) {
    const AllocationRecord& a = session.record(id);
    if (OccupiesHost(a.layer)) now -= a.bytes;
  }
  void After(EventId e) {
    if (now <= peak) return;
    peak = now;
    event = e;
  }
};

void FindUnusedPinned(Drafts& drafts) {
  std::map<std::uint32_t, std::vector<EventId>> copies;  // by process
  for (const Accesses::Copy& copy : drafts.accesses().copies())
    copies[drafts.session().ProcessOf(copy.event)].push_back(copy.event);
  if (copies.empty()) return;
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (a.layer != Layer::kPinned || !drafts.accesses().Of(AllocationId(i)).empty()) continue;
    // If nothing was copied during its lifetime, this says nothing about pinning.
    const std::vector<EventId>& of_process = copies[drafts.session().ProcessOf(a.birth)];
    const auto next = std::upper_bound(of_process.begin(), of_process.end(), a.birth);
    if (next == of_process.end() || (a.death.valid() && *next > a.death)) continue;
    Draft& draft = drafts.At(Pattern::kPinnedUnused, a);
    drafts.Count(draft, a.bytes, {a.birth, AllocationId(i), {}, {}});
    const TimeNs time = drafts.Between(a.birth, a.death);
    draft.gap += time;
    draft.finding.byte_seconds += static_cast<double>(a.bytes) * static_cast<double>(time) * 1e-9;
    Weaken(draft, Confidence::kPossible);
  }
}

void FindHugePinned(Drafts& drafts) {
  std::uint64_t capacity = 0;
  for (const DeviceInfo& device : drafts.session().devices()) capacity += device.capacity_bytes;
  HostPeak host{drafts.session()};
  WalkLifetimes(drafts.session(), host);
  if (capacity == 0 || host.peak <= capacity) return;
  Draft& draft = drafts.At(Pattern::kPinnedHuge, kNoDevice, Layer::kPinned, StackId());
  drafts.Count(draft, host.peak, {host.event, {}, {}, {}});
  draft.other = capacity;
  Weaken(draft, Confidence::kPossible);
}

}  // namespace

void FindPinnedMisuse(Drafts& drafts) {
  FindUnusedPinned(drafts);
  FindHugePinned(drafts);
}

void FindManagedFaults(Drafts& drafts) {
  const auto records = drafts.session().records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    const AllocationRecord& a = records[i];
    if (a.layer != Layer::kManaged) continue;
    const std::span<const Access> uses = drafts.accesses().Of(id);
    const auto kernel = std::find_if(uses.begin(), uses.end(),
                                     [](const Access& use) { return use.use == Use::kKernel; });
    if (kernel == uses.end()) continue;
    const auto marks = drafts.session().Marks(id);
    const bool advised = std::any_of(marks.begin(), marks.end(), [&](EventId mark) {
      const Op op = drafts.events().op(mark.value);
      return (op == Op::kPrefetch || op == Op::kAdvise) && mark < kernel->event;
    });
    if (advised) continue;
    Draft& draft = drafts.At(Pattern::kManagedFaults, a);
    drafts.Count(draft, a.bytes, {kernel->event, id, {}, {}});
    draft.finding.moved_bytes += a.bytes;
    Weaken(draft, Confidence::kPossible);
  }
}

}  // namespace memprof::analysis::advice
