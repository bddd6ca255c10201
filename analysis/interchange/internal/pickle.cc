// The pickle machine, without the opcodes that make it a programming language.
#include "analysis/interchange/internal/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace memprof::analysis {

using Kind = PickleValue::Kind;

namespace {

// Names as Python's pickletools has them.
enum Opcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinUnicode = 'X',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kList = 'l',
  kEmptyTuple = ')',
  kTuple = 't',
  kEmptyDict = '}',
  kDict = 'd',
  kSetItem = 's',
  kSetItems = 'u',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kMemoize = 0x94,
  kFrame = 0x95,
};

// What is refused, by name, so that the message says what the file tries.
struct Refused {
  std::uint8_t opcode;
  std::string_view name;
};
constexpr Refused kRefused[] = {
    {'c', "GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"},
    {0x93, "STACK_GLOBAL"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {'F', "FLOAT"},
    {'I', "INT"},
    {'L', "LONG"},
    {'S', "STRING"},
    {'T', "BINSTRING"},
    {'U', "SHORT_BINSTRING"},
    {'V', "UNICODE"},
    {'g', "GET"},
    {'p', "PUT"},
    {'2', "DUP"},
    {0x8e, "BINBYTES8"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
};

}  // namespace

std::uint64_t PickleValue::Unsigned(std::uint64_t otherwise) const {
  if (kind_ == Kind::kBool) return number_;
  return kind_ == Kind::kInteger && (flags_ & kNegative) == 0 ? number_ : otherwise;
}

std::int64_t PickleValue::Signed(std::int64_t otherwise) const {
  if (kind_ == Kind::kBool) return static_cast<std::int64_t>(number_);
  if (kind_ != Kind::kInteger) return otherwise;
  const auto value = static_cast<std::int64_t>(number_);
  return (value < 0) == ((flags_ & kNegative) != 0) ? value : otherwise;
}

double PickleValue::Float(double otherwise) const {
  if (kind_ == Kind::kFloat) return std::bit_cast<double>(number_);
  if (kind_ != Kind::kInteger && kind_ != Kind::kBool) return otherwise;
  return (flags_ & kNegative) != 0 ? static_cast<double>(static_cast<std::int64_t>(number_))
                                   : static_cast<double>(number_);
}

std::string_view PickleValue::Text() const {
  return kind_ == Kind::kText ? std::string_view(base_, size_) : std::string_view();
}

// One reading. Every step checks that the stack holds what it takes.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, const Pickle::Limits& limits)
      : bytes_(bytes),
        marks_allowed_(limits.marks),
        memory_allowed_(limits.memory_bytes + limits.memory_per_byte * bytes.size()) {}

  absl::StatusOr<Pickle> Run() {
    if (bytes_.size() < 2 || static_cast<std::uint8_t>(bytes_[0]) != kProto)
      return absl::InvalidArgumentError("is no pickle of protocol 2 or later");
    while (!stopped_) {
      start_ = at_;
      if (at_ >= bytes_.size()) return Cut();
      const auto opcode = static_cast<std::uint8_t>(bytes_[at_++]);
      if (const absl::Status status = Step(opcode); !status.ok()) return status;
      if (memory_ + stack_.size() * sizeof(PickleValue) > memory_allowed_)
        return Error("takes more memory than a file of this size may");
    }
    return std::move(pickle_);
  }

 private:
  absl::Status Error(std::string_view what) const {
    const std::string text(what);
    return absl::InvalidArgumentError(absl::StrCat("at offset ", start_, ": ", text));
  }
  absl::Status Cut() const { return Error("the pickle ends before its STOP"); }
  absl::Status Underflow() const { return Error("the pickle takes more than it put down"); }

  absl::Status Step(std::uint8_t opcode);
  absl::Status StepData(std::uint8_t opcode);
  absl::Status StepContainer(std::uint8_t opcode);
  absl::Status StepMemo(std::uint8_t opcode);
  absl::Status Refuse(std::uint8_t opcode) const;

  // Little-endian, of `size` bytes; false at the end of the file.
  bool Number(std::size_t size, std::uint64_t* value) {
    if (bytes_.size() - at_ < size) return false;
    *value = 0;
    for (std::size_t i = 0; i < size; ++i)
      *value |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + i])} << (8 * i);
    at_ += size;
    return true;
  }
  absl::Status Integer(std::size_t size, bool is_signed);
  absl::Status Long(std::size_t size_of_size);
  absl::Status Text(std::size_t size_of_size, Kind kind);
  absl::Status Float();

  absl::Status Push(PickleValue value) {
    stack_.push_back(value);
    return absl::OkStatus();
  }
  absl::Status PushContainer(Kind kind, std::size_t items);
  absl::Status Extend(Kind kind, std::size_t begin);
  absl::Status Remember(std::uint64_t slot);
  // The stack's height at the last mark, which is taken away; false if there is none.
  bool TakeMark(std::size_t* begin) {
    if (marks_.empty()) return false;
    *begin = marks_.back();
    marks_.pop_back();
    return true;
  }
  // How much of the stack lies above the last mark: no more may be taken.
  std::size_t Above() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  std::string_view bytes_;
  std::size_t at_ = 0, start_ = 0;
  bool stopped_ = false;
  std::size_t marks_allowed_;
  std::uint64_t memory_allowed_, memory_ = 0;
  Pickle pickle_;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleValue> memo_;  // slots in order, as all known writers use them
  absl::flat_hash_map<std::uint64_t, PickleValue> far_memo_;  // others
};

