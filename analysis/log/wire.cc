// Reads protobuf wire format straight from bytes.
#include "analysis/log/wire.h"

#include <algorithm>

namespace memprof::analysis {

std::uint64_t VarintReader::NextLong() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64 && at_ != end_; shift += 7) {
    const unsigned char byte = *at_++;
    if (shift == 63 && byte > 1) break;  // would not fit in 64 bits
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  ok_ = false;
  at_ = end_;
  return 0;
}

std::string_view VarintReader::Take(std::uint64_t size) {
  if (size > remaining()) {
    ok_ = false;
    at_ = end_;
    return {};
  }
  const std::string_view taken(reinterpret_cast<const char*>(at_), static_cast<std::size_t>(size));
  at_ += size;
  return taken;
}

bool WireReader::Next() {
  if (!ok() || in_.done()) return false;
  const std::uint64_t tag = in_.Next();
  field_ = static_cast<std::uint32_t>(tag >> 3);
  type_ = static_cast<std::uint32_t>(tag & 7);
  number_ = 0;
  bytes_ = {};
  if (tag >> 32 != 0 || field_ == 0) ok_ = false;
  switch (type_) {
    case 0:
      number_ = in_.Next();
      break;
    case 1:
    case 5:
      for (int shift = 0; const char byte : in_.Take(type_ == 1 ? 8 : 4)) {
        number_ |= static_cast<std::uint64_t>(static_cast<unsigned char>(byte)) << shift;
        shift += 8;
      }
      break;
    case 2:
      bytes_ = in_.Take(in_.Next());
      break;
    default:  // groups are not used by any log
      ok_ = false;
  }
  return ok();
}

std::size_t CountVarints(std::string_view packed) {
  std::size_t count = 0;
  for (const char byte : packed) count += static_cast<unsigned char>(byte) < 0x80;
  return count;
}

namespace {

// Length of the valid UTF-8 sequence at the front of `text`; 0 = none, or a NUL, which many readers
// take for the end of the text.
std::size_t Utf8Length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return lead == 0 ? 0 : 1;
  const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  // The second byte shows over-long forms, surrogates and code points beyond U+10FFFF.
  if (lead == 0xe0 && byte(1) < 0xa0) return 0;
  if (lead == 0xed && byte(1) > 0x9f) return 0;
  if (lead == 0xf0 && byte(1) < 0x90) return 0;
  if (lead == 0xf4 && byte(1) > 0x8f) return 0;
  return length;
}

}  // namespace

std::string ValidUtf8(std::string_view text) {
  std::string valid;
  valid.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = Utf8Length(text);
    if (length == 0)
      valid += "\xef\xbf\xbd";
    else
      valid += text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

std::string LogText(std::string_view text, std::size_t most) {
  std::string valid = ValidUtf8(text.substr(0, most));
  if (text.size() <= most && valid.size() <= most) return valid;
  std::size_t end = std::min(most, valid.size());
  while (end > 0 && end < valid.size() && (valid[end] & 0xc0) == 0x80) --end;
  valid.resize(end);
  return valid;
}

}  // namespace memprof::analysis
