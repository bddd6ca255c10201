// Kinds of allocation sites in a training: leaks, what looks like a leak and is none, and what no
// record of allocations can tell from a leak. docs/leakbench.md says what they stand for.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::leakbench {

// One site of one run. What it calls happens in the log, now.
class Site {
 public:
  virtual ~Site() = default;
  // Of the site's layer; returns the address.
  virtual std::uint64_t Alloc(std::uint64_t bytes) = 0;
  // The same by way of `depth` calls of the function `helper` below the case's own.
  virtual std::uint64_t AllocVia(const std::string& helper, int depth, std::uint64_t bytes) = 0;
  virtual void Free(std::uint64_t address) = 0;
  // A kernel gets the address.
  virtual void Touch(std::uint64_t address) = 0;
};

enum class Truth { kLeak, kNoLeak, kUndecidable };

// A site's life: called with step -1 once, before the first step, then with each step.
using Life = std::function<void(Site&, int step)>;

// What a case's numbers are drawn from, once a run.
struct Draw {
  std::mt19937_64 random;
  int steps = 0;
  std::uint64_t bytes = 0;  // of the site's blocks, unless it says otherwise

  int Between(int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(double p) { return static_cast<double>(random() % 1'000'000) < p * 1e6; }
  // A source of chance of its own, for a life that draws while it runs.
  std::shared_ptr<Draw> Own() {
    return std::make_shared<Draw>(Draw{.random = std::mt19937_64(random())});
  }
};

struct LifeAndSlope {
  Life life;
  double bytes_per_step = 0;  // that it leaks on average, from when on it leaks; 0 = not checked
};

struct Case {
  std::string name;  // also the function at which its memory is allocated
  Truth truth = Truth::kNoLeak;
  std::function<LifeAndSlope(Draw&)> make;
  analysis::Layer layer = analysis::Layer::kBlock;
  // Its way is another in each turn: next to so many stacks, those of others would count for little
  // when sites are chosen.
  bool alone = false;
  bool replaced = false;  // leaks by making one block larger and larger
};

// kDevelopment: what the rule was made on. kHeldOut: kinds that were written before the rule was
// changed, and looked at only when it was done.
enum class Kinds { kDevelopment, kHeldOut };
const std::vector<Case>& Cases(Kinds kinds = Kinds::kDevelopment);

}  // namespace memprof::leakbench
