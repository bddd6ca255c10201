// Runs call-frame programs, which describe the caller's registers at one address.
#pragma once

#include <cstdint>

#include "libmemprof/src/arch/arch.h"
#include "libmemprof/src/stacks/internal/cfi_cursor.h"

namespace memprof::recorder {

// The common information of several descriptions.
struct CommonEntry {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  CfiCursor program{nullptr, nullptr};
};

// The location of a register of the caller.
struct CfiLocation {
  enum class Kind { kSame, kAtCfa, kAtFrame, kUndefined, kOther } kind = Kind::kSame;
  std::int64_t offset = 0;
};

// The current row of a call-frame program.
struct CfiRow {
  enum class Base { kRegister, kLoadFromFrame, kOther } base = Base::kOther;
  std::uint64_t base_register = 0;
  std::int64_t offset = 0;
  CfiLocation fp;  // rbp, x29
  CfiLocation return_address;

  CfiLocation* Of(std::uint64_t reg) {
    if (reg == arch::kDwarfFramePointer) return &fp;
    return reg == arch::kDwarfReturnAddress ? &return_address : nullptr;
  }
};

// Runs call-frame instructions (DWARF 5, section 6.4.2) until the row that covers `target`.
class CfiMachine {
 public:
  CfiMachine(const CommonEntry& common, std::uint64_t begin, std::uint64_t target)
      : common_(common), address_(begin), target_(target) {}

  bool RunCommon() {
    if (!Run(common_.program)) return false;
    initial_ = row_;
    return true;
  }
  bool Run(CfiCursor program) {
    for (int budget = kMaxInstructions; !program.done() && !arrived_; --budget)
      if (budget == 0 || !Step(&program)) return false;
    return !program.failed();
  }
  const CfiRow& row() const { return row_; }

 private:
  static constexpr int kMaxInstructions = 4096;
  static constexpr int kMaxSavedStates = 16;

  void Advance(std::uint64_t units) {
    const std::uint64_t next = address_ + units * common_.code_factor;
    if (next > target_) {
      arrived_ = true;
    } else {
      address_ = next;
    }
  }
  void Set(std::uint64_t reg, CfiLocation::Kind kind, std::int64_t offset = 0) {
    if (CfiLocation* location = row_.Of(reg)) *location = {kind, offset};
  }
  void SetOffset(std::uint64_t reg, std::int64_t factored) {
    Set(reg, CfiLocation::Kind::kAtCfa, factored * common_.data_factor);
  }
  void Restore(std::uint64_t reg) {
    if (CfiLocation* location = row_.Of(reg)) *location = *initial_.Of(reg);
  }
  void DefineCfa(std::uint64_t reg, std::int64_t offset) {
    row_.base = CfiRow::Base::kRegister;
    row_.base_register = reg;
    row_.offset = offset;
  }
  void DefineCfaByExpression(CfiCursor expression);
  void SaveByExpression(std::uint64_t reg, CfiCursor expression);
  bool Step(CfiCursor* program);
  bool StepAdvance(std::uint8_t opcode, CfiCursor* program);
  bool StepState(std::uint8_t opcode);
  bool StepCfa(std::uint8_t opcode, CfiCursor* program);
  bool StepRegister(std::uint8_t opcode, CfiCursor* program);

  const CommonEntry& common_;
  std::uint64_t address_;
  std::uint64_t target_;
  bool arrived_ = false;
  CfiRow row_;
  CfiRow initial_;
  CfiRow saved_[kMaxSavedStates];
  int saved_count_ = 0;
};

}  // namespace memprof::recorder
