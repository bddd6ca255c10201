// A step that held more when it failed than any step before it did at its highest, or than the last
// one did at that call.
#include <algorithm>

#include "analysis/oom/internal/scene_parts.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::oom {
namespace {

// Follows what the device holds, of the kind that failed.
class Holding {
 public:
  // `highest` is of the events in [from, to).
  Holding(const Scene& scene, EventId from, EventId to)
      : session_(*scene.session), request_(scene.request), from_(from), to_(to) {}

  void Birth(EventId event, AllocationId id) {
    live_ += BytesOf(id);
    if (event >= from_ && event < to_) highest_ = std::max(highest_, live_);
  }
  void Death(EventId, AllocationId id) { live_ -= BytesOf(id); }
  void After(EventId) {}

  std::uint64_t live() const { return live_; }
  std::uint64_t highest() const { return highest_; }

 private:
  std::uint64_t BytesOf(AllocationId id) const {
    const AllocationRecord& a = session_.record(id);
    const bool counts = request_.framework ? a.layer == Layer::kBlock : OccupiesDevice(a.layer);
    return counts && a.device == request_.device ? a.bytes : 0;
  }

  const Session& session_;
  const FailedRequest& request_;
  const EventId from_, to_;
  std::uint64_t live_ = 0, highest_ = 0;
};

}  // namespace

void FindLargerStep(const Scene& scene, const SiteGroups& groups, FailureReport* report) {
  const Session& session = *scene.session;
  const EventId failure = scene.request.event;
  if (report->compared_step < 0) return;
  EventId first, now;  // steps
  for (const StepInfo& step : StepsOf(scene)) {
    if (!step.event.valid() || step.event > failure) continue;
    if (!first.valid()) first = step.event;
    now = step.event;
  }
  if (!now.valid()) return;
  Holding holding(scene, first, now);
  WalkLifetimes(session, EventId(0), failure, holding);
  LargerStep larger{.live = holding.live(), .highest_before = holding.highest()};
  const auto exceeds = [&scene](std::uint64_t bytes, std::uint64_t before) {
    return before > 0 && bytes >= before + std::max(scene.need(), before / 4);
  };
  if (!exceeds(larger.live, larger.highest_before)) {
    // The step did not hold more than the highest before it. It still counts as larger if it held
    // more than the last step at the same call, and if the request would have made it the highest.
    const bool new_high = larger.live + scene.request.bytes > larger.highest_before;
    if (!report->same_call || !new_high || !exceeds(report->live_after, report->live_before))
      return;
    larger.highest_before = 0;
  }
  for (const SiteChange& change : report->changes) {
    if (change.after <= change.before + larger.more) continue;
    larger.more = change.after - change.before;
    larger.site = groups.Site(change.site).user;
  }
  if (larger.more > 0) report->larger_step = std::move(larger);
}

}  // namespace memprof::analysis::oom
