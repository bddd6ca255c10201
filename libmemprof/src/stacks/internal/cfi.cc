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
  if (return_register != kCfiReturnAddress) return false;
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

// False when `bytes` is not a multiple of 8 or too large.
template <typename Words>
bool ToWords(std::int64_t bytes, Words* words) {
  *words = static_cast<Words>(bytes / 8);
  return bytes % 8 == 0 && *words == bytes / 8;
}

FrameRule ToRule(const CfiRow& row) {
  FrameRule rule;
  if (row.return_address.kind == CfiLocation::Kind::kUndefined) {
    rule.base = CfaBase::kOutermost;
    return rule;
  }
  if (row.return_address.kind != CfiLocation::Kind::kAtCfa || row.return_address.offset != -8 ||
      !ToWords(row.offset, &rule.cfa_words))
    return {};
  switch (row.rbp.kind) {
    case CfiLocation::Kind::kSame:
      break;
    case CfiLocation::Kind::kAtCfa:
      rule.rbp = SavedRbp::kAtCfa;
      break;
    case CfiLocation::Kind::kAtFrame:
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
  if (row.base == CfiRow::Base::kLoadFromFrame) {
    rule.base = CfaBase::kLoadFromFrame;
  } else if (row.base == CfiRow::Base::kRegister && row.base_register == kCfiRsp) {
    rule.base = CfaBase::kStackPointer;
  } else if (row.base == CfiRow::Base::kRegister && row.base_register == kCfiRbp) {
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
