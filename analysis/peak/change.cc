// Step functions of what devices held, and their maximum under changes.
#include "analysis/peak/change.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

// A visitor of WalkLifetimes that writes all levels down.
class LevelBuilder {
 public:
  LevelBuilder(const Session& session, std::map<std::pair<int, PeakLayer>, Level>* levels)
      : session_(session), levels_(*levels) {
    const auto events = static_cast<std::uint32_t>(session.events().size());
    for (const AllocationRecord& a : session.records()) {
      const std::optional<PeakLayer> of = PeakLayerOf(a.layer);
      if (a.device != kNoDevice && of) changes_[{a.device, *of}] += a.death.valid() ? 2 : 1;
    }
    for (const auto& [key, changes] : changes_)
      levels_.try_emplace(key, events).first->second.Reserve(changes);
  }

  void Birth(EventId, AllocationId id) { Change(session_.record(id), false); }
  void Death(EventId, AllocationId id) { Change(session_.record(id), true); }
  void After(EventId event) {
    for (Running* running : changed_) {
      running->changed = false;
      running->level->Append(event, running->bytes);
    }
    changed_.clear();
  }

 private:
  struct Running {
    Level* level = nullptr;
    std::uint64_t bytes = 0;
    bool changed = false;
  };

  void Change(const AllocationRecord& a, bool death) {
    const std::optional<PeakLayer> of = PeakLayerOf(a.layer);
    if (a.device == kNoDevice || !of) return;
    Running& running = running_[{a.device, *of}];
    if (running.level == nullptr) running.level = &levels_.at({a.device, *of});
    // Modulo 2^64, which is right in the end also where a damaged log overflows on the way.
    running.bytes = death ? running.bytes - a.bytes : running.bytes + a.bytes;
    if (!running.changed) changed_.push_back(&running);
    running.changed = true;
  }

  const Session& session_;
  std::map<std::pair<int, PeakLayer>, Level>& levels_;
  std::map<std::pair<int, PeakLayer>, std::size_t> changes_;  // births and deaths
  std::map<std::pair<int, PeakLayer>, Running> running_;
  std::vector<Running*> changed_;  // since the last After; a map's values stay where they are
};

// A damaged log may claim more bytes than a signed number holds.
std::int64_t Signed(std::uint64_t bytes) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  return static_cast<std::int64_t>(std::min(bytes, kMax));
}

std::int64_t Wrapped(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// Sorts keys with an event in the upper half, which are in order of the lower one: by 11 bits a
// pass, because there may be millions.
void SortByEvent(std::vector<std::uint64_t>* keys) {
  constexpr int kBits = 11;
  constexpr std::size_t kFew = 4096;
  if (keys->size() < kFew) return std::sort(keys->begin(), keys->end());
  std::vector<std::uint64_t> other(keys->size());
  for (int shift = 32; shift < 64; shift += kBits) {
    std::array<std::size_t, 1 << kBits> next{};
    const auto digit = [shift](std::uint64_t key) { return key >> shift & ((1 << kBits) - 1); };
    for (const std::uint64_t key : *keys) ++next[digit(key)];
    if (next[digit(keys->front())] == keys->size()) continue;
    std::size_t begin = 0;
    for (std::size_t& count : next) begin += std::exchange(count, begin);
    for (const std::uint64_t key : *keys) other[next[digit(key)]++] = key;
    keys->swap(other);
  }
}

// The begins and the ends of changes, in order of events. There may be as many changes as the log
// has allocations: 8 bytes for each, or 16 where they do not come in the order of their begins; and
// 8 while they are sorted.
class ChangeSteps {
 public:
  ChangeSteps(std::span<const LevelChange> changes, std::uint32_t events)
      : changes_(changes), events_(events) {
    const auto earlier = [](const LevelChange& a, const LevelChange& b) {
      return a.begin.value < b.begin.value;
    };
    const bool sorted = std::is_sorted(changes.begin(), changes.end(), earlier);
    ends_.reserve(changes.size());
    if (!sorted) begins_.reserve(changes.size());
    for (std::uint32_t i = 0; i < changes.size(); ++i) {
      if (End(i) <= changes[i].begin.value) continue;
      if (!sorted) begins_.push_back(Key(changes[i].begin.value, i));
      if (End(i) < events) ends_.push_back(Key(End(i), i));
    }
    SortByEvent(&begins_);
    SortByEvent(&ends_);
    begin_count_ = sorted ? changes.size() : begins_.size();
    SkipNothing();
  }

  // The event of the next step; that after the last one when there is none.
  std::uint32_t at() const { return std::min(NextBegin(), NextEnd()); }
  // Moves to the next change of the level, and returns by how many bytes it changes there.
  std::int64_t Take() {
    if (NextEnd() <= NextBegin()) return Wrapped(0, -changes_[Number(ends_[end_++])].bytes);
    const std::int64_t bytes = changes_[BeginNumber()].bytes;
    ++begin_;
    SkipNothing();
    return bytes;
  }

 private:
  static std::uint64_t Key(std::uint32_t event, std::uint32_t number) {
    return std::uint64_t{event} << 32 | number;
  }
  static std::uint32_t Number(std::uint64_t key) { return static_cast<std::uint32_t>(key); }
  std::uint32_t End(std::size_t i) const { return std::min(changes_[i].end.value, events_); }
  std::size_t BeginNumber() const { return begins_.empty() ? begin_ : Number(begins_[begin_]); }
  std::uint32_t NextBegin() const {
    return begin_ < begin_count_ ? changes_[BeginNumber()].begin.value : events_;
  }
  std::uint32_t NextEnd() const {
    return end_ < ends_.size() ? static_cast<std::uint32_t>(ends_[end_] >> 32) : events_;
  }
  // Skips changes of no duration. If begins have keys, such changes have none.
  void SkipNothing() {
    while (begins_.empty() && begin_ < begin_count_ && End(begin_) <= changes_[begin_].begin.value)
      ++begin_;
  }

  const std::span<const LevelChange> changes_;
  const std::uint32_t events_;
  std::vector<std::uint64_t> begins_, ends_;  // event and number of the change
  std::size_t begin_count_ = 0, begin_ = 0, end_ = 0;
};

}  // namespace

