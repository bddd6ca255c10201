// More kinds of the development half: those that older versions of the rule missed, and similar
// non-leaks.
#include <memory>

#include "studies/leakbench/cases_lists.h"
#include "studies/leakbench/lives.h"

namespace memprof::leakbench {
namespace {

// Blocks of each iteration through a different stack, or through ever deeper calls.
LifeAndSlope ByWays(Draw& draw, int ways, bool deeper) {
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  return {[=](Site& site, int step) {
            if (step < 0) return;
            if (deeper)
              site.AllocVia("wrapper", step + 1, bytes);
            else
              site.AllocVia("layer" + std::to_string(own->Between(1, ways)), 1, bytes);
          },
          static_cast<double>(bytes)};
}

// Each block of an iteration is kept with some probability; the others are freed in the next
// iteration.
LifeAndSlope SomeStay(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const double p = 0.3 + 0.1 * draw.Between(0, 4);
  auto own = draw.Own();
  auto passing = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
            if (step < 0) return;
            FreeAll(site, passing.get());
            const std::uint64_t address = site.Alloc(bytes);
            if (!own->Chance(p)) passing->push_back(address);
          },
          p * static_cast<double>(bytes)};
}

}  // namespace

std::vector<Case> MoreLeakCases() {
  std::vector<Case> cases;
  const auto add = [&cases](std::string name, std::function<LifeAndSlope(Draw&)> make) {
    cases.push_back({std::move(name), Truth::kLeak, std::move(make), analysis::Layer::kBlock});
  };
  add("replaced_by_a_larger_one",
      [](Draw& d) { return Replaced(d, 1, [](int step) { return step + 1; }); });
  add("appended_to_every_few_steps", [](Draw& d) {
    const int period = d.Between(2, 4);
    return Replaced(d, 1.0 / period,
                    [=](int step) { return step % period == 0 ? step / period + 1 : 0; });
  });
  add("uneven_births", [](Draw& d) {
    const double p = 0.18 + 0.04 * d.Between(0, 5);
    auto own = d.Own();
    return KeptForEver(d, p, [=](int) { return own->Chance(p) ? 1 : 0; });
  });
  for (std::size_t i = 0; i < 2; ++i) cases[i].replaced = true;
  add("modules_made_each_turn", [](Draw& d) { return ByWays(d, d.Between(6, 20), false); });
  add("hooks_around_hooks", [](Draw& d) { return ByWays(d, 1, true); });
  cases.back().alone = true;
  add("of_all_sizes", [](Draw& d) {
    auto own = d.Own();
    return KeptForEver(d, 8, [=](int) { return own->Between(1, 15); });
  });
  add("some_stay", SomeStay);
  return cases;
}

std::vector<Case> MoreOtherCases() {
  std::vector<Case> cases;
  const auto add = [&cases](std::string name, std::function<LifeAndSlope(Draw&)> make) {
    cases.push_back({std::move(name), Truth::kNoLeak, std::move(make), analysis::Layer::kBlock});
  };
  // Lengths rounded up to buckets; long ones are rare.
  add("buckets_of_rare_lengths", [](Draw& d) {
    auto own = d.Own();
    const double spread = 0.1 * d.Between(3, 7);
    return KeyedCache(
        d, 1,
        [=](int) {
          std::lognormal_distribution<double> length(3, spread);
          return static_cast<int>(length(own->random) / 8);
        },
        [](int key) { return key + 1; });
  });
  add("snapshots_further_and_further_apart", [](Draw& d) {
    const int factor = d.Between(0, 1);
    return KeptForEver(d, 0, [=](int step) {
      int next = 1;
      while (next < step) next = factor == 0 ? next * 2 : next + next / 2 + 1;
      return next == step ? 1 : 0;
    });
  });
  add("filled_in_the_first_epoch", [](Draw& d) {
    const int epoch = d.steps * d.Between(20, 55) / 100;
    return KeptForEver(d, 0, [=](int step) { return step < epoch ? 1 : 0; });
  });
  add("longer_in_stages_until_the_next", [](Draw& d) {
    const int stages = d.Between(2, 4), length = d.steps / stages + 1;
    return Replaced(d, 0, [=](int step) { return 4 << (step / length); });
  });
  add("of_any_length_until_the_next", [](Draw& d) {
    auto own = d.Own();
    return Replaced(d, 0, [=](int) { return own->Between(1, 64); });
  });
  add("metrics_joined_until_the_epoch_ends", [](Draw& d) {
    const int epoch = d.Between(4, d.steps / 3);
    return Replaced(d, 0, [=](int step) { return step % epoch + 1; });
  });
  return cases;
}

}  // namespace memprof::leakbench
