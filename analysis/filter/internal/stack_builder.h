// Builds stacks of memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "analysis/filter/internal/stack_data.h"
#include "analysis/timeline/pool_changes.h"

namespace memprof::analysis {

// Collects the blocks of a stack from all events, in order.
class StackBuilder {
 public:
  StackBuilder(const std::shared_ptr<const Session>& session, int device, bool framework,
               StackGroups groups);
  int device() const { return stack_->device; }
  void Birth(AllocationId id) { changed_ |= stack_->Apply(id, true, state_); }
  void Death(AllocationId id) { changed_ |= stack_->Apply(id, false, state_); }
  // `births`: on any device, so far.
  void After(std::uint32_t event, std::uint32_t births);
  // Call once, after the last event.
  std::unique_ptr<const StackData> Finish();

 private:
  void ListBands();
  void AddRestBands();
  void BeginBlock(std::uint32_t event, std::uint32_t births);
  void EndBlock();

  std::unique_ptr<StackData> stack_;
  const std::uint32_t events_;
  PoolCursor pools_;
  RestCursor rest_;
  StackData::State state_{}, ever_{};
  StackData::Outputs now_{}, least_{}, most_{};
  std::array<bool, StackData::kOutputs> seen_{};
  bool changed_ = true, open_ = false;
};

// The device of `like`, with other groups.
std::unique_ptr<const StackData> BuildStack(const StackData& like, StackGroups groups);

}  // namespace memprof::analysis
