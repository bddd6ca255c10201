// How to step from one stack frame to its caller: the content of a row of a call-frame table, on
// x86-64, for all code that compilers commonly emit.
//
// The return address is always at CFA - 8 and the caller's stack pointer is always the CFA (the
// value of the stack pointer before the call). So a rule only has the location of the CFA and that
// of the caller's saved rbp:
//
//     63            32 31   28 27      24 23           8 7             0
//    +----------------+-------+----------+--------------+---------------+
//    | (tag of the    | base  | rbp kind | cfa offset   | rbp offset    |
//    |  cache)        |       |          | / 8, signed  | / 8, signed   |
//    +----------------+-------+----------+--------------+---------------+
//
// Other rows (a frame above 256 KiB, a CFA in another register, a signal frame) are kUnsupported,
// and the caller uses another unwinder for that stack.
#pragma once

#include <cstdint>

namespace memprof::recorder {

enum class CfaBase : std::uint8_t {
  kUnsupported = 0,
  kStackPointer = 1,   // CFA = rsp + offset
  kFramePointer = 2,   // CFA = rbp + offset
  kLoadFromFrame = 3,  // CFA = *(rbp + offset): functions that realign their stack
  kOutermost = 4,      // there is no caller
};

enum class SavedRbp : std::uint8_t {
  kSame = 0,      // not saved: still the caller's
  kAtCfa = 1,     // at CFA + offset
  kAtFrame = 2,   // at rbp + offset
  kUnusable = 3,  // the caller's value cannot be known
};

struct FrameRule {
  CfaBase base = CfaBase::kUnsupported;
  SavedRbp rbp = SavedRbp::kSame;
  std::int16_t cfa_words = 0;  // offset / 8
  std::int8_t rbp_words = 0;

  std::uint32_t Pack() const {
    return std::uint32_t{static_cast<std::uint8_t>(base)} << 28 |
           std::uint32_t{static_cast<std::uint8_t>(rbp)} << 24 |
           std::uint32_t{static_cast<std::uint16_t>(cfa_words)} << 8 |
           static_cast<std::uint8_t>(rbp_words);
  }
  static FrameRule Unpack(std::uint32_t packed) {
    FrameRule rule;
    rule.base = static_cast<CfaBase>(packed >> 28);
    rule.rbp = static_cast<SavedRbp>(packed >> 24 & 15);
    rule.cfa_words = static_cast<std::int16_t>(packed >> 8);
    rule.rbp_words = static_cast<std::int8_t>(packed);
    return rule;
  }
  bool operator==(const FrameRule&) const = default;
};

}  // namespace memprof::recorder
