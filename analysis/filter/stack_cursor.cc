// Walks stacks of memory event by event, and collects their blocks.
#include "analysis/filter/stack_cursor.h"

#include <algorithm>

namespace memprof::analysis {

void StackCursor::SeekBlock(std::size_t block) {
  event_ = static_cast<std::uint32_t>(
      std::min<std::size_t>(block * TimelineStack::kBlock, stack_.events()));
  state_.fill(0);
  for (std::size_t t = 0; t < stack_.tracks_.size(); ++t)
    state_[stack_.tracks_[t]] = stack_.block_state_[t][block];
  next_birth_ = stack_.block_birth_[block];
  deaths_.emplace(*stack_.session_, EventId(event_));
  pools_.Seek(event_);
}

void StackCursor::Seek(std::uint32_t event) {
  constexpr std::uint32_t kBlock = TimelineStack::kBlock;
  if (event_ > event || event_ / kBlock != event / kBlock) SeekBlock(event / kBlock);
  while (event_ < event) Step();
}

bool StackCursor::Step() {
  const std::span<const AllocationRecord> records = stack_.session_->records();
  const EventId event(event_);
  bool changed = false;
  for (const AllocationId id : deaths_->At(event)) changed |= stack_.Apply(id, false, state_);
  for (; next_birth_ < records.size() && records[next_birth_].birth <= event; ++next_birth_)
    changed |= stack_.Apply(AllocationId(next_birth_), true, state_);
  const std::uint64_t beyond = pools_.After(event);
  changed |= state_[TimelineStack::kBeyond] != beyond;
  state_[TimelineStack::kBeyond] = beyond;
  ++event_;
  return changed;
}

StackBuilder::StackBuilder(TimelineStack* stack)
    : stack_(stack), events_(stack->events()), pools_(stack->changes()) {
  const std::size_t tracks = TimelineStack::kFirstGroup + stack->groups_.bands.size();
  const std::size_t blocks = events_ / TimelineStack::kBlock + 2;
  stack->block_state_.resize(tracks);
  for (auto& states : stack->block_state_) states.reserve(blocks);
  stack->curves_.resize(stack->all_bands_.size() + 2);
  for (auto& curve : stack->curves_) {
    curve.least.reserve(blocks);
    curve.most.reserve(blocks);
  }
  stack->block_time_.reserve(blocks);
  stack->block_birth_.reserve(blocks);
  BeginBlock(0, 0);
}

void StackBuilder::BeginBlock(std::uint32_t event, std::uint32_t births) {
  if (event < events_) stack_->block_time_.push_back(stack_->session_->events().time(event));
  stack_->block_birth_.push_back(births);
  for (std::size_t t = 0; t < stack_->block_state_.size(); ++t)
    stack_->block_state_[t].push_back(state_[t]);
  least_.fill(~std::uint64_t{0});
  most_.fill(0);
  open_ = false;
}

void StackBuilder::EndBlock() {
  for (std::size_t o = 0; o < stack_->curves_.size(); ++o) {
    stack_->curves_[o].least.push_back(least_[o]);
    stack_->curves_[o].most.push_back(most_[o]);
  }
}

void StackBuilder::After(std::uint32_t event, std::uint32_t births) {
  const std::uint64_t beyond = pools_.After(EventId(event));
  changed_ |= state_[TimelineStack::kBeyond] != beyond;
  state_[TimelineStack::kBeyond] = beyond;
  if (changed_ || !open_) {
    if (changed_) {
      stack_->Evaluate(state_, now_);
      std::uint64_t below = 0;
      for (std::size_t b = 0; b < stack_->all_bands_.size(); ++b) {
        seen_[b] = seen_[b] || now_[b] > below;
        below = now_[b];
      }
      for (std::size_t t = 0; t < stack_->block_state_.size(); ++t) ever_[t] |= state_[t];
    }
    for (std::size_t o = 0; o < stack_->curves_.size(); ++o) {
      least_[o] = std::min(least_[o], now_[o]);
      most_[o] = std::max(most_[o], now_[o]);
    }
    changed_ = false;
    open_ = true;
  }
  if ((event + 1) % TimelineStack::kBlock != 0) return;
  EndBlock();
  BeginBlock(event + 1, births);
}

void StackBuilder::Finish() {
  TimelineStack& stack = *stack_;
  const std::uint32_t births = static_cast<std::uint32_t>(stack.session_->records().size());
  if (events_ % TimelineStack::kBlock != 0) {
    EndBlock();
    BeginBlock(events_, births);  // the state at the end
  }
  const std::size_t bands = stack.all_bands_.size();
  for (std::size_t b = 0; b < bands; ++b) {
    if (!seen_[b]) continue;
    stack.kept_.push_back(static_cast<std::uint8_t>(b));
    stack.bands_.push_back(stack.all_bands_[b]);
  }
  // In use is always an edge, and so is the memory requested from the driver if no allocator
  // divides it.
  if (stack.groups_.framework) stack.kept_.push_back(static_cast<std::uint8_t>(bands + 1));
  std::vector<TimelineStack::Curve> kept;
  for (const std::uint8_t output : stack.kept_) kept.push_back(std::move(stack.curves_[output]));
  stack.curves_ = std::move(kept);
  for (TimelineStack::Curve& curve : stack.curves_)
    curve.pyramid = MinMaxPyramid(curve.least, curve.most);
  std::vector<std::vector<std::uint64_t>> states;
  for (std::size_t t = 0; t < stack.block_state_.size(); ++t) {
    if (ever_[t] == 0) continue;
    stack.tracks_.push_back(static_cast<std::uint8_t>(t));
    states.push_back(std::move(stack.block_state_[t]));
  }
  stack.block_state_ = std::move(states);
}

}  // namespace memprof::analysis
