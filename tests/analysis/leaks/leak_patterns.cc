// Definitions of the patterns.
#include "tests/analysis/leaks/leak_patterns.h"

#include <deque>
#include <set>

#include "analysis/base/sizes.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {
namespace {

using Step = std::function<void(LeakRun&, int)>;

void FreeAll(LeakRun& run) {
  while (!run.live().empty()) run.Free(run.live().begin()->first);
}

// Keeps the last `bound` allocations.
Step Queue(std::size_t bound) {
  auto queue = std::make_shared<std::deque<std::uint64_t>>();
  return [queue, bound](LeakRun& run, int step) {
    if (step < 0) return;
    queue->push_back(run.Alloc(kMiB));
    if (queue->size() <= bound) return;
    run.Free(queue->front());
    queue->pop_front();
  };
}

// Leaks `bytes` in every step for which `when` is true.
Step LeakWhen(std::function<bool(LeakRun&, int)> when, std::uint64_t bytes) {
  return [when = std::move(when), bytes](LeakRun& run, int step) {
    if (step >= 0 && when(run, step)) run.Alloc(bytes);
  };
}

// Allocates once for each of `shapes` shapes, when the shape first occurs.
Step ShapeCache(int shapes) {
  auto seen = std::make_shared<std::set<std::uint64_t>>();
  return [seen, shapes](LeakRun& run, int step) {
    if (step < 0) return;
    const std::uint64_t shape = run.Random(static_cast<std::uint64_t>(shapes));
    if (seen->insert(shape).second) run.Alloc((1 + shape) * 4096);
  };
}

// Frees all every `period` steps.
Step Cycle(int period) {
  return [period](LeakRun& run, int step) {
    if (step < 0) return;
    if (step % period == 0) FreeAll(run);
    run.Alloc(kMiB);
  };
}

void AddLeak(std::vector<LeakPattern>& patterns, std::string name, std::function<Step()> make,
             int min_steps, double slope = 0) {
  patterns.push_back({std::move(name), true, std::move(make), min_steps, slope});
}

void AddLeaksOfEveryStep(std::vector<LeakPattern>& patterns) {
  const auto add = [&patterns](std::string name, std::function<Step()> make, double slope) {
    AddLeak(patterns, std::move(name), std::move(make), 30, slope);
  };
  const auto always = [](LeakRun&, int) { return true; };
  add(
      "history", [=] { return LeakWhen(always, 4 * kMiB); }, 4 * kMiB);
  add(
      "history freed at exit",
      [=] {
        return Step([](LeakRun& run, int step) {
          if (step >= 0) run.Alloc(kMiB);
          if (step == run.steps() - 1) FreeAll(run);
        });
      },
      kMiB);
  add(
      "raw cudaMalloc in an extension",
      [=] {
        return Step([](LeakRun& run, int step) {
          run.UseLayer(Layer::kLinear);
          if (step >= 0) run.Alloc(65536);
        });
      },
      65536);
  add(
      "pinned buffers",
      [=] {
        return Step([](LeakRun& run, int step) {
          run.UseLayer(Layer::kPinned, kNoDevice);
          if (step >= 0) run.Alloc(65536);
        });
      },
      65536);
}

// Leaks in some steps, or of some allocations.
void AddPartialLeaks(std::vector<LeakPattern>& patterns) {
  const auto add = [&patterns](std::string name, std::function<Step()> make, int min_steps,
                               double slope = 0) {
    AddLeak(patterns, std::move(name), std::move(make), min_steps, slope);
  };
  add(
      "error path, now and then",
      [] { return LeakWhen([](LeakRun& run, int) { return run.Random(4) == 0; }, kMiB); }, 50);
  add(
      "evaluation every fifth step",
      [] { return LeakWhen([](LeakRun&, int step) { return step % 5 == 4; }, 5 * kMiB); }, 30);
  add(
      "from the middle on",
      [] {
        return LeakWhen([](LeakRun& run, int step) { return step >= run.steps() * 2 / 5; }, kMiB);
      },
      30, kMiB);
  add(
      "some of many temporaries",
      [] {
        return Step([](LeakRun& run, int step) {
          if (step < 0) return;
          for (int i = 0; i < 10; ++i) {
            const std::uint64_t address = run.Alloc(kMiB / 4);
            if (i != 0) run.Free(address);
          }
        });
      },
      30, kMiB / 4);
  add(
      "cache of ever new shapes",
      [] { return LeakWhen([](LeakRun& run, int) { return run.Random(3) != 0; }, kMiB); }, 30);
}

void AddQueuesAndCycles(std::vector<LeakPattern>& patterns) {
  const auto add = [&patterns](std::string name, std::function<Step()> make) {
    patterns.push_back({std::move(name), false, std::move(make)});
  };
  add("bounded queue of 5", [] { return Queue(5); });
  add("prefetch of depth 2", [] { return Queue(2); });
  add("deferred free, one step later", [] { return Queue(1); });
  add("gradient accumulation over 4", [] { return Cycle(4); });
  add("gradient accumulation over 8", [] { return Cycle(8); });
  add("epoch metrics over 10", [] { return Cycle(10); });
  add("epoch metrics over 17", [] { return Cycle(17); });  // the run may end late in an epoch
  add("saw-tooth with a random period", [] {
    return Step([](LeakRun& run, int step) {
      if (step < 0) return;
      if (run.Random(4) == 0) FreeAll(run);
      run.Alloc(kMiB);
    });
  });
  add("grow and replace a workspace", [] {
    auto size = std::make_shared<std::uint64_t>(kMiB);
    return Step([size](LeakRun& run, int step) {
      if (step >= 0 && !run.live().empty() && run.Random(5) != 0) return;
      FreeAll(run);
      run.Alloc(*size += 4096);
    });
  });
  add("LRU cache", [] {
    auto order = std::make_shared<std::deque<std::uint64_t>>();
    return Step([order](LeakRun& run, int step) {
      if (step < 0 || run.Random(2) == 0) return;
      order->push_back(run.Alloc(kMiB));
      if (order->size() > 4) {
        run.Free(order->front());
        order->pop_front();
      }
    });
  });
}

void AddOnceAndSeldom(std::vector<LeakPattern>& patterns) {
  const auto add = [&patterns](std::string name, std::function<Step()> make) {
    patterns.push_back({std::move(name), false, std::move(make)});
  };
  const auto once = [](std::function<bool(LeakRun&, int)> when, int blocks) {
    return Step([when, blocks](LeakRun& run, int step) {
      if (!when(run, step)) return;
      for (int i = 0; i < blocks; ++i) run.Alloc(kMiB);
    });
  };
  add("parameters", [=] { return once([](LeakRun&, int step) { return step == -1; }, 20); });
  add("optimizer state at the first step",
      [=] { return once([](LeakRun&, int step) { return step == 0; }, 40); });
  add("optimizer state after accumulation",
      [=] { return once([](LeakRun&, int step) { return step == 7; }, 40); });
  add("one-time model growth",
      [=] { return once([](LeakRun& run, int step) { return step == run.steps() / 2; }, 30); });
  add("lazy workspaces of the first steps",
      [=] { return once([](LeakRun&, int step) { return step >= 0 && step < 3; }, 1); });
  add("shape cache of 4 shapes", [] { return ShapeCache(4); });
  add("best checkpoint so far", [] {
    auto best = std::make_shared<std::uint64_t>(1000);
    return Step([best](LeakRun& run, int step) {
      if (step < 0 || step % 4 != 0) return;
      const std::uint64_t loss = run.Random(1000);
      if (loss >= *best) return;
      *best = loss;
      FreeAll(run);
      run.Alloc(10 * kMiB);
    });
  });
  add("temporaries only", [] {
    return Step([](LeakRun& run, int step) {
      if (step < 0) return;
      for (int i = 0; i < 5; ++i) run.Free(run.Alloc(kMiB));
    });
  });
  add("averaged copy of the weights", [=] {
    return Step([](LeakRun& run, int step) {
      if (step < 0 || step % 3 != 0) return;
      const std::uint64_t fresh = run.Alloc(8 * kMiB);
      while (run.live().size() > 1) {
        const auto first = run.live().begin()->first;
        run.Free(first == fresh ? std::next(run.live().begin())->first : first);
      }
    });
  });
}

}  // namespace

