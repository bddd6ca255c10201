// Kinds of allocation sites in a training run: leaks, similar patterns that are not leaks, and
// patterns that no record of allocations can distinguish from a leak. docs/leakbench.md describes
// them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::leakbench {

// One site of one run. Its calls add events to the log at the current time.
class Site {
 public:
  virtual ~Site() = default;
  // Allocates in the site's layer; returns the address.
  virtual std::uint64_t Alloc(std::uint64_t bytes) = 0;
  // The same through `depth` calls of the function `helper` below the case's function.
  virtual std::uint64_t AllocVia(const std::string& helper, int depth, std::uint64_t bytes) = 0;
  virtual void Free(std::uint64_t address) = 0;
  // Passes the address to a kernel.
  virtual void Touch(std::uint64_t address) = 0;
};

enum class Truth { kLeak, kNoLeak, kUndecidable };

// The behaviour of a site: called once with step -1 before the first step, then with each step.
using Life = std::function<void(Site&, int step)>;

// Random numbers for the parameters of a case, drawn once for each run.
struct Draw {
  std::mt19937_64 random;
  int steps = 0;
  std::uint64_t bytes = 0;  // size of the site's blocks, unless the case uses other sizes

  int Between(int low, int high) {
    return low + static_cast<int>(random() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool Chance(double p) { return static_cast<double>(random() % 1'000'000) < p * 1e6; }
  // A separate random source, for a life that draws numbers while it runs.
  std::shared_ptr<Draw> Own() {
    return std::make_shared<Draw>(Draw{.random = std::mt19937_64(random())});
  }
};

struct LifeAndSlope {
  Life life;
  double bytes_per_step = 0;  // average leak rate from the first leaked block on; 0 = not checked
};

struct Case {
  std::string name;  // also the name of the allocating function
  Truth truth = Truth::kNoLeak;
  std::function<LifeAndSlope(Draw&)> make;
  analysis::Layer layer = analysis::Layer::kBlock;
  // Its stack differs in each iteration. In a common log, so many stacks would reduce the weight of
  // the other cases' stacks when sites are chosen.
  bool alone = false;
  bool replaced = false;  // leaks by growing one block
};

// kDevelopment: used while the rule was developed. kHeldOut: written before the rule was changed,
// and evaluated only when the change was complete.
enum class Kinds { kDevelopment, kHeldOut };
const std::vector<Case>& Cases(Kinds kinds = Kinds::kDevelopment);

}  // namespace memprof::leakbench
