// UTF-8 after RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.
#include "libmemprof/src/base/text.h"

namespace memprof::recorder {
namespace {

bool IsContinuation(unsigned char byte) { return (byte & 0xc0) == 0x80; }

}  // namespace

std::size_t Utf8SequenceLength(const unsigned char* text, std::size_t length) {
  if (length == 0) return 0;
  const unsigned char lead = text[0];
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t wanted = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (length < wanted) return 0;
  for (std::size_t i = 1; i < wanted; ++i)
    if (!IsContinuation(text[i])) return 0;
  if (lead == 0xe0 && text[1] < 0xa0) return 0;   // overlong
  if (lead == 0xed && text[1] >= 0xa0) return 0;  // surrogate
  if (lead == 0xf0 && text[1] < 0x90) return 0;   // overlong
  if (lead == 0xf4 && text[1] >= 0x90) return 0;  // above U+10FFFF
  return wanted;
}

std::size_t EncodeUtf8(std::uint32_t point, char* bytes) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  if ((point >= 0xd800 && point < 0xe000) || point > 0x10ffff) point = kReplacement;
  if (point < 0x80) {
    bytes[0] = static_cast<char>(point);
    return 1;
  }
  const std::size_t count = point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  for (std::size_t i = count - 1; i > 0; --i, point >>= 6)
    bytes[i] = static_cast<char>(0x80 | (point & 0x3f));
  bytes[0] = static_cast<char>((0xf00u >> count) | point);
  return count;
}

bool IsCleanText(const char* text, std::size_t length) {
  if (length > kMaxTextBytes) return false;
  const auto* bytes = reinterpret_cast<const unsigned char*>(text);
  for (std::size_t at = 0; at < length;) {
    const std::size_t step = Utf8SequenceLength(bytes + at, length - at);
    if (step == 0) return false;
    at += step;
  }
  return true;
}

void AppendCleanText(const char* text, std::size_t length, ByteBuffer* out) {
  if (IsCleanText(text, length)) {
    out->Append(text, length);
    return;
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(text);
  std::size_t room = kMaxTextBytes;
  for (std::size_t at = 0; at < length;) {
    const std::size_t step = Utf8SequenceLength(bytes + at, length - at);
    const std::size_t adds = step == 0 ? 3 : step;
    if (adds > room) return;
    room -= adds;
    if (step == 0)
      out->Append("\xef\xbf\xbd", 3);
    else
      out->Append(text + at, step);
    at += step == 0 ? 1 : step;
  }
}

}  // namespace memprof::recorder
