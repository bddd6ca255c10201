// Values of a pickle, and how they are read.
#include "analysis/pickle/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "analysis/pickle/internal/pickle_reader.h"

namespace memprof::analysis {

std::uint64_t PickleValue::Unsigned(std::uint64_t otherwise) const {
  if (kind_ == Kind::kBool) return number_;
  return kind_ == Kind::kInteger && !negative_ ? number_ : otherwise;
}

std::int64_t PickleValue::Signed(std::int64_t otherwise) const {
  if (kind_ == Kind::kBool) return static_cast<std::int64_t>(number_);
  if (kind_ != Kind::kInteger) return otherwise;
  const auto value = static_cast<std::int64_t>(number_);
  return (value < 0) == negative_ ? value : otherwise;
}

double PickleValue::Float(double otherwise) const {
  if (kind_ == Kind::kFloat) return std::bit_cast<double>(number_);
  if (kind_ != Kind::kInteger && kind_ != Kind::kBool) return otherwise;
  return negative_ ? static_cast<double>(static_cast<std::int64_t>(number_))
                   : static_cast<double>(number_);
}

std::string_view PickleValue::Text() const {
  return kind_ == Kind::kText ? std::string_view(text_, size_) : std::string_view();
}

absl::Status PickleReader::Integer(std::size_t size, bool is_signed) {
  std::uint64_t number = 0;
  if (!Number(size, &number)) return Cut();
  const bool negative = is_signed && (number >> (8 * size - 1)) != 0;
  if (negative) number |= ~std::uint64_t{0} << (8 * size);
  return Push(PickleValue(Kind::kInteger, number, negative));
}

// Two's complement of any length; what fits 64 bits, signed or unsigned, is kept.
absl::Status PickleReader::Long(std::size_t size_of_size) {
  std::uint64_t size = 0;
  if (!Number(size_of_size, &size) || size > bytes_.size() - at_) return Cut();
  const bool negative = size > 0 && static_cast<std::uint8_t>(bytes_[at_ + size - 1]) >= 0x80;
  const char fill = negative ? '\xff' : '\0';
  bool fits = true;
  for (std::uint64_t i = 8; i < size; ++i) fits &= bytes_[at_ + i] == fill;
  std::uint64_t number = negative ? ~std::uint64_t{0} : 0;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(size, 8); ++i) {
    number &= ~(std::uint64_t{0xff} << (8 * i));
    number |= std::uint64_t{static_cast<std::uint8_t>(bytes_[at_ + i])} << (8 * i);
  }
  if (negative) fits &= static_cast<std::int64_t>(number) < 0;
  at_ += size;
  return Push(PickleValue(fits ? Kind::kInteger : Kind::kHuge, number, negative));
}

absl::Status PickleReader::Text(std::size_t size_of_size, Kind kind) {
  std::uint64_t size = 0;
  if (!Number(size_of_size, &size) || size > bytes_.size() - at_) return Cut();
  if (size > UINT32_MAX) return Error("a text of more than 4 GiB");
  at_ += size;
  return Push(PickleValue(kind, bytes_.substr(at_ - size, size)));
}

absl::Status PickleReader::Float() {
  std::uint64_t bits = 0;
  if (bytes_.size() - at_ < 8) return Cut();
  for (int i = 0; i < 8; ++i)  // the one number that is big-endian
    bits = bits << 8 | static_cast<std::uint8_t>(bytes_[at_++]);
  return Push(PickleValue(Kind::kFloat, bits));
}

absl::Status PickleReader::PushContainer(Kind kind, std::size_t items) {
  if (Above() < items) return Underflow();
  if (kind == Kind::kDict && items % 2 != 0) return Error("a dictionary has a key without a value");
  const std::size_t container = containers_.size();
  if (container >= UINT32_MAX) return Error("too many lists and dictionaries");
  const auto begin = stack_.end() - static_cast<std::ptrdiff_t>(items);
  containers_.emplace_back(begin, stack_.end());
  memory_ += sizeof(std::vector<PickleValue>) + items * sizeof(PickleValue);
  stack_.erase(begin, stack_.end());
  return Push(PickleValue(kind, container));
}

// Adds what lies on the stack from `begin` to the container just below.
absl::Status PickleReader::Extend(Kind kind, std::size_t begin) {
  const PickleValue target = stack_[begin - 1];
  if (target.kind() == Kind::kObject) {  // a list or a dictionary of a class of its own
    stack_.resize(begin);
    return absl::OkStatus();
  }
  if (target.kind() != kind)
    return Error(kind == Kind::kList ? "items are added to what is no list"
                                     : "pairs are added to what is no dictionary");
  const std::size_t items = stack_.size() - begin;
  if (kind == Kind::kDict && items % 2 != 0) return Error("a dictionary has a key without a value");
  std::vector<PickleValue>& container = containers_[target.container()];
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

PickleValue Pickle::State(PickleValue object) const {
  if (object.kind() != PickleValue::Kind::kObject || containers_[object.container()].empty())
    return {};
  return containers_[object.container()].back();
}

PickleValue Pickle::At(PickleValue dict, std::string_view key) const {
  const std::span<const PickleValue> pairs = Pairs(dict);
  for (std::size_t i = pairs.size(); i >= 2; i -= 2)
    if (pairs[i - 2].is_text() && pairs[i - 2].Text() == key) return pairs[i - 1];
  return {};
}

}  // namespace memprof::analysis
