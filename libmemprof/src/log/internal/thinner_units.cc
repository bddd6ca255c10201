// The end of a unit: whole or thinned.
#include <algorithm>

#include "libmemprof/src/log/thinner.h"
#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

constexpr std::uint32_t kFirstWhole = 3;  // units of each segment
constexpr std::uint64_t kMemoryInfoNs = 60'000'000'000;
// Steps without anything written in them are marked as long as that takes a twentieth of the
// budget.
constexpr double kStepBytes = 5, kStepsShare = 0.05;
constexpr double kWholeShare = 0.5;         // of what comes to the budget
constexpr double kMostSaved = 0.25;         // of all of it
constexpr double kFailureShare = 0.25;      // of the rest of the period, beyond what has gathered
constexpr std::uint32_t kSureFailures = 8;  // of each segment: 0.2 KB
// What is younger may well end soon.
constexpr std::uint32_t kHorizonUnits = 4;
constexpr std::uint64_t kHorizonNs = 2'000'000'000;
constexpr std::size_t kMostWaiting = std::size_t{1} << 17;

// Uses of memory, and samples: only of whole units.
bool IsUse(std::uint8_t op) {
  switch (op) {
    case kOpLaunch:
    case kOpTouch:
    case kOpMemcpy:
    case kOpMemset:
    case kOpSync:
    case kOpPrefetch:
    case kOpAdvise:
    case kOpDiscard:
    case kOpPoolTrim:
    case kOpPoolSample:
    case kOpPoolUsage:
    case kOpWaiting:
      return true;
    default:
      return false;
  }
}

// So that of `count` things `draws` are drawn at least.
std::uint32_t LargestWeight(double count, double draws) {
  constexpr double kMost = 4294967295.0;
  return static_cast<std::uint32_t>(std::min(kMost, 256 * count / std::max(draws, 1e-9)));
}

}  // namespace

void Thinner::EndUnit(std::uint64_t now_ns, bool final) {
  now_ns = std::max(now_ns, unit_begin_ns_);  // a step may be older than the last tick
  if (unit_.empty()) {
    WriteSurvivors(now_ns);
    unit_begin_ns_ = now_ns;
    ++number_;
    return;
  }
  Save(now_ns);
  const bool whole = IsToBeWhole(now_ns, final);
  if (whole)
    WriteWhole();
  else
    WriteThinned(now_ns);
  levels_.EndUnit(whole && !in_stretch_);
  last_unit_events_ = rest_ == Rest::kOpen ? unit_.size() : last_unit_events_ + unit_.size();
  unit_.Clear();
  closed_.Clear();
  pairs_.Clear();
  unit_failed_ = ends_left_out_ = false;
  unit_begin_ns_ = now_ns;
  ++number_;
}

bool Thinner::IsToBeWhole(std::uint64_t now_ns, bool final) const {
  // Not all that is alive is in the log.
  if (left_out_alive_ > 0 || ends_left_out_ || spent_all_) return false;
  const std::size_t events = std::max<std::size_t>(unit_.size(), final ? 0 : last_unit_events_);
  const double cost =
      static_cast<double>(events + waiting_.size() - first_waiting_) * bytes_per_event_;
  const double left = allowance_.Left(now_ns, Spent()), rest = allowance_.Rest(Spent());
  if (cost > rest) return false;
  if (unit_failed_) return cost <= left + kFailureShare * rest;
  if (rest_ == Rest::kWhole) return true;
  if (final) return cost <= left;
  if (rest_ == Rest::kThinned) return false;
  const bool wanted = whole_in_segment_ < kFirstWhole || levels_.PassedWhole();
  return cost <= (wanted ? std::max(saved_, left / 2) : std::min(saved_, left));
}

// Without this, thinned units would spend what there is, and a large unit would never be whole.
void Thinner::Save(std::uint64_t now_ns) {
  const double share = kWholeShare * allowance_.In(now_ns - last_saved_ns_);
  saved_ = std::min(saved_ + share, kMostSaved * allowance_.budget());
  last_saved_ns_ = now_ns;
}

