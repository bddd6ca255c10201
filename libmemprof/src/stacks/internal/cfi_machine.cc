// Executes instruction after instruction; instructions that compilers do not emit are errors.
#include "libmemprof/src/stacks/internal/cfi_machine.h"

namespace memprof::recorder {
namespace {

// Compilers use only DW_OP_breg N of the frame pointer, and DW_OP_deref, in functions that realign
// the stack.
constexpr std::uint8_t kOpDeref = 0x06;

}  // namespace

void CfiMachine::DefineCfaByExpression(CfiCursor expression) {
  row_.base = CfiRow::Base::kOther;
  if (expression.Fixed<std::uint8_t>() != arch::kDwarfBregFramePointer) return;
  const std::int64_t offset = expression.Signed();
  if (expression.Fixed<std::uint8_t>() != kOpDeref || expression.failed() || !expression.done())
    return;
  row_.base = CfiRow::Base::kLoadFromFrame;
  row_.offset = offset;
}

void CfiMachine::SaveByExpression(std::uint64_t reg, CfiCursor expression) {
  Set(reg, CfiLocation::Kind::kOther);
  if (expression.Fixed<std::uint8_t>() != arch::kDwarfBregFramePointer) return;
  const std::int64_t offset = expression.Signed();
  if (!expression.failed() && expression.done()) Set(reg, CfiLocation::Kind::kAtFrame, offset);
}

bool CfiMachine::Step(CfiCursor* program) {
  const auto opcode = program->Fixed<std::uint8_t>();
  const std::uint64_t operand = opcode & 0x3f;
  switch (opcode >> 6) {
    case 1:
      Advance(operand);
      return true;
    case 2:
      SetOffset(operand, static_cast<std::int64_t>(program->Unsigned()));
      return true;
    case 3:
      Restore(operand);
      return true;
    default:
      break;
  }
  // Exactly one of these handles the instruction; only that one reads operands.
  return StepAdvance(opcode, program) || StepState(opcode) || StepCfa(opcode, program) ||
         StepRegister(opcode, program);
}

bool CfiMachine::StepAdvance(std::uint8_t opcode, CfiCursor* program) {
  switch (opcode) {
    case 0x00:  // nop
      return true;
    case 0x01: {  // set_loc
      const std::uint64_t to = program->Pointer(common_.pointer_encoding, nullptr);
      if (to > target_) arrived_ = true;
      address_ = to;
      return true;
    }
    case 0x02:
      Advance(program->Fixed<std::uint8_t>());
      return true;
    case 0x03:
      Advance(program->Fixed<std::uint16_t>());
      return true;
    case 0x04:
      Advance(program->Fixed<std::uint32_t>());
      return true;
    case 0x2c:  // AARCH64_negate_ra_state_with_pc
    case 0x2d:  // AARCH64_negate_ra_state; the walk takes signatures off all return addresses
      return arch::kCallFramesSignReturnAddresses;
    case 0x2e:  // GNU_args_size
      program->Unsigned();
      return true;
    default:
      return false;
  }
}

bool CfiMachine::StepState(std::uint8_t opcode) {
  if (opcode == 0x0a && saved_count_ < kMaxSavedStates) {  // remember_state
    saved_[saved_count_++] = row_;
    return true;
  }
  if (opcode == 0x0b && saved_count_ > 0) {  // restore_state
    row_ = saved_[--saved_count_];
    return true;
  }
  return false;
}

bool CfiMachine::StepCfa(std::uint8_t opcode, CfiCursor* program) {
  switch (opcode) {
    case 0x0c: {  // def_cfa
      const std::uint64_t reg = program->Unsigned();
      DefineCfa(reg, static_cast<std::int64_t>(program->Unsigned()));
      return true;
    }
    case 0x0d:
      DefineCfa(program->Unsigned(), row_.offset);
      return true;
    case 0x0e:
      row_.offset = static_cast<std::int64_t>(program->Unsigned());
      return true;
    case 0x0f:
      DefineCfaByExpression(program->Take(program->Unsigned()));
      return true;
    case 0x12: {  // def_cfa_sf
      const std::uint64_t reg = program->Unsigned();
      DefineCfa(reg, program->Signed() * common_.data_factor);
      return true;
    }
    case 0x13:
      row_.offset = program->Signed() * common_.data_factor;
      return true;
    default:
      return false;
  }
}

// Location of a register of the caller; all of these instructions begin with its number.
bool CfiMachine::StepRegister(std::uint8_t opcode, CfiCursor* program) {
  const std::uint64_t reg = program->Unsigned();
  switch (opcode) {
    case 0x05:  // offset_extended
      SetOffset(reg, static_cast<std::int64_t>(program->Unsigned()));
      return true;
    case 0x06:
      Restore(reg);
      return true;
    case 0x07:
      Set(reg, CfiLocation::Kind::kUndefined);
      return true;
    case 0x08:
      Set(reg, CfiLocation::Kind::kSame);
      return true;
    case 0x10:  // expression
      SaveByExpression(reg, program->Take(program->Unsigned()));
      return true;
    case 0x11:  // offset_extended_sf
      SetOffset(reg, program->Signed());
      return true;
    case 0x09:  // register
    case 0x14:  // val_offset
    case 0x15:  // val_offset_sf
      program->Unsigned();
      Set(reg, CfiLocation::Kind::kOther);
      return true;
    case 0x16:  // val_expression
      program->Skip(program->Unsigned());
      Set(reg, CfiLocation::Kind::kOther);
      return true;
    case 0x2f:  // GNU_negative_offset_extended
      SetOffset(reg, -static_cast<std::int64_t>(program->Unsigned()));
      return true;
    default:
      return false;
  }
}

}  // namespace memprof::recorder
