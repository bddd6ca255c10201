// Patterns in requests to the driver and to a framework's allocator: leaks, rounding,
// churn, retries.
#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/advice/internal/drafts.h"
#include "analysis/base/units.h"
#include "analysis/leaks/leaks.h"

namespace memprof::analysis::advice {
namespace {

constexpr std::uint64_t kMaxEvents = 4096;  // between a failure and its retry
constexpr std::uint64_t kMin = 3;           // times that segments are allocated again

// The saving if the site of a leak freed the leaked blocks as late as it frees others: after the
// guard.
void SaveLeak(Drafts& drafts, const Leak& leak) {
  const Session& session = drafts.session();
  const StepClock& clock = drafts.clock();
  Draft& draft = drafts.At(Pattern::kLeak, leak.device, leak.layer, leak.stack);
  const std::uint64_t example = leak.example.valid() ? session.record(leak.example).bytes : 0;
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const AllocationRecord& a = session.records()[i];
    if (a.device != leak.device || a.layer != leak.layer || a.stack != leak.stack) continue;
    if (!leak.stack.valid() && a.bytes != example) continue;  // without stacks, each size is a site
    const std::int64_t birth = clock.IndexAt(a.birth), due = birth + leak.guard_steps + 1;
    if (birth < 0 || clock.NumberOf(birth) < leak.first_step || due > clock.completed()) continue;
    const EventId at = clock.BeginOf(due);
    if (a.death.valid() && a.death <= at) continue;
    drafts.Count(draft, a.bytes, {a.birth, AllocationId(i), {}, {}});
    draft.changes.push_back({at, a.death, Removed(a).bytes});
    const TimeNs kept = drafts.Between(at, a.death);
    draft.gap += kept;
    draft.finding.byte_seconds += static_cast<double>(a.bytes) * static_cast<double>(kept) * 1e-9;
  }
  Weaken(draft, leak.tier == LeakTier::kGrowing     ? Confidence::kPossible
                : leak.tier == LeakTier::kSuspected ? Confidence::kLikely
                                                    : Confidence::kCertain);
  if (draft.finding.why.empty()) draft.finding.why = leak.why;
}

// Bytes of `a` beyond what was requested; 0 if that is not known.
std::uint64_t Waste(const Session& session, const AllocationRecord& a) {
  if (a.layer == Layer::kBlock) return a.bytes - std::min(a.bytes, a.requested());
  if (a.layer != Layer::kPitched) return 0;
  const std::uint64_t pitch = session.events().aux0(a.birth.value);
  const std::uint64_t width = session.events().aux1(a.birth.value);
  if (pitch == 0 || width == 0 || width > pitch || a.bytes % pitch != 0) return 0;
  return (pitch - width) * (a.bytes / pitch);
}

// Each call may wait for the device, or costs a system call and zeroed pages; pools do neither.
bool IsCostly(Layer layer) {
  return layer != Layer::kStreamOrdered && layer != Layer::kGraph &&
         (OccupiesDevice(layer) || OccupiesHost(layer));
}

void FindDriverChurn(Drafts& drafts) {
  struct Pairs {
    LoopCount loop;
    std::vector<AllocationId> all;
  };
  const auto records = drafts.session().records();
  const StepClock& clock = drafts.clock();
  std::map<std::tuple<int, Layer, std::uint32_t>, Pairs> by_site;
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (!drafts.judged()[i] || !IsCostly(a.layer) || a.end_reason != EndReason::kFreed ||
        !LoopCount::InLoop(clock, a.birth))
      continue;
    if (clock.completed() > 0 && clock.IndexAt(a.death) > clock.IndexAt(a.birth) + 1) continue;
    Pairs& pairs = by_site[{a.device, a.layer, drafts.SiteOf(a.stack)}];
    pairs.loop.Add(clock, a.birth);
    pairs.all.push_back(AllocationId(i));
  }
  for (const auto& [key, pairs] : by_site) {
    if (!pairs.loop.Loops(clock)) continue;
    for (const AllocationId id : pairs.all) {
      const AllocationRecord& a = drafts.session().record(id);
      drafts.Count(drafts.At(Pattern::kChurn, a), a.bytes, {a.birth, id, {}, {}});
    }
  }
}