double Thinner::ForThinned(std::uint64_t now_ns, std::uint64_t ns) const {
  return (allowance_.Left(now_ns, Spent()) - saved_) / 2 * allowance_.Share(ns);
}

void Thinner::WriteWhole() {
  const std::size_t before = kept_.size();
  EndStretch(unit_begin_ns_);
  WriteWaiting();
  for (const Closed& closed : closed_)
    if (closed.living.fate == Fate::kOpen && closed.living.unit < number_ && !closed.undone)
      Keep(closed.living.event, closed.living.thread, 0);
  WriteStep();
  ranges_.WriteAll(&kept_);
  for (const KeptEvent& item : unit_) WriteWhole(item);
  if (rest_ == Rest::kOpen) ++whole_in_segment_;
  urgent_ = true;  // large enough for a chunk
  saved_ = std::max(0.0, saved_ - static_cast<double>(kept_.size() - before) * bytes_per_event_);
}

void Thinner::WriteWhole(const KeptEvent& item) {
  switch (item.event.op) {
    case kOpRangePush:
      ranges_.Push(item);
      ranges_.WriteAll(&kept_);
      return;
    case kOpRangePop:
      if (ranges_.Pop(item.thread)) Write(item);
      return;
    case kOpAlloc:
      if (Living* living = item.weight == 0 ? alive_.Find(item.event) : nullptr)
        if (living->fate == Fate::kOpen) living->fate = Fate::kWritten;
      break;
    case kOpStep:
      last_written_step_ns_ = item.event.time_ns;
      break;
    default:
      break;
  }
  Write(item);
}

void Thinner::WriteThinned(std::uint64_t now_ns) {
  if (!in_stretch_) {
    in_stretch_ = true;
    stretch_begin_ns_ = unit_begin_ns_;
  }
  for (std::uint32_t i = 0; i < unit_.size(); ++i) WriteThinned(i);
  DrawPairs(now_ns);
  WriteSurvivors(now_ns);
}

void Thinner::WriteThinned(std::uint32_t index) {
  const KeptEvent& item = unit_[index];
  const RingEvent& event = item.event;
  if (IsUse(event.op)) return LeaveOut(event);
  switch (event.op) {
    case kOpStep:
      return NoteStep(item);
    case kOpAlloc:
      return item.weight != 0 ? Write(item) : WaitForHorizon(item);
    case kOpFree:
    case kOpFreeFailed:
      return WriteEnd(index);
    case kOpRangePush:
      return ranges_.Push(item);
    case kOpRangePop:
      return ranges_.Pop(item.thread) ? Write(item) : LeaveOut(event);
    case kOpStreamUse: {
      RingEvent of = event;
      of.op = kOpAlloc;
      of.layer = kLayerBlock;
      const Living* living = alive_.Find(of);
      const bool written = living != nullptr && living->fate == Fate::kWritten;
      return written ? Write(item) : LeaveOut(event);
    }
    case kOpMemoryInfo:
      if (event.time_ns < last_memory_info_ns_ + kMemoryInfoNs) return LeaveOut(event);
      last_memory_info_ns_ = event.time_ns;
      return Write(item);
    case kOpAllocFailed:
    case kOpFrameworkOom: {
      // A flood of them leaves the rest of the period its share; the first ones may end the
      // program.
      const double spent = Spent();
      const bool room =
          failures_in_segment_ < kSureFailures ||
          allowance_.Left(event.time_ns, spent) + kFailureShare * allowance_.Rest(spent) > 0;
      return room ? Write(item) : Lose(event);
    }
    default:
      return Write(item);
  }
}

