// The held-out half: other kinds than those used to develop the rule.
#include <algorithm>
#include <functional>
#include <memory>

#include "studies/leakbench/cases_lists.h"
#include "studies/leakbench/lives.h"

namespace memprof::leakbench {
namespace {

using analysis::Layer;

// Leaks.

LifeAndSlope FramesOfExceptions(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const double p = 0.2 + 0.05 * draw.Between(0, 4);
  auto own = draw.Own();
  return {[=](Site& site, int step) {
            if (step < 0 || !own->Chance(p)) return;
            for (const char* name : {"local", "argument", "result"}) site.AllocVia(name, 1, bytes);
          },
          3 * p * static_cast<double>(bytes)};
}

// Some of the sessions that requests open are never closed; the others are closed within a few
// iterations.
LifeAndSlope SessionsNeverClosed(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const double p = 0.25 + 0.1 * draw.Between(0, 3);
  const int most = draw.Between(1, 3);
  auto own = draw.Own();
  auto open = std::make_shared<std::deque<std::pair<int, std::uint64_t>>>();
  return {[=](Site& site, int step) {
            if (step < 0) return;
            for (auto it = open->begin(); it != open->end();) {
              if (it->first > step) {
                ++it;
                continue;
              }
              site.Free(it->second);
              it = open->erase(it);
            }
            const std::uint64_t address =
                site.AllocVia("kind" + std::to_string(own->Between(1, 8)), 1, bytes);
            if (!own->Chance(p)) open->push_back({step + own->Between(1, most), address});
          },
          p * static_cast<double>(bytes)};
}

LifeAndSlope CallbacksOnCallbacks(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int period = draw.Between(1, 2);
  return {[=](Site& site, int step) {
            if (step >= 0 && step % period == 0)
              site.AllocVia("callback", step / period + 1, bytes);
          },
          static_cast<double>(bytes) / period};
}

// A queue from which some entries are removed and forgotten.
LifeAndSlope ForgottenPrefetch(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int depth = draw.Between(1, 3);
  auto own = draw.Own();
  auto queue = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
            if (step < 0) return;
            queue->push_back(site.Alloc(bytes));
            if (static_cast<int>(queue->size()) <= depth) return;
            if (!own->Chance(0.3)) site.Free(queue->front());
            queue->pop_front();
          },
          0.3 * static_cast<double>(bytes)};
}

// Two histories in alternation, each replaced by a larger one.
LifeAndSlope TwoHistories(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  auto held = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
            if (step < 0) return;
            held->push_back(site.Alloc(bytes * static_cast<std::uint64_t>(step / 2 + 1)));
            if (held->size() <= 2) return;
            site.Free(held->front());
            held->pop_front();
          },
          static_cast<double>(bytes)};
}

void AddLeaks(std::vector<Case>* cases) {
  const auto add = [cases](std::string name, std::function<LifeAndSlope(Draw&)> make,
                           Layer layer = Layer::kBlock) {
    cases->push_back({std::move(name), Truth::kLeak, std::move(make), layer});
  };
  add("norms_of_gradients", [](Draw& d) { return KeptForEver(d, 1, [](int) { return 1; }); });
  add("context_that_grows", [](Draw& d) {
    auto own = d.Own();
    return Replaced(d, 4, [own, units = 0](int) mutable { return units += own->Between(1, 7); });
  });
  cases->back().replaced = true;
  add("frames_of_exceptions", FramesOfExceptions);
  add("callbacks_on_callbacks", CallbacksOnCallbacks);
  cases->back().alone = true;
  add("sessions_never_closed", SessionsNeverClosed);
  add("since_a_restart", [](Draw& d) {
    const int from = d.steps * d.Between(20, 40) / 100, period = d.Between(2, 3);
    return KeptForEver(d, 1.0 / period,
                       [=](int step) { return step >= from && step % period == 0 ? 1 : 0; });
  });
  add("cache_with_the_step_as_key", [](Draw& d) {
    return KeyedCache(
        d, 1, [](int step) { return step; }, [](int) { return 1; });
  });
  add("forgotten_prefetch", ForgottenPrefetch);
  add("two_of_three",
      [](Draw& d) { return KeptForEver(d, 2.0 / 3, [](int step) { return step % 3 != 0; }); });
  add(
      "staging_buffers",
      [](Draw& d) { return KeptForEver(d, 0.5, [](int step) { return step % 2; }); },
      Layer::kPinned);
  add("two_histories", TwoHistories);
  cases->back().replaced = true;
}

