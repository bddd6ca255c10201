// Values of a pickle, and how they are read.
#include "analysis/interchange/internal/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "analysis/interchange/internal/pickle_reader.h"

namespace memprof::analysis {

using Kind = PickleValue::Kind;

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