LeakRun::LeakRun(std::uint32_t seed, int steps) : steps_(steps), random_(seed) {
  log_.Device(0, std::uint64_t{80} << 30);
  site_ = log_.Stack({"main (train.cc:1)", "Pattern (pattern.cc:1)"});
}

std::uint64_t LeakRun::Alloc(std::uint64_t bytes) {
  const std::uint64_t address = next_;
  next_ += (bytes + 511) / 512 * 512;
  log_.Alloc(layer_, address, bytes, {.device = device_, .stack = site_, .aux0 = bytes});
  live_[address] = bytes;
  return address;
}

void LeakRun::Free(std::uint64_t address) {
  log_.Free(layer_, address, {.device = device_});
  live_.erase(address);
}

void LeakRun::Launch() {
  log_.Event(Op::kLaunch, Layer::kUnspecified, 0, 0, log_.String("kernel"), {.device = device_});
}

void LeakRun::Touch(std::uint64_t address) {
  log_.Event(Op::kTouch, Layer::kUnspecified, address, 0, 0, {.device = device_});
}

std::uint64_t LeakRun::live_bytes() const {
  std::uint64_t sum = 0;
  for (const auto& [address, bytes] : live_) sum += bytes;
  return sum;
}

void LeakRun::BackgroundAlloc(const std::string& site, std::uint64_t bytes, bool temporary) {
  const std::uint64_t address = next_;
  next_ += bytes;
  log_.Alloc(Layer::kBlock, address, bytes,
             {.stack = log_.Stack({"main (train.cc:1)", site}), .aux0 = bytes});
  if (temporary) log_.Free(Layer::kBlock, address);
}

