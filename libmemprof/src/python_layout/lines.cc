// One decoder for each format.
#include "libmemprof/src/python_layout/lines.h"

namespace memprof::recorder {
namespace {

// Pairs: add so many bytes, then so many lines; both apply to the instruction that follows.
int LineOfLnotab(const unsigned char* table, std::size_t bytes, int first_line,
                 std::int64_t offset) {
  std::int64_t address = 0;
  std::int64_t line = first_line;
  for (std::size_t i = 0; i + 1 < bytes; i += 2) {
    address += table[i];
    if (address > offset) break;
    line += static_cast<signed char>(table[i + 1]);
  }
  return static_cast<int>(line);
}

// Pairs: the bytes of a range, and its lines from the previous range; -128 = the range has no line.
int LineOfRanges(const unsigned char* table, std::size_t bytes, int first_line,
                 std::int64_t offset) {
  constexpr int kNoLine = -128;
  std::int64_t end = 0;
  std::int64_t line = first_line;
  for (std::size_t i = 0; i + 1 < bytes; i += 2) {
    const int delta = static_cast<signed char>(table[i + 1]);
    end += table[i];
    if (delta != kNoLine) line += delta;
    if (offset < end) return delta == kNoLine ? 0 : static_cast<int>(line);
  }
  return 0;
}

// Entries begin with a byte that has its highest bit set: 1, form in 4 bits, instructions less one
// in 3 bits.
class Locations {
 public:
  Locations(const unsigned char* table, std::size_t bytes) : at_(table), end_(table + bytes) {}

  bool done() const { return at_ == end_; }
  // Reads the next entry: the units of 2 bytes that it covers, its lines from the previous entry,
  // and whether it has a line.
  void Next(int* units, std::int64_t* line_delta, bool* has_line) {
    constexpr unsigned kOneLine0 = 10, kOneLine2 = 12, kNoColumns = 13, kLong = 14, kNone = 15;
    const unsigned head = *at_++;
    const unsigned form = head >> 3 & 15;
    *units = static_cast<int>(head & 7) + 1;
    *has_line = form != kNone;
    *line_delta = 0;
    if (form >= kOneLine0 && form <= kOneLine2) *line_delta = form - kOneLine0;
    if (form == kNoColumns || form == kLong) *line_delta = Signed();
    while (at_ < end_ && (*at_ & 0x80) == 0) ++at_;
  }

 private:
  std::uint64_t Unsigned() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; at_ < end_ && (*at_ & 0x80) == 0; shift += 6) {
      const unsigned byte = *at_++;
      if (shift < 30) value |= std::uint64_t{byte & 63} << shift;
      if ((byte & 64) == 0) break;
    }
    return value;
  }
  std::int64_t Signed() {
    const std::uint64_t value = Unsigned();
    const auto half = static_cast<std::int64_t>(value >> 1);
    return (value & 1) != 0 ? -half : half;
  }

  const unsigned char* at_;
  const unsigned char* end_;
};

int LineOfLocations(const unsigned char* table, std::size_t bytes, int first_line,
                    std::int64_t offset) {
  constexpr std::int64_t kUnit = 2;
  Locations locations(table, bytes);
  std::int64_t end = 0;
  std::int64_t line = first_line;
  while (!locations.done()) {
    int units;
    std::int64_t delta;
    bool has_line;
    locations.Next(&units, &delta, &has_line);
    line += delta;
    end += units * kUnit;
    if (offset < end) return has_line ? static_cast<int>(line) : 0;
  }
  return 0;
}

}  // namespace

int LineAt(LineFormat format, const unsigned char* table, std::size_t bytes, int first_line,
           std::int64_t offset) {
  if (offset < 0) return first_line;
  switch (format) {
    case LineFormat::kLnotab:
      return LineOfLnotab(table, bytes, first_line, offset);
    case LineFormat::kRanges:
      return LineOfRanges(table, bytes, first_line, offset);
    case LineFormat::kLocations:
      return LineOfLocations(table, bytes, first_line, offset);
  }
  return 0;
}

}  // namespace memprof::recorder
