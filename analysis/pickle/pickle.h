// Reads the part of Python's pickle format that plain data needs: numbers, text, bytes, lists,
// tuples and dictionaries. Nothing in a pickle is ever executed: an opcode that could import, call
// or construct anything is refused by name, or where objects are allowed, makes an object of which
// only the state is known. Safe on hostile input: memory and nesting are bounded, and an error is
// one line with the offset.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memprof::analysis {

// A value of a Pickle. Small and copyable; text and containers are views of their Pickle. Every
// accessor may be called on every value; for another type it returns its default.
class PickleValue {
 public:
  enum class Kind : std::uint8_t {
    kNone,
    kBool,
    kInteger,  // fits 64 bits, signed or unsigned
    kHuge,     // an integer that does not
    kFloat,
    kText,
    kBytes,
    kList,
    kTuple,
    kDict,
    kObject,  // of any class, or a class or function itself; also sets
  };

  PickleValue() = default;
  // A bool, an integer in two's complement, the bits of a float, or the index of a container.
  PickleValue(Kind kind, std::uint64_t number, bool negative = false)
      : kind_(kind), negative_(negative), number_(number) {}
  // Text or bytes.
  PickleValue(Kind kind, std::string_view text)
      : kind_(kind), size_(static_cast<std::uint32_t>(text.size())), text_(text.data()) {}

  Kind kind() const { return kind_; }
  bool is_list() const { return kind_ == Kind::kList || kind_ == Kind::kTuple; }
  bool is_dict() const { return kind_ == Kind::kDict; }
  bool is_text() const { return kind_ == Kind::kText; }
  bool is_integer() const { return kind_ == Kind::kInteger; }

  // Of a non-negative integer or bool; else `otherwise`.
  std::uint64_t Unsigned(std::uint64_t otherwise = 0) const;
  std::int64_t Signed(std::int64_t otherwise = 0) const;
  double Float(double otherwise = 0) const;  // of an integer too
  bool True() const { return kind_ == Kind::kBool && number_ != 0; }
  std::string_view Text() const;
  // Identifies a container within its Pickle: the same object, not an equal one.
  std::uint32_t container() const { return static_cast<std::uint32_t>(number_); }

 private:
  Kind kind_ = Kind::kNone;
  bool negative_ = false;
  std::uint32_t size_ = 0;  // of text
  std::uint64_t number_ = 0;
  const char* text_ = nullptr;
};

class Pickle {
 public:
  struct Limits {
    std::uint64_t memory_bytes = std::uint64_t{256} << 20;  // what the values may take, plus …
    std::uint64_t memory_per_byte = 8;                      // … this for every byte of the input
    std::size_t marks = 64;                                 // lists and dicts begun and not ended
    bool objects = false;                                   // are read, not refused
  };

  // Reads `bytes`, which must outlive the result. Errors (kInvalidArgument) name the opcode and the
  // offset, without a full stop or the file's name.
  static absl::StatusOr<Pickle> Parse(std::string_view bytes, const Limits& limits);
  static absl::StatusOr<Pickle> Parse(std::string_view bytes) { return Parse(bytes, Limits()); }

  Pickle(PickleValue root, std::vector<std::vector<PickleValue>> containers, int protocol)
      : root_(root), containers_(std::move(containers)), protocol_(protocol) {}

  PickleValue root() const { return root_; }
  // Of a list or tuple; empty for others.
  std::span<const PickleValue> Items(PickleValue list) const;
  // Keys and values alternately; empty for other types.
  std::span<const PickleValue> Pairs(PickleValue dict) const;
  // What an object was given as its state (__getstate__), last; None if nothing.
  PickleValue State(PickleValue object) const;
  // The value of a text key, the last one that was set; None if there is none.
  PickleValue At(PickleValue dict, std::string_view key) const;
  std::size_t container_count() const { return containers_.size(); }
  int protocol() const { return protocol_; }

 private:
  PickleValue root_;
  std::vector<std::vector<PickleValue>> containers_;
  int protocol_ = 0;
};

}  // namespace memprof::analysis