// Segments that an allocator gave back, and took again.
void FindCacheChurn(Drafts& drafts) {
  const auto records = drafts.session().records();
  const StepClock& clock = drafts.clock();
  std::vector<std::pair<EventId, AllocationId>> deaths;
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    if (records[i].layer == Layer::kSegment && records[i].death.valid())
      deaths.emplace_back(records[i].death, AllocationId(i));
  }
  std::sort(deaths.begin(), deaths.end());
  std::map<std::pair<int, std::uint64_t>, std::vector<AllocationId>> given_back;  // by size
  std::vector<std::pair<AllocationId, AllocationId>> again;
  std::map<int, std::uint64_t> times;
  std::size_t next = 0;
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (a.layer != Layer::kSegment) continue;
    for (; next < deaths.size() && deaths[next].first < a.birth; ++next) {
      const AllocationRecord& gone = records[deaths[next].second.value];
      given_back[{gone.device, gone.bytes}].push_back(deaths[next].second);
    }
    auto& same = given_back[{a.device, a.bytes}];
    if (same.empty() || (clock.completed() > 0 && clock.IndexAt(a.birth) < 1)) continue;
    again.emplace_back(AllocationId(i), same.back());
    same.pop_back();
    ++times[a.device];
  }
  for (const auto& [id, before] : again) {
    const AllocationRecord& a = drafts.session().record(id);
    if (times[a.device] < kMin) continue;
    Draft& draft = drafts.At(Pattern::kCacheChurn, a.device, a.layer, StackId());
    drafts.Count(draft, a.bytes, {a.birth, id, before, {}});
  }
}

}  // namespace

// A saving is counted in steps: when the guard of a leak would have freed its blocks.
void FindLeakSavings(Drafts& drafts) {
  if (drafts.session().steps().empty()) return;
  const auto leaks = LeaksOf(drafts.session());
  for (const Leak& leak : leaks->leaks)
    if (!leak.imported()) SaveLeak(drafts, leak);
}

void FindRounding(Drafts& drafts) {
  const auto records = drafts.session().records();
  const auto wasted = [&](const AllocationRecord& a) -> std::uint64_t {
    if (a.layer != Layer::kBlock && a.layer != Layer::kPitched) return 0;
    return Waste(drafts.session(), a);
  };
  // In a training nearly every block may be rounded up. The cases are counted first, so that lists
  // can be reserved: lists that grow by doubling take up to three times as much memory.
  absl::flat_hash_map<Draft*, std::size_t> counts;
  for (const AllocationRecord& a : records)
    if (wasted(a) > 0) ++counts[&drafts.At(Pattern::kRounding, a)];
  for (const auto& [draft, count] : counts) draft->changes.reserve(count);
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    const std::uint64_t waste = wasted(a);
    if (waste == 0) continue;
    Draft& draft = drafts.At(Pattern::kRounding, a);
    std::string words;
    if (drafts.IsExample(draft, waste))
      words = absl::StrCat(FormatBytes(a.bytes - waste), " requested");
    drafts.Count(draft, waste, {a.birth, AllocationId(i), {}, std::move(words)});
    draft.other += a.bytes;
    draft.changes.push_back(Resized(a, a.bytes - waste));
    draft.finding.byte_seconds +=
        static_cast<double>(waste) * static_cast<double>(drafts.Between(a.birth, a.death)) * 1e-9;
  }
}

void FindChurn(Drafts& drafts) {
  FindDriverChurn(drafts);
  FindCacheChurn(drafts);
}

void FindRetries(Drafts& drafts) {
  const EventTable& events = drafts.events();
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    if (events.op(e) != Op::kAllocFailed || !OccupiesDevice(events.layer(e))) continue;
    const std::uint64_t bytes = events.bytes(e),
                        end = std::min<std::uint64_t>(events.size(), e + kMaxEvents);
    for (std::uint32_t next = e + 1; next < end; ++next) {
      const Op op = events.op(next);
      if (op != Op::kAlloc && op != Op::kAllocFailed) continue;
      if (events.thread(next) != events.thread(e) || events.layer(next) != events.layer(e) ||
          events.device(next) != events.device(e) || events.bytes(next) != bytes)
        continue;
      if (op == Op::kAllocFailed) break;  // the failure has a finding of its own
      Draft& draft =
          drafts.At(Pattern::kRetriedFailure, events.device(e), events.layer(e), events.stack(e));
      const std::uint64_t left = events.aux0(e);
      drafts.Count(draft, bytes,
                   {EventId(e),
                    events.allocation(next),
                    {},
                    absl::StrCat(FormatBytes(left), " free at that moment")});
      draft.other = std::max(draft.other, bytes > left ? bytes - left : 0);
      break;
    }
  }
}

}  // namespace memprof::analysis::advice
