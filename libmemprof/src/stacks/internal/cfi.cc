// Finds the frame description of an address, and runs its program up to that address.
#include "libmemprof/src/stacks/internal/cfi.h"

#include <string.h>

#include "libmemprof/src/stacks/internal/cfi_cursor.h"
#include "libmemprof/src/stacks/internal/cfi_machine.h"

namespace memprof::recorder {
namespace {

// One entry of the binary search table, in its only common form: offsets from the header.
struct SearchEntry {
  std::int32_t code;
  std::int32_t description;
};

// The last frame description that begins at or before `address`; null if there is none.
const unsigned char* FindDescription(const CallFrameTable& table, std::uint64_t address) {
  CfiCursor cursor(table.header, table.end);
  const auto version = cursor.Fixed<std::uint8_t>();
  const auto frame_encoding = cursor.Fixed<std::uint8_t>();
  const auto count_encoding = cursor.Fixed<std::uint8_t>();
  const auto table_encoding = cursor.Fixed<std::uint8_t>();
  cursor.Pointer(frame_encoding, table.header);
  const std::uint64_t count = cursor.Pointer(count_encoding, table.header);
  if (cursor.failed() || version != 1 || table_encoding != (kPointerDataRelative | 0x0b) ||
      count == 0 ||
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

// The payload of an entry, after its length; empty for the terminator and for 64-bit entries, which
// no compiler emits.
CfiCursor EntryAt(const unsigned char* at, const unsigned char* end) {
  CfiCursor cursor(at, end);
  const auto length = cursor.Fixed<std::uint32_t>();
  if (length == 0 || length == 0xffffffffu) return {end, end};
  return cursor.Take(length);
}

bool ReadCommonEntry(const CallFrameTable& table, const unsigned char* at, CommonEntry* common) {
  if (at < table.begin || at >= table.end) return false;
  CfiCursor cursor = EntryAt(at, table.end);
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
  if (return_register != arch::kDwarfReturnAddress) return false;
  if (augmentation[0] == 'z') {
    common->has_augmentation = true;
    CfiCursor data = cursor.Take(cursor.Unsigned());
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
  common->program = CfiCursor(cursor.at(), cursor.end());
  return !cursor.failed();
}

// False when `bytes` is not a multiple of the unit, or does not fit into a rule's bits.
bool ToWords(std::int64_t bytes, int bits, int unit, std::int16_t* words) {
  const std::int64_t most = std::int64_t{1} << (bits - 1);
  if (bytes % (8 * unit) != 0) return false;
  const std::int64_t units = bytes / (8 * unit);
  if (units < -most || units >= most) return false;
  *words = static_cast<std::int16_t>(units * unit);
  return true;
}
bool ToSavedWords(std::int64_t bytes, std::int16_t* words) {
  return ToWords(bytes, arch::kFrameSavedBits, 1, words);
}

// Where the caller's frame pointer is, with the return address in its place below the CFA.
void SetSavedFp(const CfiLocation& fp, FrameRule* rule) {
  if (fp.kind == CfiLocation::Kind::kSame) return;
  rule->fp = SavedFp::kUnusable;
  if (!ToSavedWords(fp.offset, &rule->saved_words)) return;
  if (fp.kind == CfiLocation::Kind::kAtCfa) rule->fp = SavedFp::kAtCfa;
  if (fp.kind == CfiLocation::Kind::kAtFrame) rule->fp = SavedFp::kAtFrame;
}

// The return address of functions that store it themselves. A function that has not stored it yet
// cannot have called another one.
[[maybe_unused]] bool SetSavedPair(const CfiRow& row, FrameRule* rule) {
  using Kind = CfiLocation::Kind;
  std::int64_t at = row.return_address.offset;
  if (row.fp.kind == Kind::kAtCfa && row.fp.offset == at - 8) {
    rule->fp = SavedFp::kAtCfa;
    at = row.fp.offset;
  } else if (row.fp.kind != Kind::kSame) {
    rule->fp = SavedFp::kUnusable;
  }
  return ToSavedWords(at, &rule->saved_words);
}

FrameRule ToRule(const CfiRow& row) {
  FrameRule rule;
  if (row.return_address.kind == CfiLocation::Kind::kUndefined) {
    rule.base = CfaBase::kOutermost;
    return rule;
  }
  if (row.return_address.kind != CfiLocation::Kind::kAtCfa ||
      !ToWords(row.offset, arch::kFrameCfaBits, arch::kFrameCfaUnit, &rule.cfa_words))
    return {};
  if constexpr (arch::kCallPushesReturnAddress) {
    if (row.return_address.offset != -8) return {};
    SetSavedFp(row.fp, &rule);
  } else if (!SetSavedPair(row, &rule)) {
    return {};
  }
  if (row.base == CfiRow::Base::kLoadFromFrame) {
    rule.base = CfaBase::kLoadFromFrame;
  } else if (row.base == CfiRow::Base::kRegister && row.base_register == arch::kDwarfStackPointer) {
    rule.base = CfaBase::kStackPointer;
  } else if (row.base == CfiRow::Base::kRegister && row.base_register == arch::kDwarfFramePointer) {
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
  CfiCursor cursor = EntryAt(description, table.end);
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
  CfiMachine machine(common, begin, address);
  if (cursor.failed() || !machine.RunCommon() || !machine.Run(cursor)) return {};
  return ToRule(machine.row());
}

}  // namespace memprof::recorder