std::optional<PeakLayer> PeakLayerOf(Layer layer) {
  if (OccupiesDevice(layer)) return PeakLayer::kDriver;
  if (layer == Layer::kBlock) return PeakLayer::kBlocks;
  return std::nullopt;
}

void Level::Reserve(std::size_t changes) {
  begin_.reserve(changes + 1);
  level_.reserve(changes + 1);
}

void Level::Append(EventId event, std::uint64_t bytes) {
  begin_.push_back(event.value);
  level_.push_back(bytes);
}

void Level::Finish() {
  const std::size_t blocks = (level_.size() + kBlock - 1) / kBlock;
  leaves_ = std::bit_ceil(blocks);
  most_.assign(2 * leaves_, 0);
  for (std::size_t i = 0; i < level_.size(); ++i) {
    std::uint64_t& most = most_[leaves_ + i / kBlock];
    most = std::max(most, level_[i]);
  }
  for (std::size_t i = leaves_ - 1; i > 0; --i) most_[i] = std::max(most_[2 * i], most_[2 * i + 1]);
}

std::size_t Level::PieceAt(std::uint32_t event) const {
  return static_cast<std::size_t>(std::upper_bound(begin_.begin(), begin_.end(), event) -
                                  begin_.begin()) -
         1;
}

std::size_t Level::PieceAfter(std::size_t piece, std::uint32_t event) const {
  std::size_t step = 1, past = piece + 1;  // the answer is at or after `piece`, and before `past`
  while (past < begin_.size() && begin_[past] <= event) {
    piece = past;
    past = std::min(begin_.size(), past + step);
    step *= 2;
  }
  const auto at = [this](std::size_t i) { return begin_.begin() + static_cast<std::ptrdiff_t>(i); };
  return static_cast<std::size_t>(std::upper_bound(at(piece), at(past), event) - begin_.begin()) -
         1;
}

std::uint64_t Level::MostOfBlocks(std::size_t begin, std::size_t end) const {
  std::uint64_t most = 0;
  for (begin += leaves_, end += leaves_; begin < end; begin /= 2, end /= 2) {
    if (begin % 2 == 1) most = std::max(most, most_[begin++]);
    if (end % 2 == 1) most = std::max(most, most_[--end]);
  }
  return most;
}

std::uint64_t Level::MostOf(std::size_t begin, std::size_t end) const {
  const std::size_t first = (begin + kBlock - 1) / kBlock, last = end / kBlock;
  const auto at = level_.begin();
  const auto offset = [](std::size_t i) { return static_cast<std::ptrdiff_t>(i); };
  if (first >= last) return *std::max_element(at + offset(begin), at + offset(end));
  std::uint64_t most = MostOfBlocks(first, last);
  for (std::size_t i = begin; i < first * kBlock; ++i) most = std::max(most, level_[i]);
  for (std::size_t i = last * kBlock; i < end; ++i) most = std::max(most, level_[i]);
  return most;
}

