// Non-leaks that look like leaks, and undecidable kinds.
#include <algorithm>
#include <deque>
#include <memory>
#include <set>

#include "studies/leakbench/cases_lists.h"
#include "studies/leakbench/lives.h"

namespace memprof::leakbench {
namespace {

// `count` blocks in the steps for which `when` is true; used in every step.
template <typename When>
LifeAndSlope Once(Draw& draw, int count, When when) {
  const std::uint64_t bytes = draw.bytes;
  auto kept = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
    if (when(step))
      for (int i = 0; i < count; ++i) kept->push_back(site.Alloc(bytes));
    if (step >= 0)
      for (const std::uint64_t address : *kept) site.Touch(address);
  }};
}

// Keeps the last `bound` blocks, one for each step.
LifeAndSlope Queue(Draw& draw, int bound, bool read) {
  const std::uint64_t bytes = draw.bytes;
  auto queue = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    queue->push_back(site.Alloc(bytes));
    if (static_cast<int>(queue->size()) > bound) {
      site.Free(queue->front());
      queue->pop_front();
    }
    if (read)
      for (const std::uint64_t address : *queue) site.Touch(address);
  }};
}

// Collects over `period` steps, then frees everything.
LifeAndSlope Cycle(Draw& draw, int period, int count) {
  const std::uint64_t bytes = draw.bytes;
  auto kept = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    if (step % period == 0) FreeAll(site, kept.get());
    for (int i = 0; i < count; ++i) kept->push_back(site.Alloc(bytes));
  }};
}

// Garbage that is collected at irregular times.
LifeAndSlope SawTooth(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const double p = 0.1 + 0.05 * draw.Between(0, 6);
  auto kept = std::make_shared<Addresses>();
  auto own = draw.Own();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    if (own->Chance(p)) FreeAll(site, kept.get());
    kept->push_back(site.Alloc(bytes));
  }};
}

// Replaces its block by a larger one whenever a larger input occurs.
LifeAndSlope GrowAndReplace(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  auto kept = std::make_shared<Addresses>();
  auto largest = std::make_shared<int>(0);
  return {[=](Site& site, int step) {
    if (step < 0) return;
    const int length = own->Between(1, 1000);
    if (length > *largest) {
      *largest = length;
      FreeAll(site, kept.get());
      kept->push_back(site.Alloc(bytes * static_cast<std::uint64_t>(length)));
    }
    site.Touch(kept->front());
  }};
}

// One entry for each of `kinds`, kept and used when it occurs again.
LifeAndSlope FiniteCache(Draw& draw, int kinds, int least_uses = 1) {
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  auto seen = std::make_shared<std::vector<std::uint64_t>>(static_cast<std::size_t>(kinds), 0);
  return {[=](Site& site, int step) {
    if (step < 0) return;
    for (int i = 0; i < least_uses; ++i) {
      std::uint64_t& entry = (*seen)[static_cast<std::size_t>(own->Between(0, kinds - 1))];
      if (entry == 0) entry = site.Alloc(bytes);
      site.Touch(entry);
    }
  }};
}

LifeAndSlope LruCache(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int bound = draw.Between(3, 10);
  auto own = draw.Own();
  auto order = std::make_shared<std::deque<std::pair<int, std::uint64_t>>>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    const int key = own->Between(0, 3 * bound);
    const auto found = std::find_if(order->begin(), order->end(),
                                    [key](const auto& entry) { return entry.first == key; });
    if (found != order->end()) {
      const auto entry = *found;
      order->erase(found);
      order->push_back(entry);
    } else {
      order->push_back({key, site.Alloc(bytes)});
    }
    site.Touch(order->back().second);
    if (static_cast<int>(order->size()) <= bound) return;
    site.Free(order->front().second);
    order->pop_front();
  }};
}

// Keeps the best `count` of blocks that occur every `period` steps.
LifeAndSlope BestOf(Draw& draw, int count, int period) {
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  auto best = std::make_shared<std::set<std::pair<int, std::uint64_t>>>();
  return {[=](Site& site, int step) {
    if (step < 0 || step % period != period - 1) return;
    const int loss = own->Between(0, 1'000'000);
    if (static_cast<int>(best->size()) == count && loss >= best->rbegin()->first) return;
    best->insert({loss, site.Alloc(bytes)});
    if (static_cast<int>(best->size()) <= count) return;
    site.Free(best->rbegin()->second);
    best->erase(std::prev(best->end()));
  }};
}

// Temporaries whose size grows with the steps.
LifeAndSlope Curriculum(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int count = draw.Between(1, 6);
  return {[=](Site& site, int step) {
    if (step < 0) return;
    for (int i = 0; i < count; ++i) {
      const std::uint64_t address = site.Alloc(bytes * static_cast<std::uint64_t>(step + 1));
      site.Touch(address);
      site.Free(address);
    }
  }};
}

