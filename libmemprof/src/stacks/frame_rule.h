// How to step from one stack frame to its caller: the content of a row of a call-frame table, for
// all code that compilers commonly emit.
//
// The caller's stack pointer is always the CFA (the value of the stack pointer before the call). So
// a rule has the location of the CFA, that of the return address and that of the caller's saved
// frame pointer (rbp, x29):
//
//     63            32 31   28 27    26 25         n n-1          0
//    +----------------+-------+--------+------------+--------------+
//    | (tag of the    | base  | fp     | cfa offset | saved offset |
//    |  cache)        |       | kind   | / 8 or 16  | / 8          |
//    +----------------+-------+--------+------------+--------------+
//
// On x86-64 the return address is at CFA - 8, and the saved offset is the frame pointer's. On
// aarch64 the return address is at CFA + the saved offset, or follows the frame pointer that is
// saved there: of the rows of Debian 12's libc, libstdc++ and Python that have a return address in
// memory, no other one was found.
//
// Other rows (a frame above 256 KiB, or 32 KiB on aarch64; a CFA in another register; a signal
// frame) are kUnsupported, and the caller uses another unwinder for that stack.
#pragma once

#include <cstdint>

#include "libmemprof/src/arch/arch.h"

namespace memprof::recorder {

enum class CfaBase : std::uint8_t {
  kUnsupported = 0,
  kStackPointer = 1,   // CFA = sp + offset
  kFramePointer = 2,   // CFA = fp + offset
  kLoadFromFrame = 3,  // CFA = *(fp + offset): functions that realign their stack on x86-64
  kOutermost = 4,      // there is no caller
};

enum class SavedFp : std::uint8_t {
  kSame = 0,      // not saved: still the caller's
  kAtCfa = 1,     // at CFA + offset
  kAtFrame = 2,   // at fp + offset
  kUnusable = 3,  // the caller's value cannot be known
};

struct FrameRule {
  CfaBase base = CfaBase::kUnsupported;
  SavedFp fp = SavedFp::kSame;
  std::int16_t cfa_words = 0;    // offset / 8
  std::int16_t saved_words = 0;  // offset / 8

  std::uint32_t Pack() const {
    return std::uint32_t{static_cast<std::uint8_t>(base)} << 28 |
           std::uint32_t{static_cast<std::uint8_t>(fp)} << 26 |
           Low(cfa_words / arch::kFrameCfaUnit, arch::kFrameCfaBits) << arch::kFrameSavedBits |
           Low(saved_words, arch::kFrameSavedBits);
  }
  static FrameRule Unpack(std::uint32_t packed) {
    FrameRule rule;
    rule.base = static_cast<CfaBase>(packed >> 28);
    rule.fp = static_cast<SavedFp>(packed >> 26 & 3);
    rule.cfa_words = static_cast<std::int16_t>(
        Signed(packed >> arch::kFrameSavedBits, arch::kFrameCfaBits) * arch::kFrameCfaUnit);
    rule.saved_words = static_cast<std::int16_t>(Signed(packed, arch::kFrameSavedBits));
    return rule;
  }
  // Where the return address is.
  std::uint64_t ReturnAddressSlot(std::uint64_t cfa) const {
    if constexpr (arch::kCallPushesReturnAddress) return cfa - 8;
    const int words = saved_words + (fp == SavedFp::kAtCfa ? 1 : 0);
    return cfa + static_cast<std::uint64_t>(std::int64_t{words} * 8);
  }
  bool operator==(const FrameRule&) const = default;

 private:
  static constexpr std::uint32_t Low(int value, int bits) {
    return static_cast<std::uint32_t>(value) & ((1u << bits) - 1);
  }
  static constexpr int Signed(std::uint32_t value, int bits) {
    return static_cast<int>(value << (32 - bits)) >> (32 - bits);
  }
};

}  // namespace memprof::recorder