absl::Status PickleReader::Step(std::uint8_t opcode) {
  std::uint64_t number = 0;
  switch (opcode) {
    case kProto:
      if (!Number(1, &number)) return Cut();
      if (number < 2 || number > 5)
        return Error(absl::StrCat("pickle protocol ", number, " is not known (2 to 5 are)"));
      pickle_.protocol_ = static_cast<int>(number);
      return absl::OkStatus();
    case kFrame:  // says how much may be read ahead, which is nothing to us
      return Number(8, &number) ? absl::OkStatus() : Cut();
    case kMark:
      if (marks_.size() >= marks_allowed_) return Error("lists and dictionaries nest too deeply");
      marks_.push_back(stack_.size());
      return absl::OkStatus();
    case kPop:
      if (Above() > 0) {
        stack_.pop_back();
      } else if (!marks_.empty()) {
        marks_.pop_back();
      } else {
        return Underflow();
      }
      return absl::OkStatus();
    case kPopMark:
      if (!TakeMark(&number)) return Underflow();
      stack_.resize(number);
      return absl::OkStatus();
    case kStop:
      if (Above() == 0) return Underflow();
      pickle_.root_ = stack_.back();
      stopped_ = true;
      return absl::OkStatus();
    case kBinGet:
    case kLongBinGet:
    case kBinPut:
    case kLongBinPut:
    case kMemoize:
      return StepMemo(opcode);
    default:
      return StepData(opcode);
  }
}

absl::Status PickleReader::StepData(std::uint8_t opcode) {
  switch (opcode) {
    case kNone:
      return Push(PickleValue());
    case kNewTrue:
    case kNewFalse: {
      PickleValue value;
      value.kind_ = Kind::kBool;
      value.number_ = opcode == kNewTrue ? 1 : 0;
      return Push(value);
    }
    case kBinInt:
      return Integer(4, true);
    case kBinInt1:
      return Integer(1, false);
    case kBinInt2:
      return Integer(2, false);
    case kLong1:
      return Long(1);
    case kLong4:
      return Long(4);
    case kBinFloat:
      return Float();
    case kShortBinUnicode:
      return Text(1, Kind::kText);
    case kBinUnicode:
      return Text(4, Kind::kText);
    case kBinUnicode8:
      return Text(8, Kind::kText);
    case kShortBinBytes:
      return Text(1, Kind::kBytes);
    case kBinBytes:
      return Text(4, Kind::kBytes);
    default:
      return StepContainer(opcode);
  }
}

