// Reads numbers and pointers as call-frame tables encode them.
#pragma once

#include <cstdint>
#include <cstring>

namespace memprof::recorder {

// Pointer encodings (LSB 5.0, DW_EH_PE_*).
inline constexpr std::uint8_t kPointerOmitted = 0xff;
inline constexpr std::uint8_t kPointerIndirect = 0x80;
inline constexpr std::uint8_t kPointerPcRelative = 0x10;
inline constexpr std::uint8_t kPointerDataRelative = 0x30;

// Reads forward within fixed bounds; beyond the end every value is 0 and `failed` stays set.
class CfiCursor {
 public:
  CfiCursor(const unsigned char* at, const unsigned char* end) : at_(at), end_(end) {}

  const unsigned char* at() const { return at_; }
  const unsigned char* end() const { return end_; }
  bool failed() const { return failed_; }
  bool done() const { return failed_ || at_ >= end_; }

  template <typename Value>
  Value Fixed() {
    Value value{};
    if (!Has(sizeof value)) return value;
    std::memcpy(&value, at_, sizeof value);
    at_ += sizeof value;
    return value;
  }
  std::uint64_t Unsigned() {  // LEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = Fixed<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t Signed() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = Fixed<std::uint8_t>();
      value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
    failed_ = true;
    return 0;
  }
  void Skip(std::uint64_t bytes) {
    if (Has(bytes)) at_ += bytes;
  }
  // A cursor over the next `bytes`, which are skipped here.
  CfiCursor Take(std::uint64_t bytes) {
    const unsigned char* from = at_;
    Skip(bytes);
    return failed_ ? CfiCursor(end_, end_) : CfiCursor(from, at_);
  }
  std::uint64_t Pointer(std::uint8_t encoding, const unsigned char* data_base) {
    if (encoding == kPointerOmitted || (encoding & kPointerIndirect) != 0) {
      failed_ = true;
      return 0;
    }
    const auto here = reinterpret_cast<std::uint64_t>(at_);
    const std::uint64_t value = Number(encoding & 0x0f);
    switch (encoding & 0x70) {
      case 0:
        return value;
      case kPointerPcRelative:
        return here + value;
      case kPointerDataRelative:
        if (data_base != nullptr) return reinterpret_cast<std::uint64_t>(data_base) + value;
        [[fallthrough]];
      default:
        failed_ = true;
        return 0;
    }
  }
  std::uint64_t Number(std::uint8_t format) {
    switch (format) {
      case 0x00:
      case 0x04:
      case 0x0c:
        return Fixed<std::uint64_t>();
      case 0x01:
        return Unsigned();
      case 0x02:
        return Fixed<std::uint16_t>();
      case 0x03:
        return Fixed<std::uint32_t>();
      case 0x09:
        return static_cast<std::uint64_t>(Signed());
      case 0x0a:
        return static_cast<std::uint64_t>(std::int64_t{Fixed<std::int16_t>()});
      case 0x0b:
        return static_cast<std::uint64_t>(std::int64_t{Fixed<std::int32_t>()});
      default:
        failed_ = true;
        return 0;
    }
  }

 private:
  bool Has(std::uint64_t bytes) {
    if (failed_ || bytes > static_cast<std::uint64_t>(end_ - at_)) failed_ = true;
    return !failed_;
  }

  const unsigned char* at_;
  const unsigned char* end_;
  bool failed_ = false;
};

}  // namespace memprof::recorder
