// Remembers the frame rule of every return address met so far, for all threads.
//
// A direct-mapped table of 64-bit words, each with the rule and the part of the address that its
// place does not tell, so that one load is a whole look-up and no lock is needed: a thread that
// loses a race merely reads the tables once more.
//
// Cost of a hit: one multiplication and one load, 512 KiB for all threads together.
// Its memory is never given back: threads go on allocating, and searching, while the process ends.
// Thread-safety: Find by any thread; Clear by any, also while others search.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/stacks/internal/frame_rule.h"

namespace memprof::recorder {

class FrameRules {
 public:
  FrameRules() = default;
  FrameRules(const FrameRules&) = delete;
  FrameRules& operator=(const FrameRules&) = delete;

  // False when there is no memory.
  bool Create();

  // The rule that holds at `address`, which lies within an instruction (for a caller's frame: the
  // return address less one). May ask the loader, see loader_gate.h.
  FrameRule Find(std::uint64_t address) {
    const std::uint64_t mixed = address * kHashFactor & kAddressMask;
    const std::uint64_t word = words_[mixed >> kTagBits].load(std::memory_order_relaxed);
    if (word >> kTagBits == (mixed & kTagMask) && (word & kKnown) != 0)
      return FrameRule::Unpack(static_cast<std::uint32_t>(word & ~std::uint64_t{kKnown}));
    return Learn(address, mixed);
  }

  // After code was unloaded: its addresses may mean something else from now on.
  void Clear();

 private:
  static constexpr int kTagBits = 32;
  static constexpr int kIndexBits = 16;
  static constexpr std::uint64_t kTagMask = (std::uint64_t{1} << kTagBits) - 1;
  static constexpr std::uint64_t kAddressMask = (std::uint64_t{1} << (kTagBits + kIndexBits)) - 1;
  // The factor is odd: multiplication modulo 2^48 is then one to one, so place and tag give the
  // address.
  static constexpr std::uint32_t kKnown = 1u << 31;
  static constexpr std::size_t kWords = std::size_t{1} << kIndexBits;

  FrameRule Learn(std::uint64_t address, std::uint64_t mixed);

  std::atomic<std::uint64_t>* words_ = nullptr;
};

}  // namespace memprof::recorder
