// Events on their way into a unit, and the row of segments.
#include "libmemprof/src/log/thinner.h"

#include <algorithm>

#include "libmemprof/src/log/vocabulary.h"

namespace memprof::recorder {
namespace {

using ring::RingEvent;

constexpr std::uint64_t kSliceNs = 1'000'000'000;  // a unit where nobody marks steps
constexpr std::uint64_t kUnmarkedNs = 10'000'000'000;
// A chunk of few events is mostly frame, levels and its place in the index: it is written when
// these take a seventh of what the budget allows for the time since the last one.
constexpr double kFrameBytes = 120, kFramesShare = 1.0 / 7;
// Of the budget, for the list of what is alive when a segment begins.
constexpr double kListShare = 0.4;

// These must be in the log with all that led to them. The last of a look at holders is its end.
bool IsFailure(std::uint8_t op) {
  return op == kOpAllocFailed || op == kOpFrameworkOom || op == kOpSnapshot || op == kOpHostScan ||
         op == kOpHolders;
}

// Kinds of which a program may allocate many in every step. The others are parts of something, or
// rare: they are always written.
bool MayBeDrawn(std::uint8_t layer) {
  switch (layer) {
    case kLayerLinear:
    case kLayerPitched:
    case kLayerManaged:
    case kLayerPinned:
    case kLayerStreamOrdered:
    case kLayerGraph:
    case kLayerSegment:
    case kLayerBlock:
    case kLayerTensor:
      return true;
    default:
      return false;
  }
}

bool IsMemory(std::uint8_t op) { return op == kOpAlloc || op == kOpPresent; }

}  // namespace

Thinner::Thinner(const log::AlwaysOnBudget& settings, std::uint64_t seed)
    : allowance_(settings), draws_(seed) {}

void Thinner::Add(const RingEvent& event, std::uint32_t thread) {
  if (unit_begin_ns_ == 0) unit_begin_ns_ = event.time_ns;
  if (event.op == kOpStep) {
    EndUnit(event.time_ns, false);
    rest_ = Rest::kOpen;
    last_step_ns_ = event.time_ns;
  } else {
    Tick(event.time_ns);
  }
  KeptEvent item{event, thread, 0};
  bool has_place = true;
  if (BeginsLife(event.op))
    has_place = Begin(&item);
  else if (EndsLife(event.op))
    has_place = End(&item);
  else if (event.op == kOpFreeFailed)
    UndoEnd(&item);
  else if (event.op == kOpContextDestroy || event.op == kOpDeviceReset)
    EndAllOf(event);
  if (!has_place)
    Lose(event);
  else if (!unit_.Append(item))
    LeaveOut(event);
  unit_failed_ |= IsFailure(event.op);
  if (IsFailure(event.op) || unit_.size() >= kMostInUnit) {
    const bool whole = IsToBeWhole(event.time_ns, false);
    EndUnit(event.time_ns, false);
    rest_ = whole ? Rest::kWhole : Rest::kThinned;
  }
}

void Thinner::Tick(std::uint64_t now_ns) {
  if (now_ns < unit_begin_ns_ + kSliceNs || now_ns < last_step_ns_ + kUnmarkedNs) return;
  EndUnit(now_ns, false);
  rest_ = Rest::kOpen;
}

bool Thinner::Begin(KeptEvent* item) {
  const RingEvent& event = item->event;
  bool ended = false;
  if (Living* old = alive_.Find(event)) {
    if (event.op == kOpPresent) return true;
    ended = old->fate == Fate::kEndsEarly && old->event.time_ns >= event.time_ns;
    // Its end is missing.
    StopCounting(*old);
    KeepEnded(*old);
    alive_.Erase(old);
  }
  if (IsMemory(event.op)) levels_.Allocate(event.device_plus_1, event.layer, event.bytes);
  const bool open = event.op == kOpAlloc && MayBeDrawn(event.layer) && !ended;
  const Living living{event, item->thread, number_, open ? Fate::kOpen : Fate::kWritten,
                      static_cast<std::uint32_t>(unit_.size())};
  const bool has_place = !ended && alive_.Add(living) != nullptr;
  if (has_place && open) return true;
  if (!has_place) StopCounting(living);
  if (!has_place && open) {
    ++left_out_alive_;
    ++without_place_;
    return false;
  }
  item->weight = 1;  // is written with its unit
  return true;
}

void Thinner::StopCounting(const Living& living) {
  if (living.is_left_out()) {
    --left_out_alive_;
    ends_left_out_ = true;
  }
  if (living.fate != Fate::kEndsEarly && IsMemory(living.event.op))
    levels_.Free(living.event.device_plus_1, living.event.layer, living.event.bytes);
}

// Of what ended without an end of its own that could be drawn with it.
void Thinner::KeepEnded(const Living& living) {
  if (living.fate != Fate::kOpen) return;
  KeptEvent* item =
      living.unit == number_ && living.place < unit_.size() ? &unit_[living.place] : nullptr;
  // Without memory the unit may lack it.
  if (item != nullptr && item->event.op == kOpAlloc && item->event.address == living.event.address)
    item->weight = 1;
  else
    Keep(living.event, living.thread, 0);
}

bool Thinner::End(KeptEvent* item) {
  const RingEvent& event = item->event;
  if (event.op == kOpUnmap) EndMaps(event);
  if (event.op == kOpUnmap) return true;
  if (event.op == kOpModuleUnload) EndAllOf(event);
  Living* living = alive_.Find(event);
  if (living == nullptr) {
    if (event.op != kOpFree || event.address == 0) return true;
    if (without_place_ > 0) {
      --without_place_;
      --left_out_alive_;
      ends_left_out_ = true;
      return false;
    }
    if (alive_.Add({event, item->thread, number_, Fate::kEndsEarly}) != nullptr)
      waiting_.Append({event.address, number_, event.layer});
    return true;
  }
  if (living->fate == Fate::kEndsEarly) {
    living->event.time_ns = event.time_ns;
    return true;
  }
  StopCounting(*living);
  if (closed_.Append({*living, false}))
    item->weight = static_cast<std::uint32_t>(closed_.size());
  else
    KeepEnded(*living);
  alive_.Erase(living);
  return true;
}

// OP_FREE_FAILED follows its free at once.
void Thinner::UndoEnd(KeptEvent* item) {
  for (std::size_t i = closed_.size(); i-- > 0;) {
    Closed& closed = closed_[i];
    const RingEvent& event = closed.living.event;
    if (closed.undone || event.address != item->event.address || event.layer != item->event.layer ||
        !IsMemory(event.op))
      continue;
    if (alive_.Find(event) != nullptr || alive_.Add(closed.living) == nullptr) return;
    closed.undone = true;
    item->weight = static_cast<std::uint32_t>(i + 1);
    if (closed.living.is_left_out()) ++left_out_alive_;
    levels_.Allocate(event.device_plus_1, event.layer, event.bytes);
    return;
  }
}

void Thinner::EndAllOf(const RingEvent& end) {
  alive_.End(end, [this](const Living& living) {
    StopCounting(living);
    KeepEnded(living);
  });
}

// One event may cover several maps.
void Thinner::EndMaps(const RingEvent& unmap) {
  RingEvent at = unmap;
  const std::uint64_t end = unmap.address + unmap.bytes;
  do {
    Living* map = alive_.Find(at);
    if (map == nullptr || map->fate == Fate::kEndsEarly) return;
    const std::uint64_t bytes = map->event.bytes;
    alive_.Erase(map);
    if (bytes == 0) return;
    at.address += bytes;
  } while (at.address < end);
}

void Thinner::Finish(std::uint64_t now_ns) {
  EndUnit(now_ns, true);
  DrawWaiting(waiting_.size(), EventsFor(allowance_.Rest(Spent())));
  WriteStep(/*sure=*/true);
  EndStretch(now_ns);
}

void Thinner::NoteWritten(std::uint64_t now_ns, std::uint64_t segment_bytes, std::uint64_t events,
                          std::uint64_t bytes) {
  constexpr double kNew = 0.1;
  next_write_ns_ = now_ns + allowance_.TimeFor(kFrameBytes / kFramesShare);
  spent_ = static_cast<double>(segment_bytes);
  urgent_ = false;
  if (events < 16) return;
  const double now = static_cast<double>(bytes) / static_cast<double>(events);
  bytes_per_event_ += kNew * (now - bytes_per_event_);
}

double Thinner::Spent() const {
  return spent_ + static_cast<double>(kept_.size()) * bytes_per_event_;
}

void Thinner::EndSegment(std::uint64_t now_ns) {
  EndUnit(now_ns, false);
  EndStretch(now_ns);
}

void Thinner::BeginSegment(std::uint64_t now_ns, std::uint64_t bytes) {
  allowance_.Begin(now_ns);
  segment_begin_ns_ = unit_begin_ns_ = now_ns;
  spent_ = static_cast<double>(bytes);
  spent_all_ = false;
  whole_in_segment_ = failures_in_segment_ = 0;
  saved_ = allowance_.at_once() / 2;
  last_saved_ns_ = now_ns;
  last_memory_info_ns_ = 0;
  levels_.BeginSegment();
  ranges_.BeginSegment();
  ThresholdFinder sizes;
  alive_.ForEach([&](Living& living) {
    if (living.fate == Fate::kUnlisted) {
      living.fate = Fate::kWritten;
      --left_out_alive_;
    }
    if (living.fate == Fate::kWritten && IsMemory(living.event.op)) sizes.Add(living.event.bytes);
  });
  const double threshold = sizes.For(EventsFor(kListShare * allowance_.Rest(spent_)));
  const std::size_t first = kept_.size();
  // Contexts, modules and maps first, because they are not drawn.
  for (const bool sampled : {false, true})
    alive_.ForEach([&](Living& living) {
      const bool is_sampled = IsMemory(living.event.op) && MayBeDrawn(living.event.layer);
      if (living.fate != Fate::kWritten || is_sampled != sampled) return;
      const std::uint32_t weight = sampled ? WeightAt(threshold, living.event.bytes) : 0;
      const bool drawn = draws_.Draw(weight);
      if (drawn) spent_all_ |= allowance_.Rest(Spent()) <= 0;
      if (drawn && !spent_all_ && kept_.Append({living.event, living.thread, weight})) return;
      if (drawn) Lose(living.event);
      living.fate = Fate::kUnlisted;
      ++left_out_alive_;
    });
  std::sort(kept_.begin() + first, kept_.end(), [](const KeptEvent& a, const KeptEvent& b) {
    return a.event.time_ns < b.event.time_ns;
  });
  for (std::size_t i = first; i < kept_.size(); ++i) kept_[i].event.time_ns = now_ns;
}

}  // namespace memprof::recorder