absl::Status PickleReader::StepContainer(std::uint8_t opcode) {
  std::size_t begin = 0;
  switch (opcode) {
    case kEmptyList:
      return PushContainer(Kind::kList, 0);
    case kEmptyDict:
      return PushContainer(Kind::kDict, 0);
    case kEmptyTuple:
      return PushContainer(Kind::kTuple, 0);
    case kTuple1:
    case kTuple2:
    case kTuple3:
      return PushContainer(Kind::kTuple, opcode - kTuple1 + 1u);
    case kTuple:
    case kList:
    case kDict: {
      if (!TakeMark(&begin)) return Underflow();
      const Kind kind = opcode == kTuple  ? Kind::kTuple
                        : opcode == kList ? Kind::kList
                                          : Kind::kDict;
      return PushContainer(kind, stack_.size() - begin);
    }
    case kAppend:
    case kSetItem: {
      const std::size_t items = opcode == kAppend ? 1 : 2;
      if (Above() < items + 1) return Underflow();
      return Extend(opcode == kAppend ? Kind::kList : Kind::kDict, stack_.size() - items);
    }
    case kAppends:
    case kSetItems:
      if (!TakeMark(&begin)) return Underflow();
      if (begin == 0 || (!marks_.empty() && begin <= marks_.back())) return Underflow();
      return Extend(opcode == kAppends ? Kind::kList : Kind::kDict, begin);
    default:
      return Refuse(opcode);
  }
}

absl::Status PickleReader::Refuse(std::uint8_t opcode) const {
  const auto* const known = std::find_if(std::begin(kRefused), std::end(kRefused),
                                         [opcode](const Refused& r) { return r.opcode == opcode; });
  const std::string name =
      known == std::end(kRefused) ? "no opcode of pickle" : std::string(known->name);
  return Error(
      absl::StrFormat("opcode 0x%02x (%s) is refused: plain data does not need it", opcode, name));
}

absl::Status PickleReader::Integer(std::size_t size, bool is_signed) {
  PickleValue value;
  value.kind_ = Kind::kInteger;
  if (!Number(size, &value.number_)) return Cut();
  if (is_signed && (value.number_ >> (8 * size - 1)) != 0) {
    value.flags_ = PickleValue::kNegative;
    value.number_ |= ~std::uint64_t{0} << (8 * size);
  }
  return Push(value);
}

// Two's complement of any length; what fits 64 bits, signed or unsigned, is kept.
absl::Status PickleReader::Long(std::size_t size_of_size) {
  std::uint64_t size = 0;
  if (!Number(size_of_size, &size) || size > bytes_.size() - at_) return Cut();
  PickleValue value;
  value.kind_ = Kind::kInteger;
  const bool negative = size > 0 && static_cast<std::uint8_t>(bytes_[at_ + size - 1]) >= 0x80;
  const char fill = negative ? '\xff' : '\0';
  for (std::uint64_t i = 8; i < size; ++i)
    if (bytes_[at_ + i] != fill) value.kind_ = Kind::kHuge;
  value.number_ = negative ? ~std::uint64_t{0} : 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(size, 8); ++i) {
    value.number_ &= ~(std::uint64_t{0xff} << (8 * i));
    value.number_ |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + i])} << (8 * i);
  }
  if (negative) {
    value.flags_ = PickleValue::kNegative;
    if (static_cast<std::int64_t>(value.number_) >= 0) value.kind_ = Kind::kHuge;
  }
  at_ += size;
  return Push(value);
}

absl::Status PickleReader::Text(std::size_t size_of_size, Kind kind) {
  std::uint64_t size = 0;
  if (!Number(size_of_size, &size) || size > bytes_.size() - at_) return Cut();
  if (size > UINT32_MAX) return Error("a text of more than 4 GiB");
  PickleValue value;
  value.kind_ = kind;
  value.base_ = bytes_.data() + at_;
  value.size_ = static_cast<std::uint32_t>(size);
  at_ += size;
  return Push(value);
}

