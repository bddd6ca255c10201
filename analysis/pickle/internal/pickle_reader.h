// The pickle machine: its opcodes and its state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "analysis/pickle/pickle.h"

namespace memprof::analysis {
// Reads one pickle. Every step checks that the stack holds its operands.
class PickleReader {
 public:
  PickleReader(std::string_view bytes, const Pickle::Limits& limits)
      : bytes_(bytes),
        marks_allowed_(limits.marks),
        objects_(limits.objects),
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
        return Error("needs more memory than a file of this size may use");
    }
    return Pickle(root_, std::move(containers_), protocol_);
  }

 private:
  using Kind = PickleValue::Kind;

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
    // Of objects.
    kGlobal = 'c',
    kReduce = 'R',
    kBuild = 'b',
    kBinPersId = 'Q',
    kNewObj = 0x81,
    kBinBytes8 = 0x8e,
    kEmptySet = 0x8f,
    kAddItems = 0x90,
    kFrozenSet = 0x91,
    kNewObjEx = 0x92,
    kStackGlobal = 0x93,
    kByteArray8 = 0x96,
  };

  absl::Status Error(std::string_view what) const {
    const std::string text(what);
    return absl::InvalidArgumentError(absl::StrCat("at offset ", start_, ": ", text));
  }
  absl::Status Cut() const { return Error("the pickle ends before its STOP"); }
  absl::Status Underflow() const { return Error("the pickle pops more than it pushed"); }

  absl::Status Step(std::uint8_t opcode);
  absl::Status StepData(std::uint8_t opcode);
  absl::Status StepContainer(std::uint8_t opcode);
  absl::Status StepMemo(std::uint8_t opcode);
  absl::Status StepObject(std::uint8_t opcode);
  // Replaces the uppermost `operands` by an object without a state.
  absl::Status MakeObject(std::size_t operands);
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
  // The stack's height at the last mark, which is removed; false if there is none.
  bool TakeMark(std::size_t* begin) {
    if (marks_.empty()) return false;
    *begin = marks_.back();
    marks_.pop_back();
    return true;
  }
  // The part of the stack above the last mark: no more may be popped.
  std::size_t Above() const { return stack_.size() - (marks_.empty() ? 0 : marks_.back()); }

  std::string_view bytes_;
  std::size_t at_ = 0, start_ = 0;
  bool stopped_ = false;
  std::size_t marks_allowed_;
  bool objects_;
  std::uint64_t memory_allowed_, memory_ = 0;
  PickleValue root_;
  std::vector<std::vector<PickleValue>> containers_;
  int protocol_ = 0;
  std::vector<PickleValue> stack_;
  std::vector<std::size_t> marks_;
  std::vector<PickleValue> memo_;  // slots in ascending order, as all known writers use them
  absl::flat_hash_map<std::uint64_t, PickleValue> far_memo_;  // others
};

}  // namespace memprof::analysis
