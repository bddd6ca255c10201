// Finds the frame description of an address and runs its program up to there.
#include "libmemprof/src/stacks/internal/cfi.h"

#include <string.h>

namespace memprof::recorder {
namespace {

// DWARF's numbers of x86-64 registers (System V ABI, figure 3.36).
constexpr std::uint64_t kRbp = 6;
constexpr std::uint64_t kRsp = 7;
constexpr std::uint64_t kReturnAddress = 16;

// Pointer encodings (LSB 5.0, DW_EH_PE_*).
constexpr std::uint8_t kOmitted = 0xff;
constexpr std::uint8_t kIndirect = 0x80;
constexpr std::uint8_t kPcRelative = 0x10;
constexpr std::uint8_t kDataRelative = 0x30;

constexpr int kMostInstructions = 4096;
constexpr int kMostSavedStates = 16;

// Reads forward within fixed bounds; past the end everything is 0 and `failed` stays set.
class Cursor {
 public:
  Cursor(const unsigned char* at, const unsigned char* end) : at_(at), end_(end) {}

  const unsigned char* at() const { return at_; }
  const unsigned char* end() const { return end_; }
  bool failed() const { return failed_; }
  bool done() const { return failed_ || at_ >= end_; }

  template <typename Value>
  Value Fixed() {
    Value value{};
    if (!Has(sizeof value)) return value;
    memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t Unsigned() {  // LEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Fixed<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t Signed() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = Fixed<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
    failed_ = true;
    return 0;
  }
  void Skip(std::uint64_t bytes) {
    if (Has(bytes)) at_ += bytes;
  }
  // A view of the next `bytes`, which are skipped.
  Cursor Take(std::uint64_t bytes) {
    const unsigned char* from = at_;
    Skip(bytes);
    return failed_ ? Cursor(end_, end_) : Cursor(from, at_);
  }
  std::uint64_t Pointer(std::uint8_t encoding, const unsigned char* data_base) {
    if (encoding == kOmitted || (encoding & kIndirect) != 0) {
      failed_ = true;
      return 0;
    }
    const auto here = reinterpret_cast<std::uint64_t>(at_);
    const std::uint64_t value = Number(encoding & 0x0f);
    switch (encoding & 0x70) {
      case 0:
        return value;
      case kPcRelative:
        return here + value;
      case kDataRelative:
        if (data_base != nullptr) return reinterpret_cast<std::uint64_t>(data_base) + value;
        [[fallthrough]];
      default:
        failed_ = true;
        return 0;
    }
  }
  std::uint64_t Number(std::uint8_t format) {
    switch (format) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return Fixed<std::uint64_t>();
      case 0x01:
        return Unsigned();
      case 0x02:
        return Fixed<std::uint16_t>();
      case 0x03:
        return Fixed<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(Signed());
      case 0x0a:
        return static_cast<std::uint64_t>(std::int64_t{Fixed<std::int16_t>()});
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{Fixed<std::int32_t>()});
      default:
        failed_ = true;
        return 0;
    }
  }

 private:
  bool Has(std::uint64_t bytes) {
    if (failed_ || bytes > static_cast<std::uint64_t>(end_ - at_)) failed_ = true;
    return !failed_;
  }