absl::Status PickleReader::Float() {
  std::uint64_t bits = 0;
  if (bytes_.size() - at_ < 8) return Cut();
  for (int i = 0; i < 8; ++i)  // the one number that is big-endian
    bits = bits << 8 | static_cast<std::uint8_t>(bytes_[at_++]);
  PickleValue value;
  value.kind_ = Kind::kFloat;
  value.number_ = bits;
  return Push(value);
}

absl::Status PickleReader::PushContainer(Kind kind, std::size_t items) {
  if (Above() < items) return Underflow();
  if (kind == Kind::kDict && items % 2 != 0) return Error("a dictionary has a key without a value");
  PickleValue value;
  value.kind_ = kind;
  value.number_ = pickle_.containers_.size();
  if (value.number_ >= UINT32_MAX) return Error("too many lists and dictionaries");
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(items);
  pickle_.containers_.emplace_back(begin, stack_.end());
  memory_ += sizeof(std::vector<PickleValue>) + items * sizeof value;
  stack_.erase(begin, stack_.end());
  return Push(value);
}

// Adds what lies on the stack from `begin` to the container just below.
absl::Status PickleReader::Extend(Kind kind, std::size_t begin) {
  const PickleValue target = stack_[begin - 1];
  if (target.kind_ != kind)
    return Error(kind == Kind::kList ? "items are added to what is no list"
                                     : "pairs are added to what is no dictionary");
  const std::size_t items = stack_.size() - begin;
  if (kind == Kind::kDict && items % 2 != 0) return Error("a dictionary has a key without a value");
  std::vector<PickleValue>& container = pickle_.containers_[target.container()];
  const std::size_t before = container.capacity();
  const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(begin);
  container.insert(container.end(), first, stack_.end());
  memory_ += (container.capacity() - before) * sizeof(PickleValue);
  stack_.erase(first, stack_.end());
  return absl::OkStatus();
}

absl::Status PickleReader::StepMemo(std::uint8_t opcode) {
  std::uint64_t slot = memo_.size() + far_memo_.size();
  const bool wide = opcode == kLongBinGet || opcode == kLongBinPut;
  if (opcode != kMemoize && !Number(wide ? 4 : 1, &slot)) return Cut();
  if (opcode != kBinGet && opcode != kLongBinGet) return Remember(slot);
  if (slot < memo_.size()) return Push(memo_[slot]);
  const auto at = far_memo_.find(slot);
  if (at == far_memo_.end()) return Error(absl::StrCat("nothing was put in slot ", slot));
  return Push(at->second);
}

absl::Status PickleReader::Remember(std::uint64_t slot) {
  if (Above() == 0) return Underflow();
  memory_ += sizeof(PickleValue);
  if (slot < memo_.size()) {
    memo_[slot] = stack_.back();
  } else if (slot == memo_.size() && far_memo_.empty()) {
    memo_.push_back(stack_.back());
  } else {
    memory_ += 2 * sizeof(PickleValue);
    far_memo_[slot] = stack_.back();
  }
  return absl::OkStatus();
}

absl::StatusOr<Pickle> Pickle::Parse(std::string_view bytes, const Limits& limits) {
  return PickleReader(bytes, limits).Run();
}

std::span<const PickleValue> Pickle::Items(PickleValue list) const {
  if (!list.is_list()) return {};
  return containers_[list.container()];
}

std::span<const PickleValue> Pickle::Pairs(PickleValue dict) const {
  if (!dict.is_dict()) return {};
  return containers_[dict.container()];
}

PickleValue Pickle::At(PickleValue dict, std::string_view key) const {
  const std::span<const PickleValue> pairs = Pairs(dict);
  for (std::size_t i = pairs.size(); i >= 2; i -= 2)
    if (pairs[i - 2].is_text() && pairs[i - 2].Text() == key) return pairs[i - 1];
  return {};
}

}  // namespace memprof::analysis
