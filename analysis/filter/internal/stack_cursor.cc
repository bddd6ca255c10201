// Walks stacks of memory event by event, or by whole blocks.
#include "analysis/filter/internal/stack_cursor.h"

#include <algorithm>

namespace memprof::analysis {
namespace {

// Adds the blocks [begin, end) to `range`.
void Join(const StackData& stack, std::size_t begin, std::size_t end, StackRange& range) {
  for (std::size_t slot = 0; slot < stack.kept.size(); ++slot) {
    const StackData::Curve& curve = stack.curves[slot];
    curve.pyramid.Join(curve.least, curve.most, begin, end, range.least[slot], range.most[slot]);
  }
}

}  // namespace

void StackCursor::SeekBlock(std::size_t block) {
  event_ = static_cast<std::uint32_t>(std::min<std::size_t>(block * kBlock, stack_.events()));
  state_.fill(0);
  for (std::size_t t = 0; t < stack_.tracks.size(); ++t)
    state_[stack_.tracks[t]] = stack_.block_state[t][block];
  next_birth_ = stack_.block_birth[block];
  deaths_.emplace(*stack_.session, EventId(event_));
  pools_.Seek(event_);
  rest_.Seek(event_);
}

void StackCursor::Seek(std::uint32_t event) {
  if (event_ > event || event_ / kBlock != event / kBlock) SeekBlock(event / kBlock);
  while (event_ < event) Step();
}

bool StackCursor::Step() {
  const std::span<const AllocationRecord> records = stack_.session->records();
  const EventId event(event_);
  bool changed = false;
  for (const AllocationId id : deaths_->At(event)) changed |= stack_.Apply(id, false, state_);
  for (; next_birth_ < records.size() && records[next_birth_].birth <= event; ++next_birth_)
    changed |= stack_.Apply(AllocationId(next_birth_), true, state_);
  const std::uint64_t beyond = pools_.After(event);
  changed |= state_[StackData::kBeyond] != beyond;
  state_[StackData::kBeyond] = beyond;
  changed |= StackData::Apply(rest_.At(event_), state_);
  ++event_;
  return changed;
}

StackRange StackCursor::RangeOf(TimeWindow window, std::uint32_t first, std::uint32_t last,
                                bool own) {
  StackRange range;
  range.least.fill(~std::uint64_t{0});
  range.most.fill(0);
  StackData::Outputs outputs;
  const auto look = [&] {
    stack_.Evaluate(state_, outputs);
    std::uint64_t below = 0;
    for (std::size_t slot = 0; slot < stack_.kept.size(); ++slot) {
      std::uint64_t value = outputs[stack_.kept[slot]];
      if (own) {
        value -= std::min(below, value);
        below = outputs[stack_.kept[slot]];
      }
      range.least[slot] = std::min(range.least[slot], value);
      range.most[slot] = std::max(range.most[slot], value);
    }
  };
  if (window.end <= window.begin) {  // what holds at that instant
    Seek(window.begin == kForever ? stack_.events() : stack_.FirstEventFrom(window.begin + 1));
    look();
    return range;
  }
  if (first == last || first == stack_.events() ||
      stack_.session->events().time(first) > window.begin) {
    Seek(first);  // what held before still holds when the range begins
    look();
  }
  const auto walk = [&](std::uint32_t from, std::uint32_t to) {
    if (from >= to) return;
    Seek(from);
    for (bool fresh = true; from < to; ++from, fresh = false)
      if (Step() || fresh) look();
  };
  const std::uint32_t inner_first = (first + kBlock - 1) / kBlock, inner_last = last / kBlock;
  if (own || inner_first >= inner_last) {
    walk(first, last);
    return range;
  }
  walk(first, inner_first * kBlock);
  Join(stack_, inner_first, inner_last, range);
  walk(inner_last * kBlock, last);
  return range;
}

}  // namespace memprof::analysis