// No leaks.

// Keeps `slots` blocks; each is replaced in order or, with `by_chance`, at random.
LifeAndSlope Slots(Draw& draw, int slots, bool by_chance) {
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  auto kept = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    if (static_cast<int>(kept->size()) >= slots) {
      const int out = by_chance ? own->Between(0, slots - 1) : 0;
      site.Free((*kept)[static_cast<std::size_t>(out)]);
      kept->erase(kept->begin() + out);
    }
    kept->push_back(site.Alloc(bytes));
  }};
}

LifeAndSlope BestSoFar(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int count = draw.Between(2, 6);
  auto own = draw.Own();
  auto best = std::make_shared<std::vector<std::pair<int, std::uint64_t>>>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    const int loss = own->Between(0, 1'000'000);
    const auto worst = std::max_element(best->begin(), best->end());
    if (static_cast<int>(best->size()) == count) {
      if (loss >= worst->first) return;
      site.Free(worst->second);
      best->erase(worst);
    }
    best->push_back({loss, site.Alloc(bytes)});
  }};
}

// Each block lives for its own number of iterations, at most `most`.
LifeAndSlope ForSomeTurns(Draw& draw, int most) {
  const std::uint64_t bytes = draw.bytes;
  auto own = draw.Own();
  auto alive = std::make_shared<std::deque<std::pair<int, std::uint64_t>>>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    for (auto it = alive->begin(); it != alive->end();) {
      if (it->first > step) {
        ++it;
        continue;
      }
      site.Free(it->second);
      it = alive->erase(it);
    }
    alive->push_back({step + own->Between(1, most), site.Alloc(bytes)});
  }};
}

// The number of blocks follows a wave of load; the newest are freed first.
LifeAndSlope Wave(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const double period = std::max(6, draw.steps / draw.Between(4, 8));
  auto alive = std::make_shared<Addresses>();
  return {[=](Site& site, int step) {
    if (step < 0) return;
    const auto wanted = static_cast<std::size_t>(6 + 5 * std::sin(6.283 * step / period));
    while (alive->size() < wanted) alive->push_back(site.Alloc(bytes));
    while (alive->size() > wanted) {
      site.Free(alive->back());
      alive->pop_back();
    }
  }};
}

// Blocks are collected and freed together when a limit is reached, which varies.
LifeAndSlope Collected(Draw& draw) {
  const std::uint64_t bytes = draw.bytes;
  const int most = std::max(5, draw.steps / 5);
  auto own = draw.Own();
  auto kept = std::make_shared<Addresses>();
  return {[=, limit = 4](Site& site, int step) mutable {
    if (step < 0) return;
    if (static_cast<int>(kept->size()) >= limit) {
      FreeAll(site, kept.get());
      limit = own->Between(3, most);
    }
    kept->push_back(site.Alloc(bytes));
  }};
}

void AddOther(std::vector<Case>* cases, std::string name, std::function<LifeAndSlope(Draw&)> make) {
  cases->push_back({std::move(name), Truth::kNoLeak, std::move(make), Layer::kBlock});
}

