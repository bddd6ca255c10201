// The part of a byte axis that is shown. Pure; thread-safe.
#pragma once

#include <cstdint>

namespace memprof::viewer {

struct ByteWindow {
  std::uint64_t low = 0, high = 1;  // low < high

  double span() const { return static_cast<double>(high - low); }
  bool operator==(const ByteWindow&) const = default;
};

// From one number of bytes to another, in either order, cut to what lies in [0, top] and at least
// 64 bytes high and a 2^-40th of `top` (or `top`, if that is less).
ByteWindow MakeByteWindow(double one, double other, std::uint64_t top);
// Made `factor` times as high (< 1 zooms in); `anchor` keeps its place.
ByteWindow ZoomBytes(const ByteWindow& window, double anchor, double factor, std::uint64_t top);
// Moved up by `bytes` without changing its height; stops at 0 and `top`.
ByteWindow PanBytes(const ByteWindow& window, double bytes, std::uint64_t top);

}  // namespace memprof::viewer
