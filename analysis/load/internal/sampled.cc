// Two passes: over stretches, then over the blocks with weights.
#include "analysis/load/internal/sampled.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace memprof::analysis {
namespace {

using Row = std::uint32_t;
using DrawnPlace =
    std::tuple<Layer, int, std::uint64_t>;  // layer and device of frameworks, address

class SampledResolver {
 public:
  SampledResolver(TimeNs begin, bool complete, RawEvents* events, std::vector<Row>* order)
      : begin_(begin), complete_(complete), events_(*events), order_(*order) {}

  std::uint64_t Run() {
    CheckStretches();
    for (const Row row : order_) Take(row);
    for (const auto& [place, drawn] : drawn_) Keep(drawn.row);
    std::erase_if(order_, [this](Row row) { return dropped_.contains(row); });
    if (open_ != kForever) CloseLast();
    return odd_;
  }

 private:
  struct Drawn {
    Row row = 0;
    TimeNs end = 0;  // of its stretch
  };

  Op OpOf(Row row) const { return events_.KindOf(row).op; }
  TimeNs TimeOf(Row row) const { return events_.rows[row].time; }
  RawEvents::Detail& DetailOf(Row row) {
    std::uint32_t& detail = events_.rows[row].detail;
    if (detail == RawEvents::kNone) {
      detail = static_cast<std::uint32_t>(events_.details.size());
      events_.details.emplace_back();
    }
    return events_.details[detail];
  }
  void Drop(Row row) {
    dropped_.insert(row);
    --events_.rows_of_kind[events_.rows[row].kind];
  }
  void DropOdd(Row row) {
    Drop(row);
    ++odd_;
  }

  // Levels belong to the end of a stretch that follows them.
  void CheckStretches() {
    std::vector<Row> levels;
    for (const Row row : order_) {
      if (OpOf(row) == Op::kLevel) levels.push_back(row);
      if (OpOf(row) != Op::kThinned) continue;
      TimeNs& begin = DetailOf(row).aux0;
      const TimeNs least = stretches_.empty() ? begin_ : std::max(begin_, stretches_.back().end);
      if (begin > TimeOf(row)) {
        DropOdd(row);
        for (const Row level : levels) DropOdd(level);
      } else {
        odd_ += begin < least;
        begin = std::clamp(begin, std::min(least, TimeOf(row)), TimeOf(row));
        stretches_.push_back({begin, TimeOf(row)});
      }
      levels.clear();
    }
    for (const Row level : levels) DropOdd(level);
  }

  void Take(Row row) {
    const Op op = OpOf(row);
    if (op != Op::kSampled && op != Op::kAlloc && op != Op::kFree) return;
    const auto known = drawn_.find(PlaceOf(row));
    if (known != drawn_.end()) {
      const Drawn drawn = known->second;
      drawn_.erase(known);
      if (op == Op::kFree && TimeOf(row) <= drawn.end) {
        DetailOf(drawn.row).aux1 = TimeOf(row) - TimeOf(drawn.row);
        Drop(row);
      } else {
        Keep(drawn.row);
      }
    }
    if (op != Op::kSampled) return;
    if (const TimeNs end = EndOfStretch(TimeOf(row)); end != 0) {
      drawn_[PlaceOf(row)] = {row, end};
    } else {
      ++odd_;
      Keep(row);
    }
  }

  // Of the stretch that contains `time`; 0 = none.
  TimeNs EndOfStretch(TimeNs time) {
    while (next_ < stretches_.size() && stretches_[next_].end < time) ++next_;
    if (next_ < stretches_.size())
      return stretches_[next_].begin <= time ? stretches_[next_].end : 0;
    if (complete_) return 0;
    open_ = std::min(open_, time);
    return kForever;
  }

  // Makes a drawn block an allocation.
  void Keep(Row row) {
    std::uint32_t& kind = events_.rows[row].kind;
    const auto [at, is_new] =
        alloc_kind_.try_emplace(kind, static_cast<std::uint32_t>(events_.kinds.size()));
    if (is_new) {
      EventKind alloc = events_.kinds[kind];
      alloc.op = Op::kAlloc;
      events_.kinds.push_back(alloc);
      events_.rows_of_kind.push_back(0);
    }
    --events_.rows_of_kind[kind];
    kind = at->second;
    ++events_.rows_of_kind[kind];
    DetailOf(row).result = 0;
  }

  void CloseLast() {
    EventKind kind = events_.KindOf(order_.back());
    kind = {.op = Op::kThinned, .thread = kind.thread};
    const auto row = static_cast<Row>(events_.rows.size());
    events_.rows.push_back(
        {.time = TimeOf(order_.back()), .kind = static_cast<std::uint32_t>(events_.kinds.size())});
    events_.kinds.push_back(kind);
    events_.rows_of_kind.push_back(1);
    DetailOf(row).aux0 = open_;
    order_.push_back(row);
  }

  // Memory of the driver is freed by functions of any family, and on any device.
  DrawnPlace PlaceOf(Row row) const {
    const EventKind& kind = events_.KindOf(row);
    const std::uint64_t address = events_.rows[row].address;
    if (!IsFrameworkLayer(kind.layer)) return {Layer::kUnspecified, kNoDevice, address};
    return {kind.layer, kind.device, address};
  }

  const TimeNs begin_;
  const bool complete_;
  RawEvents& events_;
  std::vector<Row>& order_;
  std::vector<TimeWindow> stretches_;
  std::size_t next_ = 0;
  TimeNs open_ = kForever;                        // the beginning of a stretch that was not closed
  absl::flat_hash_map<DrawnPlace, Drawn> drawn_;  // and not freed yet
  absl::flat_hash_map<std::uint32_t, std::uint32_t> alloc_kind_;
  absl::flat_hash_set<Row> dropped_;
  std::uint64_t odd_ = 0;
};

}  // namespace

std::uint64_t ResolveSampled(TimeNs begin, bool complete, RawEvents* events,
                             std::vector<std::uint32_t>* order) {
  for (std::size_t i = 0; i < events->kinds.size(); ++i) {
    const Op op = events->kinds[i].op;
    if (op == Op::kSampled || op == Op::kThinned || op == Op::kLevel)
      return SampledResolver(begin, complete, events, order).Run();
  }
  return 0;
}

}  // namespace memprof::analysis
