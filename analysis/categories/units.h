// The pieces of memory that get a category, with the position of their birth and death in a step.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// The position of a unit's birth in its step, from the shape of the memory in use only.
enum class Slope : std::uint8_t {
  kBefore,  // before the first step
  kUp,      // while memory rises to the top of a hill: a forward pass
  kDown,    // while it falls: a backward pass
  kFlat,    // between hills: an optimizer
};

// A block, driver memory that no allocator divides, or a tensor in memory that several share. One
// for each judged allocation, of which there may be many millions: 40 bytes.
struct CategoryUnit {
  AllocationId id;
  AllocationId tensor;      // the largest that lies in it; none
  std::uint64_t bytes = 0;  // as requested
  EventId birth, death;
  StackId stack;
  std::int32_t step = -1;  // index among the steps of its process
  std::uint32_t hill = 0;  // numbered over the run; all units of a hill have the same place
  std::int16_t device = kNoDevice;
  std::uint8_t process = 0;  // row of the session's processes
  Slope slope : 2 = Slope::kBefore;
  bool outlives_hill : 1 = false;  // lives on after the hill of its birth
  bool scratch : 1 = false;        // nothing else is allocated at its place while it lives
  // Never freed, or live when the last step of its process begins.
  bool stays : 1 = false;
  bool crosses : 1 = false;       // lives on when the next step of its process begins
  bool in_last_step : 1 = false;  // its process allocates nothing in a later step

  // Process and device: the memory in use there follows the steps of that process.
  std::uint32_t place() const {
    return (std::uint32_t{process} << 16) | static_cast<std::uint16_t>(device);
  }
};
static_assert(sizeof(CategoryUnit) == 40);

// In order of birth, without slopes. `steps`: the session's, or others. O(events).
std::vector<CategoryUnit> FindCategoryUnits(const Session& session,
                                            std::span<const StepInfo> steps);

// Fills in slopes, hills and what follows from them. Units in `apart` are left out of the memory in
// use from which hills are found: memory that is kept from a backward pass to the optimizer would
// hide the end of the pass, and workspaces would hide the pass. `gradients_apart`: processes whose
// gradients are among them. O(events).
void ReadHills(const Session& session, const std::vector<bool>& apart,
               const absl::flat_hash_set<std::uint8_t>& gradients_apart,
               std::vector<CategoryUnit>* units);

// The slopes of the units of one place, in order of birth, within one step. Public for tests.
// `levels[i]`: bytes live right before unit i is born; `level_after`: at the end of the step;
// `hill_ends[i]`: the unit with which the hill of unit i ends.
std::vector<Slope> FindSlopes(std::span<const std::uint64_t> levels,
                              std::span<const std::uint64_t> bytes, std::uint64_t level_after,
                              std::vector<std::uint32_t>* hill_ends);

}  // namespace memprof::analysis