  const unsigned char* at_;
  const unsigned char* end_;
  bool failed_ = false;
};

// One entry of the binary search table, in its only common form: offsets from the header.
struct SearchEntry {
  std::int32_t code;
  std::int32_t description;
};

// The frame description that begins last at or before `address`; null if there is none.
const unsigned char* FindDescription(const CallFrameTable& table, std::uint64_t address) {
  Cursor cursor(table.header, table.end);
  const auto version = cursor.Fixed<std::uint8_t>();
  const auto frame_encoding = cursor.Fixed<std::uint8_t>();
  const auto count_encoding = cursor.Fixed<std::uint8_t>();
  const auto table_encoding = cursor.Fixed<std::uint8_t>();
  cursor.Pointer(frame_encoding, table.header);
  const std::uint64_t count = cursor.Pointer(count_encoding, table.header);
  if (cursor.failed() || version != 1 || table_encoding != (kDataRelative | 0x0b) || count == 0 ||
      count > static_cast<std::uint64_t>(cursor.end() - cursor.at()) / sizeof(SearchEntry))
    return nullptr;
  const auto wanted =
      static_cast<std::int64_t>(address - reinterpret_cast<std::uint64_t>(table.header));
  const auto entry_at = [&cursor](std::uint64_t index) {
    SearchEntry entry;
    memcpy(&entry, cursor.at() + index * sizeof entry, sizeof entry);
    return entry;
  };
  if (entry_at(0).code > wanted) return nullptr;
  std::uint64_t low = 0, high = count;  // entry_at(low).code <= wanted < entry_at(high).code
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (entry_at(middle).code <= wanted ? low : high) = middle;
  }
  const unsigned char* found = table.header + entry_at(low).description;
  return found >= table.begin && found < table.end ? found : nullptr;
}

// What the common information entry says about all its descriptions.
struct CommonEntry {
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uint8_t pointer_encoding = 0;
  bool has_augmentation = false;
  Cursor program{nullptr, nullptr};
};

// The payload of an entry, after its length; empty on the terminator and on 64-bit entries, which
// nobody emits.
Cursor EntryAt(const unsigned char* at, const unsigned char* end) {
  Cursor cursor(at, end);
  const auto length = cursor.Fixed<std::uint32_t>();
  if (length == 0 || length == 0xffffffffu) return {end, end};
  return cursor.Take(length);
}

bool ReadCommonEntry(const CallFrameTable& table, const unsigned char* at, CommonEntry* common) {
  if (at < table.begin || at >= table.end) return false;
  Cursor cursor = EntryAt(at, table.end);
  if (cursor.Fixed<std::uint32_t>() != 0) return false;  // not a common entry
  const auto version = cursor.Fixed<std::uint8_t>();
  if (version != 1 && version != 3) return false;
  char augmentation[8] = "";
  for (std::size_t length = 0; (augmentation[length] = cursor.Fixed<char>()) != '\0'; ++length)
    if (length + 2 == sizeof augmentation) return false;
  common->code_factor = cursor.Unsigned();
  common->data_factor = cursor.Signed();
  const std::uint64_t return_register =
      version == 1 ? cursor.Fixed<std::uint8_t>() : cursor.Unsigned();
  if (return_register != kReturnAddress) return false;
  if (augmentation[0] == 'z') {
    common->has_augmentation = true;
    Cursor data = cursor.Take(cursor.Unsigned());
    for (const char* letter = augmentation + 1; *letter != '\0'; ++letter) {
      if (*letter == 'R') {
        common->pointer_encoding = data.Fixed<std::uint8_t>();
      } else if (*letter == 'P') {
        const auto encoding = data.Fixed<std::uint8_t>();
        data.Number(encoding & 0x0f);
      } else if (*letter == 'L') {
        data.Fixed<std::uint8_t>();
      } else {
        return false;  // 'S': a signal frame, whose registers are all elsewhere
      }
    }
    if (data.failed()) return false;
  } else if (augmentation[0] != '\0') {
    return false;
  }
  common->program = Cursor(cursor.at(), cursor.end());
  return !cursor.failed();
}

// Where a register of the caller is.
struct Location {
  enum class Kind { kSame, kAtCfa, kAtFrame, kUndefined, kOther } kind = Kind::kSame;
  std::int64_t offset = 0;
};

// The row that a call-frame program has arrived at.
struct Row {
  enum class Base { kRegister, kLoadFromFrame, kOther } base = Base::kOther;
  std::uint64_t base_register = 0;
  std::int64_t offset = 0;
  Location rbp;
  Location return_address;

  Location* Of(std::uint64_t reg) {
    if (reg == kRbp) return &rbp;
    return reg == kReturnAddress ? &return_address : nullptr;
  }
};

// Runs call-frame instructions (DWARF 5, section 6.4.2) until the row that covers `target`.
class Machine {
 public:
  Machine(const CommonEntry& common, std::uint64_t begin, std::uint64_t target)
      : common_(common), address_(begin), target_(target) {}

