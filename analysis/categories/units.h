// The pieces of memory that get a category, and where in its step each is born and dies.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "analysis/store/session.h"

namespace memprof::analysis {

// Where in a step a unit is born, by the shape of the memory in use alone.
enum class Slope : std::uint8_t {
  kBefore,  // before the first step
  kUp,      // while memory rises to the top of a hill: a forward pass
  kDown,    // while it falls: a backward pass
  kFlat,    // between hills: an optimizer
};

// A block, driver memory that nobody suballocates, or a tensor that lies in what others share.
// One for each allocation that is judged, of which there may be many millions: 40 bytes.
struct CategoryUnit {
  AllocationId id;
  AllocationId tensor;      // the largest that lies in it; none
  std::uint64_t bytes = 0;  // as asked for
  EventId birth, death;
  StackId stack;
  std::int32_t step = -1;  // index among the steps of its process
  std::uint32_t hill = 0;  // which one, counted over the run; units of one hill are of one place
  std::int16_t device = kNoDevice;
  std::uint8_t process = 0;  // row of the session's
  Slope slope : 2 = Slope::kBefore;
  bool outlives_hill : 1 = false;  // lives on when the hill that it was born on is over
  bool scratch : 1 = false;        // nothing else is made at its place while it lives
  // Lives when the last step begins, and at least from one step to another.
  bool stays : 1 = false;
  bool crosses : 1 = false;       // lives on when the next step of its process begins
  bool in_last_step : 1 = false;  // nothing of its process is made in a later one

  // Its process on its device: what is in use there rises and falls with that process' steps.
  std::uint32_t place() const {
    return (std::uint32_t{process} << 16) | static_cast<std::uint16_t>(device);
  }
};
static_assert(sizeof(CategoryUnit) == 40);

// In order of birth, without slopes. `steps` are the session's, or others. O(events).
std::vector<CategoryUnit> FindCategoryUnits(const Session& session,
                                            std::span<const StepInfo> steps);

// Fills in slopes, hills and what follows from them. Units that `apart` has are left out of the
// memory in use that hills are read from: what is kept from a backward pass to the optimizer would
// hide where the pass ends, and workspaces would hide the pass. `gradients_apart`: processes whose
// gradients are among them. O(events).
void ReadHills(const Session& session, const std::vector<bool>& apart,
               const absl::flat_hash_set<std::uint8_t>& gradients_apart,
               std::vector<CategoryUnit>* units);

// Finds slopes: of `units` of one place, in order of birth, within one step. Exposed for tests.
// `levels[i]` are the bytes live right before unit i is born, `level_after` when the step is over;
// `hill_ends[i]` is the unit with which the hill of unit i is over.
std::vector<Slope> FindSlopes(std::span<const std::uint64_t> levels,
                              std::span<const std::uint64_t> bytes, std::uint64_t level_after,
                              std::vector<std::uint32_t>* hill_ends);

}  // namespace memprof::analysis
