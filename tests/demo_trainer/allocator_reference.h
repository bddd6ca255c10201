// A second caching allocator that is obviously correct and slow: segments are vectors of blocks,
// and every query loops over all of them.
#ifndef TESTS_DEMO_TRAINER_ALLOCATOR_REFERENCE_H_
#define TESTS_DEMO_TRAINER_ALLOCATOR_REFERENCE_H_

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "tests/demo_trainer/fake_driver.h"

namespace memprof::demo {

class AllocatorReference {
 public:
  struct Block {
    uintptr_t address;
    size_t bytes;
    bool in_use = false;
    std::set<StreamHandle> others;
    std::vector<DeviceDriver::Event> waiting;
  };
  struct Segment {
    uintptr_t address;
    size_t bytes;
    bool small;
    StreamHandle stream;
    std::vector<Block> blocks;

    bool Unused() const { return blocks.size() == 1 && !blocks[0].in_use; }
  };

  AllocatorReference(FakeDriver* driver, size_t max_split)
      : driver_(driver), max_split_(max_split) {}

  // Returns 0 when out of memory.
  uintptr_t Allocate(size_t bytes, StreamHandle stream) {
    Settle(false);
    const size_t size = (bytes + 511) / 512 * 512;
    const bool small = size <= (1 << 20);
    Segment* segment = nullptr;
    size_t at = 0;
    if (!Find(size, small, stream, &segment, &at)) {
      segment = Grow(size, small, stream);
      if (segment == nullptr) return 0;
    }
    Block& block = segment->blocks[at];
    const size_t rest = block.bytes - size;
    const bool split = small ? rest >= 512 : (size < max_split_ && rest > (1 << 20));
    block.in_use = true;
    const uintptr_t address = block.address;
    if (split) {
      block.bytes = size;
      segment->blocks.insert(segment->blocks.begin() + static_cast<long>(at) + 1,
                             Block{address + size, rest, false, {}, {}});
    }
    return address;
  }

  void Free(uintptr_t address) {
    Block& block = *Lookup(address);
    for (StreamHandle stream : std::exchange(block.others, {})) {
      block.waiting.push_back(driver_->RecordEvent(stream));
    }
    if (block.waiting.empty()) {
      block.in_use = false;
      MergeAll();
    }
  }

  void RecordStream(uintptr_t address, StreamHandle stream) {
    for (Segment& segment : segments_) {
      for (Block& block : segment.blocks) {
        if (block.address == address && segment.stream != stream) block.others.insert(stream);
      }
    }
  }

  void EmptyCache() {
    Settle(true);
    ReleaseIf([](const Segment& segment) { return segment.Unused(); });
  }

  const std::vector<Segment>& segments() const { return segments_; }

 private:
  bool Find(size_t size, bool small, StreamHandle stream, Segment** segment, size_t* at) {
    Block* best = nullptr;
    for (Segment& candidate : segments_) {
      if (candidate.small != small || candidate.stream != stream) continue;
      for (size_t i = 0; i < candidate.blocks.size(); ++i) {
        Block& block = candidate.blocks[i];
        if (block.in_use || block.bytes < size) continue;
        if (best != nullptr &&
            std::pair(best->bytes, best->address) < std::pair(block.bytes, block.address)) {
          continue;
        }
        best = &block;
        *segment = &candidate;
        *at = i;
      }
    }
    if (best == nullptr) return false;
    if (size < max_split_) return best->bytes < max_split_;
    return best->bytes < size + (20u << 20);
  }

  Segment* Grow(size_t size, bool small, StreamHandle stream) {
    size_t bytes = 2u << 20;
    if (!small) {
      bytes = size < (10u << 20) ? (20u << 20) : (size + (2u << 20) - 1) / (2u << 20) * (2u << 20);
    }
    void* memory = driver_->Allocate(bytes);
    if (memory == nullptr && ReleaseOversize(bytes)) memory = driver_->Allocate(bytes);
    if (memory == nullptr) {
      const size_t before = segments_.size();
      EmptyCache();
      if (segments_.size() != before) memory = driver_->Allocate(bytes);
    }
    if (memory == nullptr) return nullptr;
    const auto address = reinterpret_cast<uintptr_t>(memory);
    segments_.push_back({address, bytes, small, stream, {Block{address, bytes, false, {}, {}}}});
    return &segments_.back();
  }

  bool ReleaseOversize(size_t wanted) {
    if (max_split_ == std::numeric_limits<size_t>::max()) return false;
    std::vector<std::pair<size_t, uintptr_t>> unused;
    for (const Segment& segment : segments_) {
      if (!segment.small && segment.Unused() && segment.bytes >= max_split_) {
        unused.emplace_back(segment.bytes, segment.address);
      }
    }
    std::sort(unused.begin(), unused.end());
    std::set<uintptr_t> chosen;
    size_t total = 0;
    for (const auto& [bytes, address] : unused) {
      if (bytes < wanted) continue;
      chosen.insert(address);
      total = bytes;
      break;
    }
    while (chosen.empty() && total < wanted && !unused.empty()) {
      std::set<uintptr_t> largest;
      for (; total < wanted && !unused.empty(); unused.pop_back()) {
        largest.insert(unused.back().second);
        total += unused.back().first;
      }
      chosen = largest;
    }
    ReleaseIf([&](const Segment& segment) { return chosen.contains(segment.address); });
    return total >= wanted;
  }

  template <typename Predicate>
  void ReleaseIf(const Predicate& predicate) {
    std::vector<Segment> kept;
    for (Segment& segment : segments_) {
      if (predicate(segment)) {
        driver_->Free(reinterpret_cast<void*>(segment.address));
      } else {
        kept.push_back(std::move(segment));
      }
    }
    segments_ = std::move(kept);
  }

  void Settle(bool wait) {
    for (Segment& segment : segments_) {
      for (Block& block : segment.blocks) {
        if (block.waiting.empty()) continue;
        std::erase_if(block.waiting, [&](DeviceDriver::Event event) {
          if (wait) driver_->WaitFor(event);
          return wait || driver_->TakeIfDone(event);
        });
        if (block.waiting.empty()) block.in_use = false;
      }
    }
    MergeAll();
  }

  void MergeAll() {
    for (Segment& segment : segments_) {
      auto& blocks = segment.blocks;
      for (size_t i = 1; i < blocks.size();) {
        if (blocks[i - 1].in_use || blocks[i].in_use) {
          ++i;
          continue;
        }
        blocks[i - 1].bytes += blocks[i].bytes;
        blocks.erase(blocks.begin() + static_cast<long>(i));
      }
    }
  }

  Block* Lookup(uintptr_t address) {
    for (Segment& segment : segments_) {
      for (Block& block : segment.blocks) {
        if (block.address == address) return &block;
      }
    }
    return nullptr;
  }

  FakeDriver* const driver_;
  const size_t max_split_;
  std::vector<Segment> segments_;
};

}  // namespace memprof::demo

#endif  // TESTS_DEMO_TRAINER_ALLOCATOR_REFERENCE_H_
