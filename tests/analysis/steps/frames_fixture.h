// Training loops whose frames show what they do.
#pragma once

#include "analysis/base/sizes.h"
#include "analysis/steps/found.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

// A Python training loop that allocates blocks. Every call allocates one block, at a new address.
class Loop {
 public:
  Loop() { log_.Device(0, std::uint64_t{1} << 36); }

  std::uint64_t Forward(std::uint64_t bytes, const std::string& line = "27") {
    return Alloc(bytes, {"Model.forward (train.py:" + line + ")"});
  }
  std::uint64_t Backward(std::uint64_t bytes, const std::string& line = "27") {
    return Alloc(bytes, {"backward of Model.forward (train.py:" + line + ")"});
  }
  std::uint64_t Optimize(std::uint64_t bytes, const std::string& line = "31") {
    return Alloc(bytes, {"learn (train.py:" + line + ")",
                         "AdamW.step (/v/site-packages/torch/optim/adamw.py:200)"});
  }
  std::uint64_t Alloc(std::uint64_t bytes, std::vector<std::string> frames) {
    frames.insert(frames.begin(), "main (train.py:70)");
    const std::uint64_t address = next_;
    next_ += (bytes + 511) / 512 * 512;
    log_.Alloc(Layer::kBlock, address, bytes, {.stack = log_.Stack(frames), .aux0 = bytes});
    return address;
  }
  void Free(std::uint64_t address) { log_.Free(Layer::kBlock, address); }
  const LogBuilder& log() const { return log_; }

 private:
  LogBuilder log_;
  std::uint64_t next_ = 0x10'0000'0000;
};

// Allocations before each step.
inline std::vector<std::uint32_t> BirthsBefore(const Session& session, const FoundSteps& found) {
  std::vector<std::uint32_t> births;
  for (const StepInfo& step : found.steps) {
    births.push_back(0);
    for (const AllocationRecord& a : session.records()) births.back() += a.birth < step.event;
  }
  return births;
}

inline void FreeAll(Loop* loop, std::vector<std::uint64_t>* blocks) {
  for (const std::uint64_t address : *blocks) loop->Free(address);
  blocks->clear();
}

}  // namespace memprof::analysis::testing
