// The leaks.
#include <memory>

#include "studies/leakbench/cases_lists.h"

namespace memprof::leakbench {
namespace {

// `count` blocks in every step for which `when` is true, never freed.
template <typename When>
LifeAndSlope Keep(Draw& draw, int count, double rate, When when) {
  const std::uint64_t bytes = draw.bytes;
  return {[=](Site& site, int step) mutable {
            if (step < 0 || !when(step)) return;
            for (int i = 0; i < count; ++i) site.Alloc(bytes);
          },
          rate * count * static_cast<double>(bytes)};
}
auto Always() {
  return [](int) { return true; };
}
auto Every(int period, int phase) {
  return [=](int step) { return step % period == phase; };
}
// With probability p, from a separate random source.
auto Sometimes(Draw& draw, double p) {
  return [p, own = draw.Own()](int) { return own->Chance(p); };
}

// Keeps one of `of` blocks that it allocates in a step. The others have various sizes and live
// until the next step, so that most of the site's live memory is not leaked.
LifeAndSlope KeepShare(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int of = draw.Between(5, 100);
  auto own = draw.Own();
  auto passing = std::make_shared<std::vector<std::uint64_t>>();
  return {
      [=](Site& site, int step) {
        if (step < 0) return;
        for (const std::uint64_t address : *passing) site.Free(address);
        passing->clear();
        const int others = own->Between(1, of);
        for (int i = 0; i < others; ++i) {
          passing->push_back(site.Alloc(bytes * static_cast<std::uint64_t>(own->Between(1, 32))));
          site.Touch(passing->back());
        }
        site.Alloc(bytes);
      },
      static_cast<double>(bytes)};
}

// All kept blocks are read in every step.
LifeAndSlope KeepAndRead(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  auto kept = std::make_shared<std::vector<std::uint64_t>>();
  return {[=](Site& site, int step) {
            if (step < 0) return;
            kept->push_back(site.Alloc(bytes));
            for (const std::uint64_t address : *kept) site.Touch(address);
          },
          static_cast<double>(bytes)};
}

// A cache with an entry for each shape, while new shapes keep occurring.
LifeAndSlope ShapesWithoutEnd(Draw& draw) {
  const double p = 0.3 + 0.05 * draw.Between(0, 10);
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  return {[=](Site& site, int step) {
            if (step >= 0 && own->Chance(p))
              site.Alloc(bytes * static_cast<std::uint64_t>(own->Between(1, 15)));
          },
          p * 8 * static_cast<double>(bytes)};
}

}  // namespace

std::vector<Case> LeakCases() {
  using analysis::Layer;
  std::vector<Case> cases;
  const auto add = [&cases](std::string name, std::function<LifeAndSlope(Draw&)> make,
                            Layer layer = Layer::kBlock) {
    cases.push_back({std::move(name), Truth::kLeak, std::move(make), layer});
  };
  add("history_of_losses", [](Draw& d) { return Keep(d, 1, 1, Always()); });
  add("retained_graph", [](Draw& d) { return Keep(d, d.Between(3, 8), 1, Always()); });
  add("saved_on_ctx", [](Draw& d) { return Keep(d, 1, 1, Always()); });
  add("detached_view_of_intermediates", [](Draw& d) { return Keep(d, 2, 1, Always()); });
  add("clone_with_its_graph", [](Draw& d) { return Keep(d, 2, 0.5, Every(2, d.Between(0, 1))); });
  add("every_few_steps", [](Draw& d) {
    const int period = d.Between(2, 6);
    return Keep(d, 1, 1.0 / period, Every(period, 0));
  });
  add("error_path", [](Draw& d) {
    const double p = 0.1 + 0.05 * d.Between(0, 8);
    return Keep(d, 1, p, Sometimes(d, p));
  });
  add("from_the_middle_on", [](Draw& d) {
    const int from = d.steps * d.Between(30, 50) / 100;
    return Keep(d, 1, 1, [from](int step) { return step >= from; });
  });
  add("evaluation_only", [](Draw& d) {
    const int period = d.Between(4, 8), count = d.Between(2, 6);
    return Keep(d, count, 1.0 / period, Every(period, period - 1));
  });
  add("some_of_many_temporaries", KeepShare);
  add(
      "raw_cuda_malloc", [](Draw& d) { return Keep(d, 1, 1, Always()); }, Layer::kLinear);
  add("shapes_without_end", ShapesWithoutEnd);
  add(
      "graph_execs", [](Draw& d) { return Keep(d, d.Between(1, 3), 1, Always()); }, Layer::kLinear);
  add("list_that_is_read_every_step", KeepAndRead);
  add(
      "pinned_buffers", [](Draw& d) { return Keep(d, 1, 1, Always()); }, Layer::kPinned);
  return cases;
}

}  // namespace memprof::leakbench