EventId Level::FirstWith(std::uint32_t begin, std::uint32_t end, std::uint64_t bytes) const {
  std::size_t low = PieceAt(begin), high = PieceAt(end - 1) + 1;
  while (high - low > 1) {  // the first half that contains the value
    const std::size_t middle = low + (high - low) / 2;
    if (MostOf(low, middle) == bytes) {
      high = middle;
    } else {
      low = middle;
    }
  }
  return EventId(std::max(begin, begin_[low]));
}

NewPeak Level::With(std::span<const LevelChange> changes) const {
  ChangeSteps steps(changes, events_);
  std::uint64_t best_level = 0;
  std::uint32_t best_begin = 0, best_end = 0, begin = 0;
  std::size_t piece = 0;  // that holds at `begin`
  std::int64_t sum = 0, best = 0;
  for (;;) {
    const std::uint32_t end = steps.at();
    if (end > begin) {
      const std::size_t last = PieceAfter(piece, end - 1);
      const std::uint64_t most = MostOf(piece, last + 1);
      const std::int64_t now = Wrapped(Signed(most), sum);
      if (now > best) {
        best = now;
        best_level = most;
        best_begin = begin;
        best_end = end;
      }
      begin = end;
      // The piece of `end` is the last one or, if a new one begins right there, the next.
      piece = last + 1 < begin_.size() && begin_[last + 1] == end ? last + 1 : last;
    }
    if (end == events_) break;
    sum = Wrapped(sum, steps.Take());
  }
  if (best == 0) return {};
  return {static_cast<std::uint64_t>(best), FirstWith(best_begin, best_end, best_level)};
}

PeakLevels::PeakLevels(const Session& session) {
  LevelBuilder builder(session, &levels_);
  WalkLifetimes(session, builder);
  for (auto& [key, level] : levels_) level.Finish();
}

const Level* PeakLevels::Find(int device, PeakLayer of) const {
  const auto at = levels_.find({device, of});
  return at == levels_.end() ? nullptr : &at->second;
}

const Level* PeakLevels::Of(const AllocationRecord& a) const {
  const std::optional<PeakLayer> of = PeakLayerOf(a.layer);
  return of ? Find(a.device, *of) : nullptr;
}

LevelChange Removed(const AllocationRecord& a) { return {a.birth, a.death, -Signed(a.bytes)}; }

LevelChange Delayed(const AllocationRecord& a, EventId at) {
  const bool alive = at > a.birth && at.valid() && (!a.death.valid() || at < a.death);
  return {a.birth, alive ? at : a.birth, -Signed(a.bytes)};
}

LevelChange Shortened(const AllocationRecord& a, EventId at) {
  const bool alive = at >= a.birth && at.valid() && (!a.death.valid() || at < a.death);
  return {alive ? EventId(at.value + 1) : a.death, a.death, -Signed(a.bytes)};
}

LevelChange Resized(const AllocationRecord& a, std::uint64_t bytes) {
  return {a.birth, a.death, Signed(bytes) - Signed(a.bytes)};
}

std::vector<NewPeak> PeaksWithout(
    const Session& session, const PeakLevels& levels, int device, PeakLayer of, std::size_t groups,
    const std::function<std::uint32_t(AllocationId, const AllocationRecord&)>& group_of) {
  std::vector<NewPeak> peaks(groups);
  const Level* level = levels.Find(device, of);
  if (level == nullptr) return peaks;
  const auto records = session.records();
  std::vector<std::pair<std::uint32_t, LevelChange>> members;  // with their group
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (a.device != device || PeakLayerOf(a.layer) != of) continue;
    const std::uint32_t group = group_of(AllocationId(i), a);
    if (group < groups) members.emplace_back(group, Removed(a));
  }
  std::vector<std::size_t> end(groups + 1, 0);
  for (const auto& [group, change] : members) ++end[group + 1];
  for (std::size_t g = 0; g < groups; ++g) end[g + 1] += end[g];
  std::vector<std::size_t> next(end.begin(), end.end() - 1);
  std::vector<LevelChange> changes(members.size());
  for (const auto& [group, change] : members) changes[next[group]++] = change;
  for (std::size_t g = 0; g < groups; ++g) {
    peaks[g] = level->With(std::span(changes).subspan(end[g], end[g + 1] - end[g]));
  }
  return peaks;
}

}  // namespace memprof::analysis