// Allocates only when it has no free block; steps need varying numbers of blocks.
LifeAndSlope SaturatingPool(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int most = draw.Between(3, 10);
  auto own = draw.Own();
  auto pool = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    const int needed = own->Between(1, most);
    while (static_cast<int>(pool->size()) < needed) pool->push_back(site.Alloc(bytes));
    for (int i = 0; i < needed; ++i) site.Touch((*pool)[static_cast<std::size_t>(i)]);
  }};
}

}  // namespace

std::vector<Case> OtherCases() {
  using analysis::Layer;
  std::vector<Case> cases;
  const auto add = [&cases](std::string name, std::function<LifeAndSlope(Draw&)> make,
                            Layer layer = Layer::kBlock) {
    cases.push_back({std::move(name), Truth::kNoLeak, std::move(make), layer});
  };
  const auto at = [](int when) { return [when](int step) { return step == when; }; };
  add("parameters", [=](Draw& d) { return Once(d, d.Between(10, 60), at(-1)); });
  add("optimizer_state", [=](Draw& d) {
    constexpr int kFirst[] = {0, 1, 3, 7};
    return Once(d, d.Between(10, 60), at(kFirst[d.Between(0, 3)]));
  });
  add("lazy_workspaces", [](Draw& d) {
    const int until = std::max(2, d.steps * d.Between(5, 30) / 100), period = d.Between(1, 3);
    return Once(d, 1, [=](int step) { return step >= 0 && step < until && step % period == 0; });
  });
  add("grow_and_replace", GrowAndReplace);
  add("doubling_in_the_first_steps", [](Draw& d) {
    return Once(d, d.Between(4, 20), [](int step) { return step == 0 || step == 1; });
  });
  add("gradient_accumulation", [](Draw& d) { return Cycle(d, d.Between(2, 16), d.Between(1, 4)); });
  add("bounded_queue", [](Draw& d) { return Queue(d, d.Between(3, d.steps * 7 / 10), true); });
  add("kv_cache", [](Draw& d) { return Cycle(d, d.Between(5, d.steps / 2), 2); });
  add("averaged_copy", [=](Draw& d) { return Once(d, d.Between(10, 40), at(d.Between(0, 5))); });
  add("periodic_copy", [](Draw& d) { return Cycle(d, 1, d.Between(2, 8)); });
  add("best_checkpoints", [](Draw& d) { return BestOf(d, 3, d.Between(2, 5)); });
  add("scheduler_state_of_an_epoch",
      [](Draw& d) { return Cycle(d, d.Between(4, std::max(5, d.steps / 8)), 1); });
  add("prefetch", [](Draw& d) { return Queue(d, d.Between(1, 6), false); });
  add("deferred_frees", [](Draw& d) { return Queue(d, d.Between(1, 2), false); });
  add("epoch_metrics", [](Draw& d) { return Cycle(d, d.Between(5, d.steps / 2), 1); });
  add("garbage_collection", SawTooth);
  add("curriculum", Curriculum);
  add("finite_shapes",
      [](Draw& d) { return FiniteCache(d, d.Between(3, std::max(4, d.steps / 6))); });
  add("least_recently_used", LruCache);
  add("model_growth",
      [=](Draw& d) { return Once(d, d.Between(10, 40), at(d.steps * d.Between(20, 80) / 100)); });
  add("saturating_pool", SaturatingPool);
  add("evaluation_cache", [](Draw& d) {
    const int first = d.Between(4, std::max(5, d.steps / 4));
    return Once(d, d.Between(2, 10), [first](int step) { return step == first; });
  });
  add("graph_private_pool", [](Draw& d) {
    return Once(d, d.Between(4, 20), [](int step) { return step == 2 || step == 3; });
  });
  add("temporaries", [](Draw& d) { return Cycle(d, 1, d.Between(3, 20)); });
  add(
      "raw_scratch", [](Draw& d) { return Queue(d, d.Between(1, 3), true); }, Layer::kLinear);
  return cases;
}

std::vector<Case> UndecidableCases() {
  std::vector<Case> cases;
  cases.push_back({"queue_not_yet_full_and_read", Truth::kUndecidable,
                   [](Draw& d) { return Queue(d, d.steps + d.Between(1, 1000), true); }});
  cases.push_back({"queue_not_yet_full", Truth::kUndecidable,
                   [](Draw& d) { return Queue(d, d.steps + d.Between(1, 1000), false); }});
  return cases;
}

const std::vector<Case>& Cases(Kinds kinds) {
  static const std::vector<Case> kCases = [] {
    std::vector<Case> all = LeakCases();
    for (auto list : {MoreLeakCases(), OtherCases(), MoreOtherCases(), UndecidableCases()})
      for (Case& one : list) all.push_back(std::move(one));
    return all;
  }();
  static const std::vector<Case> kHeldOut = HeldOutCases();
  return kinds == Kinds::kHeldOut ? kHeldOut : kCases;
}

}  // namespace memprof::leakbench
