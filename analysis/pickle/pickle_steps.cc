// What each opcode does. Those that make pickles a programming language are refused.
#include <algorithm>
#include <iterator>

#include "analysis/pickle/internal/pickle_reader.h"

namespace memprof::analysis {
namespace {

// Refused opcodes by name, so that the message shows what the file attempts.
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

absl::Status PickleReader::Step(std::uint8_t opcode) {
  std::uint64_t number = 0;
  switch (opcode) {
    case kProto:
      if (!Number(1, &number)) return Cut();
      if (number < 2 || number > 5)
        return Error(absl::StrCat("pickle protocol ", number, " is not known (2 to 5 are)"));
      protocol_ = static_cast<int>(number);
      return absl::OkStatus();
    case kFrame:  // how much may be read ahead; not needed here
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
      root_ = stack_.back();
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
    case kNewFalse:
      return Push(PickleValue(Kind::kBool, opcode == kNewTrue ? 1 : 0));
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
      return objects_ ? StepObject(opcode) : Refuse(opcode);
  }
}

absl::Status PickleReader::MakeObject(std::size_t operands) {
  if (Above() < operands) return Underflow();
  stack_.resize(stack_.size() - operands);
  return PushContainer(Kind::kObject, 0);
}

// None of these does anything: what a class or a function would make is an object.
absl::Status PickleReader::StepObject(std::uint8_t opcode) {
  std::size_t begin = 0;
  switch (opcode) {
    case kGlobal: {  // the lines MODULE and NAME
      const std::size_t first = bytes_.find('\n', at_);
      const std::size_t second =
          first == std::string_view::npos ? first : bytes_.find('\n', first + 1);
      if (second == std::string_view::npos) return Cut();
      at_ = second + 1;
      return MakeObject(0);
    }
    case kEmptySet:
      return MakeObject(0);
    case kBinPersId:
      return MakeObject(1);
    case kReduce:
    case kNewObj:
    case kStackGlobal:
      return MakeObject(2);
    case kNewObjEx:
      return MakeObject(3);
    case kAddItems:
    case kFrozenSet:
      if (!TakeMark(&begin)) return Underflow();
      stack_.resize(begin);
      return opcode == kFrozenSet ? MakeObject(0) : absl::OkStatus();
    case kBinBytes8:
    case kByteArray8:
      return Text(8, Kind::kBytes);
    case kBuild: {
      if (Above() < 2) return Underflow();
      const PickleValue state = stack_.back();
      stack_.pop_back();
      if (stack_.back().kind() != Kind::kObject) return Error("what is no object has a state");
      containers_[stack_.back().container()].push_back(state);
      memory_ += sizeof(PickleValue);
      return absl::OkStatus();
    }
    default:
      return Refuse(opcode);
  }
}

absl::Status PickleReader::Refuse(std::uint8_t opcode) const {
  const auto* const known = std::find_if(std::begin(kRefused), std::end(kRefused),
                                         [opcode](const Refused& r) { return r.opcode == opcode; });
  const std::string name =
      known == std::end(kRefused) ? "no opcode of pickle" : std::string(known->name);
  return Error(absl::StrCat("opcode 0x", absl::Hex(opcode, absl::kZeroPad2), " (", name,
                            ") is refused: plain data does not need it"));
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

}  // namespace memprof::analysis
