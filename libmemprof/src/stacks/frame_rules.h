// A cache of the frame rules of return addresses, for all threads.
//
// A direct-mapped table of 64-bit words. Each has the rule and the part of the address that its
// place does not determine. So a look-up is one load without a lock; a thread that loses a race
// only reads the module's tables again.
//
// A hit costs one multiplication and one load. The table takes 512 KiB for all threads together,
// and is never freed: threads allocate, and search, while the process ends. Thread-safety: Find and
// Clear may be called by any thread at the same time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/stacks/frame_rule.h"

namespace memprof::recorder {

class FrameRules {
 public:
  FrameRules() = default;
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  // False when there is no memory.
  bool Create();

  // The rule at `address`, which lies within an instruction (for a caller's frame: the return
  // address less one). May call the loader, see loader_gate.h.
  FrameRule Find(std::uint64_t address) {
    const std::uint64_t mixed = address * kHashFactor & kAddressMask;
    const std::uint64_t word = words_[mixed >> kTagBits].load(std::memory_order_relaxed);
    if (word >> kTagBits == (mixed & kTagMask) && (word & kFilled) != 0)
      return FrameRule::Unpack(static_cast<std::uint32_t>(word & ~std::uint64_t{kFilled}));
    return Learn(address, mixed);
  }

  // After code was unloaded: other code may be loaded at its addresses.
  void Clear();

 private:
  static constexpr int kTagBits = 32;
  static constexpr int kIndexBits = 16;
  static constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << (kTagBits + kIndexBits)) - 1;
  // The factor is odd, so multiplication modulo 2^48 is one to one: place and tag together
  // determine the address.
  static constexpr std::uint32_t kFilled = 1u << 31;
  static constexpr std::size_t kWords = std::size_t{1} << kIndexBits;

  FrameRule Learn(std::uint64_t address, std::uint64_t mixed);

  std::atomic<std::uint64_t>* words_ = nullptr;
};

}  // namespace memprof::recorder
