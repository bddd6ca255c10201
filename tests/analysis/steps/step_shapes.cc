// Loops described allocation by allocation.
#include "tests/analysis/steps/step_shapes.h"

#include <algorithm>
#include <string>

#include "tests/analysis/steps/step_program.h"

namespace memprof::analysis::testing {
namespace {

using Memory = StepProgram::Memory;
using Group = StepProgram::Group;

// Frees the oldest block when there are more than `most`.
void BoundQueue(StepProgram& p, std::size_t most) {
  if (p.queue.size() <= most) return;
  p.Delete(p.queue.front());
  p.queue.pop_front();
}

// The next batch is uploaded, and stays allocated, while the current one is processed.
void Prefetched(StepProgram& p, int iterations, int micro, bool leaks) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    p.Begin();
    const Memory next =
        p.New("Upload", 8192u * static_cast<unsigned>(6 + (leaks ? p.Below(5) : 0)));
    if (leaks) {
      p.New("Remember", 3000);
      if (p.Below(4) == 0)
        p.queue.push_back(p.New("Cache", 1000u * static_cast<unsigned>(1 + p.Below(9))));
      BoundQueue(p, 6);
    }
    p.Learn(16, micro);
    if (p.held != 0) p.Delete(p.held);
    p.held = next;
  }
}

// An evaluation between epochs. With `metrics`, each step adds to a list on the device, which each
// epoch starts anew.
void Epochs(StepProgram& p, int iterations, bool metrics) {
  const int epoch = std::max(4, iterations / 5);
  for (int iteration = 0; iteration < iterations; ++iteration) {
    p.Begin();
    p.Step(16);
    if (metrics) p.kept.push_back(p.New("Metric", 2000));
    if (iteration % epoch != epoch - 1) continue;
    p.Delete(&p.kept);
    for (int i = 0; i < 3; ++i) p.Evaluate(32);
  }
}

void Stages(StepProgram& p, int iterations) {
  for (int iteration = 0; iteration < iterations; ++iteration) {
    p.Begin();
    if (iteration == iterations / 2) p.layers *= 2;
    p.Step(16, 1, iteration < iterations / 2 ? "" : "Second");
  }
}