std::shared_ptr<const Session> LeakRun::Run(const Step& step) {
  // One segment for all memory of the allocator.
  log_.Alloc(Layer::kLinear, 0x10'0000'0000, std::uint64_t{40} << 30);
  log_.Alloc(Layer::kSegment, 0x10'0000'0000, std::uint64_t{40} << 30);
  for (int i = 0; i < 8; ++i) BackgroundAlloc("Parameter (model.cc:5)", 4 * kMiB, false);
  step(*this, -1);
  for (int i = 0; i < steps_; ++i) {
    log_.Step(static_cast<std::uint64_t>(i));
    BackgroundAlloc("Activation (model.cc:9)", 2 * kMiB, true);
    if (i == 0) {
      for (int k = 0; k < 16; ++k) BackgroundAlloc("AdamState (optim.cc:3)", 4 * kMiB, false);
    }
    // Driver memory is placed after the allocator's segment.
    if (layer_ != Layer::kBlock && next_ < 0x80'0000'0000) next_ = 0x80'0000'0000;
    step(*this, i);
  }
  return LoadLog(log_);
}

std::shared_ptr<const Session> MakeLeakRun(const Step& step, std::uint32_t seed, int steps) {
  return LeakRun(seed, steps).Run(step);
}

const std::vector<LeakPattern>& LeakPatterns() {
  static const std::vector<LeakPattern> patterns = [] {
    std::vector<LeakPattern> all;
    AddLeaksOfEveryStep(all);
    AddPartialLeaks(all);
    AddQueuesAndCycles(all);
    AddOnceAndSeldom(all);
    return all;
  }();
  return patterns;
}

}  // namespace memprof::analysis::testing
