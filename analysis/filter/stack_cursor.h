// Steps through a TimelineStack event by event, from any of its blocks.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/filter/internal/timeline_stack.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {

// Groups by kind of memory, as in BuildKindStacks.
StackGroups KindGroups(int device, bool framework);

// The state of a stack before event(). Call Seek first.
class StackCursor {
 public:
  explicit StackCursor(const TimelineStack& stack) : stack_(stack), pools_(stack.changes()) {}

  std::uint32_t event() const { return event_; }
  const TimelineStack::State& state() const { return state_; }
  // Moves to before `event`, at most the number of events: by steps from here, or from its block's
  // begin.
  void Seek(std::uint32_t event);
  // Moves past event(). False if the state did not change.
  bool Step();

 private:
  void SeekBlock(std::size_t block);

  const TimelineStack& stack_;
  std::uint32_t event_ = EventId::kNone;
  TimelineStack::State state_{};
  std::optional<Deaths> deaths_;
  std::uint32_t next_birth_ = 0;
  PoolCursor pools_;
};

// Collects the blocks of a stack, while it steps through its events in order.
class StackBuilder {
 public:
  explicit StackBuilder(TimelineStack* stack);
  void Birth(AllocationId id) { changed_ |= stack_->Apply(id, true, state_); }
  void Death(AllocationId id) { changed_ |= stack_->Apply(id, false, state_); }
  // `births`: on any device, so far.
  void After(std::uint32_t event, std::uint32_t births);
  // Call after the last event.
  void Finish();

 private:
  void BeginBlock(std::uint32_t event, std::uint32_t births);
  void EndBlock();

  TimelineStack* const stack_;
  const std::uint32_t events_;
  PoolCursor pools_;
  TimelineStack::State state_{}, ever_{};
  TimelineStack::Outputs now_{}, least_{}, most_{};
  std::array<bool, TimelineStack::kOutputs> seen_{};
  bool changed_ = true, open_ = false;
};

}  // namespace memprof::analysis