// One step, with a hand-written optimizer that runs layer by layer.
void OptimizerByHand(StepProgram& p, int iterations) {
  p.layers = iterations / 2;
  p.Step(16);
  for (int layer = 0; layer < iterations; ++layer) {
    Group work = {p.New("Square", 40'000), p.New("Root", 40'000)};
    p.New("Moment1", 40'000);
    p.New("Moment2", 40'000);
    p.Delete(&work);
  }
}

void LeakAndCache(StepProgram& p, int) {
  p.Step(16);
  p.New("History", 5000);
  p.queue.push_back(p.New("Cache", 500u * static_cast<unsigned>(1 + p.Below(60))));
  if (p.queue.size() > 8) {  // a random one: some blocks are used for long
    const auto victim = p.queue.begin() + p.Below(8);
    p.Delete(*victim);
    p.queue.erase(victim);
  }
}

// A state of `bytes` is passed from this step to the next.
void CarryState(StepProgram& p, std::uint64_t bytes) {
  const Memory state = p.New("State", bytes);
  p.Step(16);
  if (p.held != 0) p.Delete(p.held);
  p.held = state;
}

void Branches(StepProgram& p, int) {
  const Memory batch = p.New("Batch", 65536);
  Group taken;
  for (int i = 0; i < 20; ++i)
    if (p.Below(10) > 0) taken.push_back(p.New("Branch" + std::to_string(i), 10'000));
  p.Delete(&taken);
  p.Delete(batch);
}

// Loops with identical iterations.
constexpr struct {
  std::string_view shape;
  void (*run)(StepProgram& p, int iteration);
} kLoops[] = {
    {"plain", [](StepProgram& p, int) { p.Step(16); }},
    {"three buffers",
     [](StepProgram& p, int) {
       Group buffers = {p.New("Input", 65536), p.New("Work", 1 << 20), p.New("Output", 65536)};
       p.Delete(&buffers);
     }},
    {"three buffers, one leaks",
     [](StepProgram& p, int) {
       p.New("Input", 65536);
       Group buffers = {p.New("Work", 1 << 20), p.New("Output", 65536)};
       p.Delete(&buffers);
     }},
    {"leak",
     [](StepProgram& p, int) {
       p.Step(16);
       p.New("History", 5000);
     }},
    {"leak and cache", LeakAndCache},
    {"accumulation", [](StepProgram& p, int) { p.Step(16, 4); }},
    {"accumulation of portions",
     [](StepProgram& p, int iteration) {
       const Memory batch = p.New("Batch", 262144);
       p.Learn(4, 8);
       p.Delete(batch);
       if (iteration % 3 == 0) p.New("Log", 700);
     }},
    {"evaluation every 5",
     [](StepProgram& p, int iteration) {
       p.Step(16);
       if (iteration % 5 == 4) p.Evaluate(32);
     }},
    {"random lengths", [](StepProgram& p, int) { p.Step(static_cast<unsigned>(1 + p.Below(60))); }},
    {"random lengths, leak",
     [](StepProgram& p, int) {
       p.Step(static_cast<unsigned>(1 + p.Below(60)));
       p.New("History", 5000);
     }},
    {"carried state", [](StepProgram& p, int) { CarryState(p, 100'000); }},
    {"carried state of random size",
     [](StepProgram& p, int) { CarryState(p, 4096u * static_cast<unsigned>(1 + p.Below(64))); }},
    {"warm-up",
     [](StepProgram& p, int iteration) {
       for (int i = 0; iteration < 4 && i < 30; ++i)
         p.Delete(p.New("Try" + std::to_string(i), 1 << 20));
       p.Step(16);
     }},
    {"last ten",
     [](StepProgram& p, int) {
       p.Step(16);
       p.queue.push_back(p.New("Recent", 9000));
       BoundQueue(p, 10);
     }},
    {"checkpoints",
     [](StepProgram& p, int iteration) {
       p.Step(16);
       if (iteration % 10 == 9)
         for (int layer = 0; layer < p.layers; ++layer) p.Delete(p.New("Save", p.Weight(layer)));
     }},
    {"branches", Branches},
    {"adversaries",
     [](StepProgram& p, int) {
       const Memory batch = p.New("Batch", 65536);
       p.Learn(16, 1, "Judge");
       p.Learn(16, 1, "Forge");
       p.Delete(batch);
     }},
    {"longer each iteration",
     [](StepProgram& p, int iteration) { p.Step(static_cast<unsigned>(8 + iteration)); }},
    {"frees in bulk",
     [](StepProgram& p, int iteration) {
       p.Step(16);
       p.kept.push_back(p.New("Metric", 20'000));
       if (iteration % 10 == 9) p.Delete(&p.kept);
     }},
    {"rare leak",
     [](StepProgram& p, int) {
       p.Step(16);
       if (p.Below(12) == 0) p.New("Error", 50'000);
     }},
    {"requests",
     [](StepProgram& p, int) {
       const Memory request = p.New("Request", 512u * static_cast<unsigned>(1 + p.Below(30)));
       p.Evaluate(static_cast<unsigned>(1 + p.Below(8)));
       p.Delete(request);
     }},
};

std::vector<std::uint32_t> RunShape(StepProgram& p, std::string_view shape, int iterations) {
  if (shape == "set-up alone") {
    for (int iteration = 0; iteration < iterations; ++iteration) p.SetUp();
    return {};
  }
  p.SetUp();
  if (shape == "one step of many layers") {
    p.layers = iterations;
    p.Step(16);
  }
  if (shape == "one step and its optimizer") OptimizerByHand(p, iterations);
  if (shape == "prefetched") Prefetched(p, iterations, 1, false);
  if (shape == "prefetched, accumulated, leak") Prefetched(p, iterations, 4, true);
  if (shape == "epochs") Epochs(p, iterations, false);
  if (shape == "epochs with metrics") Epochs(p, iterations, true);
  if (shape == "stages") Stages(p, iterations);
  for (const auto& each : kLoops) {
    if (each.shape != shape) continue;
    for (int iteration = 0; iteration < iterations; ++iteration) {
      p.Begin();
      each.run(p, iteration);
    }
  }
  return p.begins();
}

}  // namespace

const std::vector<StepShape>& StepShapes() {
  static const std::vector<StepShape> shapes = {{"plain"},
                                                {"three buffers"},
                                                {"three buffers, one leaks"},
                                                {"leak"},
                                                {"leak and cache"},
                                                {"rare leak"},
                                                {"frees in bulk"},
                                                {"last ten"},
                                                {"prefetched"},
                                                {"prefetched, accumulated, leak"},
                                                {"accumulation"},
                                                {"accumulation of portions"},
                                                {"evaluation every 5"},
                                                {"epochs"},
                                                {"epochs with metrics"},
                                                {"stages"},
                                                {"random lengths"},
                                                {"random lengths, leak"},
                                                {"longer each iteration"},
                                                {"carried state"},
                                                {"carried state of random size"},
                                                {"warm-up"},
                                                {"checkpoints"},
                                                {"branches"},
                                                {"adversaries"},
                                                {"requests"},
                                                {"set-up alone", false},
                                                {"one step of many layers", false},
                                                {"one step and its optimizer", false}};
  return shapes;
}

std::vector<std::uint32_t> WriteStepShape(std::string_view shape, std::uint32_t seed,
                                          int iterations, Layer layer, LogBuilder* log) {
  StepProgram program(seed, layer, log);
  return RunShape(program, shape, iterations);
}

}  // namespace memprof::analysis::testing