// Caches, and copies that are kept temporarily.
void AddCachesAndCopies(std::vector<Case>* cases) {
  const auto add = std::bind_front(AddOther, cases);
  add("words_of_a_language", [](Draw& d) {
    auto own = d.Own();
    const int words = std::max(4, d.steps / 8);
    return KeyedCache(
        d, 3,
        [=](int) {
          const double u = static_cast<double>(own->Between(1, 1000)) / 1000;
          return static_cast<int>(std::pow(static_cast<double>(words), u));  // Zipf's distribution
        },
        [](int) { return 1; });
  });
  add("graphs_by_rare_batch_sizes", [](Draw& d) {
    auto own = d.Own();
    const double p = 0.4 + 0.1 * d.Between(0, 2);
    return KeyedCache(
        d, 1,
        [=](int) {
          int bucket = 0;
          while (bucket < 11 && own->Chance(1 - p)) ++bucket;
          return bucket;
        },
        [](int bucket) { return 1 << std::min(bucket, 10); });
  });
  add("copies_at_powers_of_two", [](Draw& d) {
    return KeptForEver(d, 0, [](int step) { return (step & (step - 1)) == 0 ? 1 : 0; });
  });
  add("ring_buffer", [](Draw& d) { return Slots(d, d.steps * d.Between(10, 55) / 100, false); });
  add("replay_with_random_eviction",
      [](Draw& d) { return Slots(d, d.steps * d.Between(10, 50) / 100, true); });
  add("best_so_far", BestSoFar);
  add("joined_per_epoch", [](Draw& d) {
    const int epoch = d.Between(3, d.steps / 4);
    return Replaced(d, 0, [=](int step) { return 2 * (step % epoch) + 1; });
  });
  add("prefetch_of_any_depth", [](Draw& d) { return Slots(d, d.Between(2, 8), false); });
}

// Memory that grows for a part of the run, or up to a limit.
void AddBoundedGrowth(std::vector<Case>* cases) {
  const auto add = std::bind_front(AddOther, cases);
  add("warm_up_of_a_fifth", [](Draw& d) {
    const int until = d.steps * d.Between(8, 20) / 100;
    return KeptForEver(d, 0, [=](int step) { return step < until ? 1 : 0; });
  });
  add("scratch_for_the_longest", [](Draw& d) {
    auto own = d.Own();
    return Replaced(d, 0, [own, most = 0](int) mutable {
      const int length = own->Between(1, 5000);
      if (length <= most) return 0;
      return most = length;
    });
  });
  add("state_of_unfrozen_layers", [](Draw& d) {
    const int groups = d.Between(2, 3), first = d.steps / (groups + 1);
    const std::uint64_t bytes = d.bytes;
    return LifeAndSlope{[=](Site& site, int step) {
      if (step > 0 && step % first == 0 && step / first <= groups)
        for (int i = 0; i < 8; ++i) site.Alloc(bytes);
    }};
  });
  add("average_made_anew", [](Draw& d) {
    const int period = d.Between(2, 6);
    return Replaced(d, 0, [=](int step) { return step % period == 0 ? 8 : 0; });
  });
  add("outputs_of_any_length", [](Draw& d) {
    auto own = d.Own();
    return Replaced(d, 0,
                    [=](int) { return static_cast<int>(std::exp(0.01 * own->Between(0, 500))); });
  });
  add("curriculum_in_stages", [](Draw& d) {
    const int stages = d.Between(2, 5), length = d.steps / stages + 1;
    return Replaced(d, 0, [=](int step) { return 1 + step / length; });
  });
  add("freed_some_turns_later", [](Draw& d) { return ForSomeTurns(d, d.Between(2, 8)); });
  add("entries_that_expire", [](Draw& d) { return ForSomeTurns(d, std::max(3, d.steps / 6)); });
  add("wave_of_load", Wave);
  add("collected_at_times", Collected);
}

}  // namespace

std::vector<Case> HeldOutCases() {
  std::vector<Case> cases;
  AddLeaks(&cases);
  AddCachesAndCopies(&cases);
  AddBoundedGrowth(&cases);
  return cases;
}

}  // namespace memprof::leakbench
