// The changes of one step before a failure: live memory by site, now and at the same point of the
// previous step.
#include <algorithm>
#include <unordered_map>

#include "analysis/oom/internal/scene_parts.h"

namespace memprof::analysis::oom {
namespace {

const StepInfo* StepNumbered(const Scene& scene, std::int64_t number) {
  for (const StepInfo& step : StepsOf(scene))
    if (step.number == number) return &step;
  return nullptr;
}

// The allocations of `site` in [begin, end) of the kind that failed: events in order.
std::vector<EventId> CallsOf(const Scene& scene, SiteGroups& groups, std::uint32_t site,
                             TimeNs begin, EventId end) {
  const EventTable& events = scene.session->events();
  const FailedRequest& request = scene.request;
  std::vector<EventId> calls;
  const EventId before = begin == 0 ? EventId() : scene.session->EventAt(begin - 1);
  for (std::uint32_t e = before.valid() ? before.value + 1 : 0; e < events.size(); ++e) {
    if (EventId(e) >= end) break;
    if (events.op(e) != Op::kAlloc || events.device(e) != request.device) continue;
    const Layer layer = events.layer(e);
    if (request.framework ? layer != Layer::kBlock : layer != request.layer) continue;
    if (groups.Of(events.stack(e)) == site) calls.push_back(EventId(e));
  }
  return calls;
}

// Live memory by site as the report counts it: blocks, and driver memory that nothing lies in.
std::unordered_map<std::uint32_t, std::uint64_t> LiveBySite(const Session& session,
                                                            SiteGroups& groups, int device,
                                                            EventId event) {
  std::unordered_map<std::uint32_t, std::uint64_t> live;
  const std::uint32_t layers = kDeviceLayers | LayerBit(Layer::kBlock) | LayerBit(Layer::kSegment);
  const std::vector<AllocationId> ids = session.LiveAfter(event, layers);
  std::vector<std::uint32_t> suballocated;  // driver memory that an allocator divides
  for (const AllocationId id : ids) {
    const AllocationRecord& a = session.record(id);
    if (!OccupiesDevice(a.layer) && a.parent.valid()) suballocated.push_back(a.parent.value);
  }
  std::sort(suballocated.begin(), suballocated.end());
  for (const AllocationId id : ids) {
    const AllocationRecord& a = session.record(id);
    if (a.device != device || a.layer == Layer::kSegment ||
        (OccupiesDevice(a.layer) &&
         std::binary_search(suballocated.begin(), suballocated.end(), id.value)))
      continue;
    live[groups.Of(a.stack)] += a.bytes;
  }
  return live;
}

}  // namespace

void CompareWithStepBefore(const Scene& scene, SiteGroups& groups, FailureReport& report) {
  const Session& session = *scene.session;
  const FailedRequest& request = scene.request;
  if (request.device == kNoDevice || request.step < 0) return;
  const StepInfo* now = StepNumbered(scene, request.step);
  const StepInfo* before = nullptr;
  for (const StepInfo& step : StepsOf(scene))
    if (now != nullptr && step.begin < now->begin) before = &step;
  if (before == nullptr) return;
  report.compared_step = before->number;
  EventId then = session.EventAt(before->end > before->begin ? before->end - 1 : before->begin);
  if (request.stack.valid()) {
    const std::uint32_t site = groups.OfSite(report.site, request.stack);
    // The call with the same number in the step before; compared with the instant before it
    // succeeded.
    const std::size_t number = CallsOf(scene, groups, site, now->begin, request.event).size();
    const std::vector<EventId> calls =
        CallsOf(scene, groups, site, before->begin, EventId(now->event.value));
    if (number < calls.size() && calls[number].value > 0) {
      then = EventId(calls[number].value - 1);
      report.same_call = true;
    }
  }
  const auto old_live = LiveBySite(session, groups, request.device, then);
  const auto new_live = LiveBySite(session, groups, request.device, request.event);
  for (const auto& [place, bytes] : new_live) {
    const auto old = old_live.find(place);
    report.changes.push_back({place, old == old_live.end() ? 0 : old->second, bytes});
    report.live_after += bytes;
  }
  for (const auto& [place, bytes] : old_live) {
    report.live_before += bytes;
    if (!new_live.contains(place)) report.changes.push_back({place, bytes, 0});
  }
  std::erase_if(report.changes, [](const SiteChange& c) { return c.before == c.after; });
  const auto size = [](const SiteChange& c) {
    return c.after > c.before ? c.after - c.before : c.before - c.after;
  };
  std::sort(report.changes.begin(), report.changes.end(),
            [&size](const SiteChange& a, const SiteChange& b) {
              return size(a) != size(b) ? size(a) > size(b) : a.site < b.site;
            });
}

}  // namespace memprof::analysis::oom