// Of a free, or of one that failed.
void Thinner::WriteEnd(std::uint32_t index) {
  const KeptEvent& item = unit_[index];
  if (item.weight == 0) return Write(item);
  const Closed& closed = closed_[item.weight - 1];
  if (closed.living.fate == Fate::kWritten) return Write(item);
  if (closed.living.fate == Fate::kOpen && !closed.undone && pairs_.Append(index)) return;
  LeaveOut(item.event);
}

void Thinner::DrawPairs(std::uint64_t now_ns) {
  ThresholdFinder sizes;
  for (const std::uint32_t index : pairs_)
    sizes.Add(closed_[unit_[index].weight - 1].living.event.bytes);
  const double bytes = ForThinned(now_ns, now_ns - unit_begin_ns_);
  // Half of the draws by size, for bytes; half by number, for counts and small blocks.
  const double draws = EventsFor(bytes) / 2;
  const double threshold = sizes.For(draws / 2);
  const std::uint32_t most = LargestWeight(static_cast<double>(sizes.count()), draws / 2);
  for (const std::uint32_t index : pairs_) {
    const KeptEvent& end = unit_[index];
    const Living& living = closed_[end.weight - 1].living;
    const std::uint32_t weight = std::min(WeightAt(threshold, living.event.bytes), most);
    if (draws_.Draw(weight)) {
      WriteStep();
      Keep(living.event, living.thread, weight);
      Write(end);
    } else {
      LeaveOut(living.event);
      LeaveOut(end.event);
    }
  }
}

void Thinner::WaitForHorizon(const KeptEvent& item) {
  const Living* living = alive_.Find(item.event);
  if (living == nullptr || living->fate != Fate::kOpen || living->unit != number_ ||
      living->event.time_ns != item.event.time_ns)
    return;  // it ended within the unit
  waiting_.Append({item.event.address, number_, item.event.layer});
}

// Null if it ended meanwhile.
Living* Thinner::IfOpen(const Waiting& waiting) {
  RingEvent event{};
  event.op = kOpAlloc;
  event.address = waiting.address;
  event.layer = waiting.layer;
  Living* living = alive_.Find(event);
  if (living == nullptr || living->unit != waiting.unit) return nullptr;
  return living->fate == Fate::kOpen || living->fate == Fate::kEndsEarly ? living : nullptr;
}

bool Thinner::IsOld(const Waiting& waiting, std::uint64_t now_ns) {
  if (number_ - waiting.unit < kHorizonUnits) return false;
  const Living* living = IfOpen(waiting);
  return living == nullptr || now_ns >= living->event.time_ns + kHorizonNs;
}

void Thinner::WriteWaiting() {
  for (; first_waiting_ < waiting_.size(); ++first_waiting_)
    if (Living* living = IfOpen(waiting_[first_waiting_])) Promote(living, 0);
  DropDecided();
}

// Oldest first. The others have time: many of them will end, and are drawn then.
void Thinner::WriteSurvivors(std::uint64_t now_ns) {
  const double bytes = ForThinned(now_ns, now_ns - last_survivors_ns_);
  double events = EventsFor(bytes);
  for (; first_waiting_ < waiting_.size(); ++first_waiting_) {
    const Waiting& waiting = waiting_[first_waiting_];
    if (!IsOld(waiting, now_ns)) break;
    Living* living = IfOpen(waiting);
    if (living == nullptr) continue;
    if (events < 1) break;
    if (living->fate == Fate::kOpen) {
      --events;
      last_survivors_ns_ = now_ns;
    }
    Promote(living, 0);
  }
  if (waiting_.size() - first_waiting_ > kMostWaiting)
    DrawWaiting(waiting_.size() - kMostWaiting / 2, EventsFor(bytes));
  DropDecided();
}

// Of those before `end`.
void Thinner::DrawWaiting(std::size_t end, double events) {
  ThresholdFinder sizes;
  for (std::size_t i = first_waiting_; i < end; ++i) {
    const Living* living = IfOpen(waiting_[i]);
    if (living != nullptr && living->fate == Fate::kOpen) sizes.Add(living->event.bytes);
  }
  const double threshold = sizes.For(events);
  for (; first_waiting_ < end; ++first_waiting_)
    if (Living* living = IfOpen(waiting_[first_waiting_]))
      Promote(living, WeightAt(threshold, living->event.bytes));
}