  bool RunCommon() {
    if (!Run(common_.program)) return false;
    initial_ = row_;
    return true;
  }
  bool Run(Cursor program) {
    for (int budget = kMostInstructions; !program.done() && !arrived_; --budget)
      if (budget == 0 || !Step(&program)) return false;
    return !program.failed();
  }
  const Row& row() const { return row_; }

 private:
  void Advance(std::uint64_t units) {
    const std::uint64_t next = address_ + units * common_.code_factor;
    if (next > target_) {
      arrived_ = true;
    } else {
      address_ = next;
    }
  }
  void Set(std::uint64_t reg, Location::Kind kind, std::int64_t offset = 0) {
    if (Location* location = row_.Of(reg)) *location = {kind, offset};
  }
  void SetOffset(std::uint64_t reg, std::int64_t factored) {
    Set(reg, Location::Kind::kAtCfa, factored * common_.data_factor);
  }
  void Restore(std::uint64_t reg) {
    if (Location* location = row_.Of(reg)) *location = *initial_.Of(reg);
  }
  void DefineCfa(std::uint64_t reg, std::int64_t offset) {
    row_.base = Row::Base::kRegister;
    row_.base_register = reg;
    row_.offset = offset;
  }
  void DefineCfaByExpression(Cursor expression);
  void SaveByExpression(std::uint64_t reg, Cursor expression);
  bool Step(Cursor* program);
  bool StepExtended(std::uint8_t opcode, Cursor* program);

  const CommonEntry& common_;
  std::uint64_t address_;
  std::uint64_t target_;
  bool arrived_ = false;
  Row row_;
  Row initial_;
  Row saved_[kMostSavedStates];
  int saved_count_ = 0;
};

// DW_OP_breg6 N, and DW_OP_deref, are all that compilers use where they realign the stack.
constexpr std::uint8_t kOpBregRbp = 0x76;
constexpr std::uint8_t kOpDeref = 0x06;

void Machine::DefineCfaByExpression(Cursor expression) {
  row_.base = Row::Base::kOther;
  if (expression.Fixed<std::uint8_t>() != kOpBregRbp) return;
  const std::int64_t offset = expression.Signed();
  if (expression.Fixed<std::uint8_t>() != kOpDeref || expression.failed() || !expression.done())
    return;
  row_.base = Row::Base::kLoadFromFrame;
  row_.offset = offset;
}

void Machine::SaveByExpression(std::uint64_t reg, Cursor expression) {
  Set(reg, Location::Kind::kOther);
  if (expression.Fixed<std::uint8_t>() != kOpBregRbp) return;
  const std::int64_t offset = expression.Signed();
  if (!expression.failed() && expression.done()) Set(reg, Location::Kind::kAtFrame, offset);
}

bool Machine::Step(Cursor* program) {
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
      return StepExtended(opcode, program);
  }
}

