// A training as its blocks show it: which part of a pass allocated each, and when passes begin.
#pragma once

#include <cstdint>
#include <vector>

#include "analysis/categories/categories.h"
#include "analysis/categories/stacks.h"
#include "analysis/categories/units.h"
#include "analysis/peak/change.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::analysis::remedies {

// Right after `event`.
inline EventId After(EventId event) { return EventId(event.value + 1); }

enum class Part : std::uint8_t { kOther, kForward, kBackward, kOptimizer };

struct Block {
  AllocationId id;
  Part part = Part::kOther;
  Category category = Category::kUnknown;
  std::uint32_t pass = 0;  // row of passes; that before the first is 0 too
  std::uint64_t bytes = 0;
  EventId birth, death;  // death: none = the log's end
  StackId stack;
};

// A forward and a backward pass, and what follows until the next forward pass. Events at which the
// parts begin: each is at most the next one.
struct Pass {
  EventId forward, backward, after, end;
  EventId last_backward;  // the last allocation of the backward pass
};

// The blocks of one device and process, in order of birth.
struct Training {
  int device = kNoDevice;
  std::uint32_t process = 0;  // row of Session::processes()
  const Level* level = nullptr;
  EventId peak;  // after which most is held
  std::vector<Block> blocks;
  std::vector<Pass> passes;  // those with a backward pass

  bool LiveAtPeak(const Block& block) const {
    return block.birth <= peak && (!block.death.valid() || peak < block.death);
  }
};

// Of each device and process whose blocks a PyTorch program allocated, with at least one pass.
std::vector<Training> FindTrainings(const Session& session, Symbols* symbols,
                                    const Categories& categories, const PeakLevels& levels);

}  // namespace memprof::analysis::remedies
