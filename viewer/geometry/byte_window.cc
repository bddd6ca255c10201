// The part of a byte axis that is shown.
#include "viewer/geometry/byte_window.h"

#include <algorithm>
#include <cmath>

namespace memprof::viewer {
namespace {

// The least height: of some bytes, and never finer than a double can tell apart.
double LeastHeight(double limit) { return std::min(limit, std::max(64.0, std::ldexp(limit, -40))); }

// A window of this height, moved into [0, top].
ByteWindow InAxis(double low, double height, std::uint64_t top) {
  const double limit = static_cast<double>(std::max<std::uint64_t>(top, 1));
  height = std::clamp(height, LeastHeight(limit), limit);
  low = std::clamp(low, 0.0, limit - height);
  ByteWindow window;
  // The whole is exact: a double has fewer digits than a number of bytes.
  if (height >= limit * (1 - 1e-6)) return {0, std::max<std::uint64_t>(top, 1)};
  window.low = static_cast<std::uint64_t>(low);
  window.high = std::min(static_cast<std::uint64_t>(low + height), top);
  if (window.high <= window.low) window.low = window.high - 1;
  return window;
}

}  // namespace

ByteWindow MakeByteWindow(double one, double other, std::uint64_t top) {
  const double limit = static_cast<double>(top);
  const double low = std::clamp(std::min(one, other), 0.0, limit);
  return InAxis(low, std::clamp(std::max(one, other), 0.0, limit) - low, top);
}

ByteWindow ZoomBytes(const ByteWindow& window, double anchor, double factor, std::uint64_t top) {
  const double low = static_cast<double>(window.low);
  return InAxis(anchor - (anchor - low) * factor, window.span() * factor, top);
}

ByteWindow PanBytes(const ByteWindow& window, double bytes, std::uint64_t top) {
  return InAxis(static_cast<double>(window.low) + bytes, window.span(), top);
}

}  // namespace memprof::viewer
