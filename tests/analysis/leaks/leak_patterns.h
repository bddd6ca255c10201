// Training runs with one site of a known kind: leaks that must be found, and patterns similar to a
// leak that must not. Every run also has parameters, optimizer state and temporaries.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/testing/log_builder.h"

namespace memprof::analysis::testing {

// A run being built, as the step functions of patterns use it.
class LeakRun {
 public:
  LeakRun(std::uint32_t seed, int steps);

  // Runs all steps (see MakeLeakRun) and loads the log. Once.
  std::shared_ptr<const Session> Run(const std::function<void(LeakRun&, int)>& step);

  int steps() const { return steps_; }
  std::uint64_t Random(std::uint64_t below) { return random_() % below; }
  // Allocates at the site under test; returns the address.
  std::uint64_t Alloc(std::uint64_t bytes);
  void Free(std::uint64_t address);
  // Its layer (default: a framework's block) and device.
  void UseLayer(Layer layer, int device = 0) {
    layer_ = layer;
    device_ = device;
  }
  void Touch(std::uint64_t address);
  void Launch();

  std::uint64_t live_bytes() const;
  LogBuilder& log() { return log_; }
  std::map<std::uint64_t, std::uint64_t>& live() { return live_; }

 private:
  void BackgroundAlloc(const std::string& site, std::uint64_t bytes, bool temporary);

  int steps_;
  std::mt19937_64 random_;
  LogBuilder log_;
  Layer layer_ = Layer::kBlock;
  int device_ = 0;
  int site_ = 0;
  std::uint64_t next_ = 0x10'0000'0000;
  std::map<std::uint64_t, std::uint64_t> live_;  // of the site under test
};

// Runs `step(run, index)` for index -1 (set-up) and 0 … steps-1, and loads the log. The site under
// test is "Pattern (pattern.cc:1)".
std::shared_ptr<const Session> MakeLeakRun(const std::function<void(LeakRun&, int)>& step,
                                           std::uint32_t seed, int steps);

struct LeakPattern {
  std::string name;
  bool leaks = false;
  // Creates the step function, whose captures hold its state.
  std::function<std::function<void(LeakRun&, int)>()> make;
  int min_steps = 30;         // shorter runs are not conclusive
  double bytes_per_step = 0;  // expected slope; 0 = not checked
};

const std::vector<LeakPattern>& LeakPatterns();

}  // namespace memprof::analysis::testing
