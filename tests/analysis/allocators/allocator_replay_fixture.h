// Logs of the reference allocator with known figures.
#pragma once

#include <algorithm>
#include <map>
#include <random>

#include "analysis/allocators/allocator_replay.h"
#include "analysis/base/sizes.h"
#include "tests/demo_trainer/allocator_reference.h"
#include "tests/support/random_log.h"

namespace memprof::analysis::testing {

// Drives the reference allocator and logs its actions, as a program's own allocator would.
class ReferenceLog {
 public:
  explicit ReferenceLog(std::uint64_t max_split = ~std::uint64_t{0},
                        std::uint64_t capacity = std::uint64_t{1} << 40)
      : driver_(capacity), reference_(&driver_, max_split) {
    log_.Device(0, std::uint64_t{1} << 40);
  }

  void Allocate(std::uint64_t bytes, std::uint64_t stream = 0) {
    const auto handle = reinterpret_cast<void*>(stream);
    const std::uint64_t address = reference_.Allocate(bytes, handle);
    NoteSegments(stream);
    if (address == 0) {
      log_.Event(Op::kFrameworkOom, Layer::kBlock, 0, bytes, 0);
      return;
    }
    std::uint64_t size = 0;
    for (const auto& segment : reference_.segments()) {
      for (const auto& block : segment.blocks) {
        if (block.address == address) size = block.bytes;
      }
    }
    log_.Alloc(Layer::kBlock, address, size, {.stream = stream, .aux0 = says_ ? bytes : 0});
    live_.push_back(address);
  }
  void Free(std::size_t which) {
    const std::uint64_t address = live_[which % live_.size()];
    live_.erase(std::find(live_.begin(), live_.end(), address));
    log_.Free(Layer::kBlock, address);
    reference_.Free(address);
  }
  void EmptyCache() {
    reference_.EmptyCache();
    NoteSegments(0);
  }
  void Churn(std::uint32_t seed, int operations, std::uint64_t streams,
             std::uint64_t largest = 30 * kMiB) {
    std::mt19937_64 random(seed);
    for (int i = 0; i < operations; ++i) {
      if (live_.empty() || random() % 100 < (i / 100 % 2 == 0 ? 65u : 35u)) {
        const std::uint64_t bytes =
            random() % 3 == 0 ? 1 + random() % largest : 1 + random() % (700 << 10);
        Allocate(bytes, random() % streams);
      } else {
        Free(random());
      }
      if (random() % 150 == 0) EmptyCache();
    }
  }

  // As NVIDIA's driver mostly does. Before any request.
  void GiveAddressesDownwards() { driver_.downwards = true; }
  // From now on the log lacks requested sizes, as where PyTorch reports only blocks.
  void SayBlocksOnly() { says_ = false; }

  DeviceReplay Replay(const ReplayOptions& options) const {
    const auto session = LoadLog(log_);
    const std::vector<DeviceReplay> replays = ReplayAllocators(*session, options);
    return replays.empty() ? DeviceReplay() : replays.front();
  }
  DeviceReplay Replay() const {
    ReplayOptions options;
    options.placement_seconds = 0;
    return Replay(options);
  }

  LogBuilder& log() { return log_; }
  std::uint64_t peak() const { return peak_; }

 private:
  // Logs which segments were freed and allocated; frees come first.
  void NoteSegments(std::uint64_t stream) {
    std::map<std::uint64_t, std::uint64_t> now;
    std::uint64_t sum = 0;
    for (const auto& segment : reference_.segments()) {
      now[segment.address] = segment.bytes;
      sum += segment.bytes;
    }
    for (const auto& [address, bytes] : segments_) {
      if (!now.contains(address)) log_.Free(Layer::kSegment, address);
    }
    for (const auto& [address, bytes] : now) {
      if (segments_.contains(address)) continue;
      log_.Alloc(Layer::kSegment, address, bytes, {.stream = stream});
    }
    segments_ = now;
    peak_ = std::max(peak_, sum);
  }

  demo::FakeDriver driver_;
  demo::AllocatorReference reference_;
  LogBuilder log_;
  std::vector<std::uint64_t> live_;
  std::map<std::uint64_t, std::uint64_t> segments_;
  std::uint64_t peak_ = 0;
  bool says_ = true;
};

}  // namespace memprof::analysis::testing
