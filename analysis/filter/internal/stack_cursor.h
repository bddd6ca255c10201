// Steps through a stack event by event, from any of its blocks.
#pragma once

#include <cstdint>
#include <optional>

#include "analysis/filter/internal/stack_data.h"
#include "analysis/store/lifetime_walk.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {

// The minimum and maximum of a slot of StackData::kept, or of one band.
struct StackRange {
  StackData::Outputs least, most;
};

// The state of a stack before event(). Call Seek first.
class StackCursor {
 public:
  explicit StackCursor(const StackData& stack)
      : stack_(stack), pools_(stack.changes()), rest_(stack.rest()) {}

  std::uint32_t event() const { return event_; }
  const StackData::State& state() const { return state_; }
  // Moves to before `event`, at most the number of events: by steps from here, or from its block's
  // begin.
  void Seek(std::uint32_t event);
  // Moves past event(). False if the state did not change.
  bool Step();
  // Over [begin, end), which has the events [first, last): of edges, or, with `own`, of the bands.
  StackRange RangeOf(TimeWindow window, std::uint32_t first, std::uint32_t last, bool own);

 private:
  static constexpr std::uint32_t kBlock = StackData::kBlock;

  void SeekBlock(std::size_t block);

  const StackData& stack_;
  std::uint32_t event_ = EventId::kNone;
  StackData::State state_{};
  std::optional<Deaths> deaths_;
  std::uint32_t next_birth_ = 0;
  PoolCursor pools_;
  RestCursor rest_;
};

}  // namespace memprof::analysis
