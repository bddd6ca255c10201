// Encodes plain data as opcodes.
#include "analysis/interchange/internal/pickle_writer.h"

#include <bit>
#include <utility>

#include "analysis/log/wire.h"

namespace memprof::analysis {
namespace {

// Items between two marks: Python's own writer has as many, and a browser passes them all as
// arguments of one call.
constexpr std::uint32_t kMostItems = 1000;
// Longer text rarely occurs twice.
constexpr std::size_t kMaxRemembered = 1024;

}  // namespace

PickleWriter::PickleWriter(Sink sink) : sink_(std::move(sink)) { out_ = "\x80\x04"; }

void PickleWriter::Flush() {
  ok_ = ok_ && sink_(out_);
  out_.clear();
}

void PickleWriter::Little(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) Byte(static_cast<char>(value >> (8 * i)));
}

void PickleWriter::Integer(std::uint64_t value) {
  if (value < 1u << 8) {
    Byte('K');
    Little(value, 1);
  } else if (value < 1u << 16) {
    Byte('M');
    Little(value, 2);
  } else if (value < 1u << 31) {
    Byte('J');
    Little(value, 4);
  } else {
    // Eight bytes if the value fits, because the viewer reads no more.
    const bool nine = value >> 63 != 0;
    Byte('\x8a');
    Byte(nine ? '\x09' : '\x08');
    Little(value, 8);
    if (nine) Byte('\0');
  }
}

void PickleWriter::Negative(std::int64_t value) {
  if (value >= 0) return Integer(static_cast<std::uint64_t>(value));
  Byte('\x8a');
  Byte('\x08');
  Little(static_cast<std::uint64_t>(value), 8);
}

void PickleWriter::Float(double value) {
  Byte('G');
  const auto bits = std::bit_cast<std::uint64_t>(value);
  for (int i = 7; i >= 0; --i) Byte(static_cast<char>(bits >> (8 * i)));
}

void PickleWriter::Text(std::string_view text) {
  const auto known = texts_.find(absl::string_view(text.data(), text.size()));
  if (known != texts_.end()) return Get(known->second);
  const std::string valid = ValidUtf8(text);
  const bool brief = valid.size() < 256;
  Byte(brief ? '\x8c' : 'X');
  Little(valid.size(), brief ? 1 : 4);
  out_ += valid;
  if (text.size() <= kMaxRemembered) texts_.emplace(text, Memoize());
}

void PickleWriter::Pair(std::uint64_t first, std::uint64_t second) {
  Integer(first);
  Integer(second);
  Byte('\x86');
}

void PickleWriter::BeginList() {
  Byte(']');
  open_.push_back(0);
}

void PickleWriter::BeginDict() {
  Byte('}');
  open_.push_back(0);
}

// Before each item: a mark at the first, and another where a batch is full.
void PickleWriter::Next(char opcode) {
  std::uint32_t& items = open_.back();
  if (items == kMostItems) {
    Byte(opcode);
    items = 0;
  }
  if (items++ == 0) Byte('(');
}

void PickleWriter::Item() { Next('e'); }

void PickleWriter::Key(std::string_view key) {
  Next('u');
  Text(key);
}

void PickleWriter::End(char opcode) {
  if (open_.back() > 0) Byte(opcode);
  open_.pop_back();
}

std::uint32_t PickleWriter::Memoize() {
  Byte('\x94');
  return slots_++;
}

void PickleWriter::Get(std::uint32_t slot) {
  Byte(slot < 256 ? 'h' : 'j');
  Little(slot, slot < 256 ? 1 : 4);
}

bool PickleWriter::Finish() {
  Byte('.');
  Flush();
  return ok_;
}

}  // namespace memprof::analysis