void Thinner::Promote(Living* living, std::uint32_t weight) {
  if (living->fate == Fate::kEndsEarly) return alive_.Erase(living);
  if (draws_.Draw(weight)) {
    living->fate = Fate::kWritten;
    Keep(living->event, living->thread, weight);
  } else {
    living->fate = Fate::kLeftOut;
    ++left_out_alive_;
    LeaveOut(living->event);
  }
}

void Thinner::DropDecided() {
  if (first_waiting_ * 2 < waiting_.size()) return;
  const std::size_t left = waiting_.size() - first_waiting_;
  std::copy(waiting_.begin() + first_waiting_, waiting_.end(), waiting_.begin());
  waiting_.Truncate(left);
  first_waiting_ = 0;
}

void Thinner::EndStretch(std::uint64_t end_ns) {
  if (!in_stretch_) return;
  WriteStep();
  levels_.EndStretch(end_ns, &kept_);
  RingEvent event{};
  event.time_ns = end_ns;
  event.op = kOpThinned;
  event.aux0 = stretch_begin_ns_;
  event.bytes = left_out_;
  event.aux1 = allocations_left_out_;
  Keep(event, 0, 0);
  in_stretch_ = false;
  left_out_ = allocations_left_out_ = 0;
}

void Thinner::NoteStep(const KeptEvent& item) {
  if (step_.event.op != 0) LeaveOut(step_.event);
  step_ = item;
  const auto least_ns =
      static_cast<std::uint64_t>(kStepBytes / (kStepsShare * allowance_.per_ns()));
  if (item.event.time_ns >= last_written_step_ns_ + least_ns) WriteStep();
}

// A mark for which there is no room waits for a failure, which needs it, and for the end.
void Thinner::WriteStep(bool sure) {
  if (step_.event.op == 0) return;
  const bool spent = allowance_.Rest(Spent()) <= 0;
  spent_all_ |= spent;
  if (spent && !sure) return;
  last_written_step_ns_ = step_.event.time_ns;
  Keep(step_.event, step_.thread, 0, sure);
  step_ = {};
}

void Thinner::Write(const KeptEvent& item) {
  const bool is_failure = item.event.op == kOpAllocFailed || item.event.op == kOpFrameworkOom;
  const bool sure = is_failure && failures_in_segment_++ < kSureFailures;
  WriteStep(sure);
  Keep(item.event, item.thread, 0, sure);
}

void Thinner::Keep(const RingEvent& event, std::uint32_t thread, std::uint32_t weight, bool sure) {
  // The reserve has room for the ends of stretches, for some failures and their steps.
  if (!sure && event.op != kOpThinned && allowance_.Rest(Spent()) <= 0) {
    spent_all_ = true;
    return Lose(event);
  }
  KeptEvent kept{event, thread, weight};
  kept.event.time_ns = std::max(event.time_ns, segment_begin_ns_);
  if (!kept_.Append(kept)) LeaveOut(event);
}

void Thinner::LeaveOut(const RingEvent& event) {
  ++left_out_;
  ++all_left_out_;
  if (event.op == kOpAlloc) ++allocations_left_out_;
}

void Thinner::Lose(const RingEvent& event) {
  if (!in_stretch_) stretch_begin_ns_ = unit_begin_ns_;
  in_stretch_ = true;
  ++lost_;
  LeaveOut(event);
}

void Thinner::NoteRefused(std::uint64_t first_ns, std::uint64_t events) {
  if (events == 0) return;
  if (!in_stretch_) stretch_begin_ns_ = first_ns;
  in_stretch_ = spent_all_ = true;
  lost_ += events;
  left_out_ += events;
  all_left_out_ += events;
}

}  // namespace memprof::recorder
