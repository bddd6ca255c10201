// Reads protobuf's wire format directly from bytes, without building messages: a hostile log then
// costs no more memory than the caller decides to use. Nothing here allocates or throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::analysis {

// A cursor over varints. Stays failed after its end, or after a varint over 64 bits.
class VarintReader {
 public:
  VarintReader() = default;
  explicit VarintReader(std::string_view bytes)
      : at_(reinterpret_cast<const unsigned char*>(bytes.data())), end_(at_ + bytes.size()) {}

  bool done() const { return at_ == end_; }
  bool ok() const { return ok_; }

  // The next varint; 0 after a failure.
  std::uint64_t Next() {
    if (at_ != end_ && *at_ < 0x80) return *at_++;
    return NextLong();
  }
  std::int64_t NextZigZag() {
    const std::uint64_t value = Next();
    return static_cast<std::int64_t>(value >> 1) ^ -static_cast<std::int64_t>(value & 1);
  }
  std::string_view Take(std::uint64_t size);

  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }

 private:
  std::uint64_t NextLong();

  const unsigned char* at_ = nullptr;
  const unsigned char* end_ = nullptr;
  bool ok_ = true;
};

// A cursor over the fields of one message:
//
//     WireReader reader(bytes);
//     while (reader.Next()) switch (reader.field()) { case 1: x = reader.number(); … }
//     if (!reader.ok()) …malformed…
//
// Fields of unexpected wire type read as 0 or empty; the caller need not skip unknown ones.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : in_(bytes) {}

  bool Next();
  bool ok() const { return ok_ && in_.ok(); }
  std::uint32_t field() const { return field_; }
  std::uint64_t number() const { return number_; }   // of varint and fixed fields
  std::string_view bytes() const { return bytes_; }  // of length-delimited fields
  bool packed() const { return type_ == 2; }

 private:
  VarintReader in_;
  bool ok_ = true;
  std::uint32_t field_ = 0, type_ = 0;
  std::uint64_t number_ = 0;
  std::string_view bytes_;
};

// Number of varints in a packed field, without decoding them.
std::size_t CountVarints(std::string_view packed);

// `text` with every byte that is not valid UTF-8, and every NUL, replaced by U+FFFD: texts of a log
// are displayed and written as JSON.
std::string ValidUtf8(std::string_view text);

// The same, cut between characters to at most `most` bytes. Recorders write texts of at most 64
// KiB.
std::string LogText(std::string_view text, std::size_t most = 64u << 10);

}  // namespace memprof::analysis