bool Machine::StepExtended(std::uint8_t opcode, Cursor* program) {
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
    case 0x05: {  // offset_extended
      const std::uint64_t reg = program->Unsigned();
      SetOffset(reg, static_cast<std::int64_t>(program->Unsigned()));
      return true;
    }
    case 0x06:
      Restore(program->Unsigned());
      return true;
    case 0x07:
      Set(program->Unsigned(), Location::Kind::kUndefined);
      return true;
    case 0x08:
      Set(program->Unsigned(), Location::Kind::kSame);
      return true;
    case 0x09: {  // register
      const std::uint64_t reg = program->Unsigned();
      program->Unsigned();
      Set(reg, Location::Kind::kOther);
      return true;
    }
    case 0x0a:  // remember_state
      if (saved_count_ == kMostSavedStates) return false;
      saved_[saved_count_++] = row_;
      return true;
    case 0x0b:  // restore_state
      if (saved_count_ == 0) return false;
      row_ = saved_[--saved_count_];
      return true;
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
    case 0x10: {  // expression
      const std::uint64_t reg = program->Unsigned();
      SaveByExpression(reg, program->Take(program->Unsigned()));
      return true;
    }
    case 0x11: {  // offset_extended_sf
      const std::uint64_t reg = program->Unsigned();
      SetOffset(reg, program->Signed());
      return true;
    }
    case 0x12: {  // def_cfa_sf
      const std::uint64_t reg = program->Unsigned();
      DefineCfa(reg, program->Signed() * common_.data_factor);
      return true;
    }
    case 0x13:
      row_.offset = program->Signed() * common_.data_factor;
      return true;
    case 0x14:    // val_offset
    case 0x15: {  // val_offset_sf
      const std::uint64_t reg = program->Unsigned();
      program->Unsigned();
      Set(reg, Location::Kind::kOther);
      return true;
    }
    case 0x16: {  // val_expression
      const std::uint64_t reg = program->Unsigned();
      program->Skip(program->Unsigned());
      Set(reg, Location::Kind::kOther);
      return true;
    }
    case 0x2e:  // GNU_args_size
      program->Unsigned();
      return true;
    case 0x2f: {  // GNU_negative_offset_extended
      const std::uint64_t reg = program->Unsigned();
      SetOffset(reg, -static_cast<std::int64_t>(program->Unsigned()));
      return true;
    }
    default:
      return false;
  }
}

// False when `bytes` is no multiple of 8 or does not fit.
template <typename Words>
bool ToWords(std::int64_t bytes, Words* words) {
  *words = static_cast<Words>(bytes / 8);
  return bytes % 8 == 0 && *words == bytes / 8;
}

FrameRule ToRule(const Row& row) {
  FrameRule rule;
  if (row.return_address.kind == Location::Kind::kUndefined) {
    rule.base = CfaBase::kOutermost;
    return rule;
  }
  if (row.return_address.kind != Location::Kind::kAtCfa || row.return_address.offset != -8 ||
      !ToWords(row.offset, &rule.cfa_words))
    return {};
  switch (row.rbp.kind) {
    case Location::Kind::kSame:
      break;
    case Location::Kind::kAtCfa:
      rule.rbp = SavedRbp::kAtCfa;
      break;
    case Location::Kind::kAtFrame:
      rule.rbp = SavedRbp::kAtFrame;
      break;
    default:
      rule.rbp = SavedRbp::kUnusable;
      break;
  }
  if (!ToWords(row.rbp.offset, &rule.rbp_words)) {
    rule.rbp = SavedRbp::kUnusable;
    rule.rbp_words = 0;
  }
  if (row.base == Row::Base::kLoadFromFrame) {
    rule.base = CfaBase::kLoadFromFrame;
  } else if (row.base == Row::Base::kRegister && row.base_register == kRsp) {
    rule.base = CfaBase::kStackPointer;
  } else if (row.base == Row::Base::kRegister && row.base_register == kRbp) {
    rule.base = CfaBase::kFramePointer;
  } else {
    return {};
  }
  return rule;
}

}  // namespace

FrameRule ReadFrameRule(const CallFrameTable& table, std::uint64_t address) {
  const unsigned char* description = FindDescription(table, address);
  if (description == nullptr) return {};
  Cursor cursor = EntryAt(description, table.end);
  const unsigned char* id_field = cursor.at();
  const auto back = cursor.Fixed<std::uint32_t>();  // distance to the common entry
  CommonEntry common;
  if (cursor.failed() || back == 0 || back > static_cast<std::uint64_t>(id_field - table.begin) ||
      !ReadCommonEntry(table, id_field - back, &common))
    return {};
  const std::uint64_t begin = cursor.Pointer(common.pointer_encoding, table.header);
  const std::uint64_t length = cursor.Number(common.pointer_encoding & 0x0f);
  if (cursor.failed() || address < begin || address - begin >= length) return {};
  if (common.has_augmentation) cursor.Skip(cursor.Unsigned());
  Machine machine(common, begin, address);
  if (cursor.failed() || !machine.RunCommon() || !machine.Run(cursor)) return {};
  return ToRule(machine.row());
}

}  // namespace memprof::recorder
