// A log of blocks with looks at what holds them.
#pragma once

#include <cstdint>
#include <string>

#include "analysis/base/sizes.h"
#include "analysis/leaks/holders.h"
#include "analysis/testing/log_builder.h"

namespace memprof::viewer::testing {

// Blocks of 1 MiB in one segment, by their places in it.
class HeldLog {
 public:
  using Kind = analysis::HolderKind;

  HeldLog() {
    log_.Device(0, 64 * analysis::kMiB);
    log_.Alloc(analysis::Layer::kLinear, kBase, 32 * analysis::kMiB);
    log_.Alloc(analysis::Layer::kSegment, kBase, 32 * analysis::kMiB);
  }
  void Block(int place) {
    log_.Alloc(analysis::Layer::kBlock, Address(place), analysis::kMiB,
               {.stack = log_.Stack({"main (/src/train.py:9)", "forward (/src/net.py:3)"})});
  }
  void Free(int place) { log_.Free(analysis::Layer::kBlock, Address(place)); }
  // Lines: the path, the root, the objects between.
  void Held(int place, Kind kind, const std::string& lines) {
    log_.Event(analysis::Op::kHeld, analysis::Layer::kUnspecified, Address(place), analysis::kMiB,
               log_.String(lines), {.aux0 = static_cast<std::uint64_t>(kind)});
  }
  void EndLook() {
    log_.Event(analysis::Op::kHolders, analysis::Layer::kUnspecified, 0, 0, 0, {.device = -1});
  }
  void Tensor(int place) {
    log_.TensorCreate(Address(place), analysis::kMiB, log_.Tensor("kept", "float32", {512, 512}));
  }
  analysis::testing::LogBuilder& log() { return log_; }

 private:
  static constexpr std::uint64_t kBase = 0x700000000000;
  static std::uint64_t Address(int place) {
    return kBase + static_cast<std::uint64_t>(place) * analysis::kMiB;
  }

  analysis::testing::LogBuilder log_;
};

}  // namespace memprof::viewer::testing
