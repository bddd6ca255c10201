// Widths of the pieces of a line.
#include "viewer/geometry/line_fit.h"

#include <algorithm>

namespace memprof::viewer {
namespace {

// The largest cap with which pieces of these groups fit; < 0 if none does.
double CapOf(std::span<const LinePiece> pieces, int groups, double room) {
  double fixed = 0;
  std::vector<LinePiece> names;
  for (const LinePiece& piece : pieces) {
    if (piece.group > groups) continue;
    if (piece.least < piece.width)
      names.push_back(piece);
    else
      fixed += piece.width;
  }
  std::sort(names.begin(), names.end(),
            [](const LinePiece& a, const LinePiece& b) { return a.width < b.width; });
  // Those that are narrower than an equal share leave the rest of it to the others.
  double left = room - fixed;
  double cap = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    cap = left / static_cast<double>(names.size() - i);
    if (names[i].width > cap) break;
    left -= names[i].width;
    cap = names[i].width;
  }
  if (names.empty() || cap >= names.back().width) return left >= 0 ? 1e9 : -1;
  for (const LinePiece& name : names)
    if (cap < name.least) return -1;
  return cap;
}

}  // namespace

std::vector<double> FitLine(std::span<const LinePiece> pieces, double room) {
  int groups = 0;
  for (const LinePiece& piece : pieces) groups = std::max(groups, piece.group);
  double cap = CapOf(pieces, groups, room);
  while (cap < 0 && groups > 0) cap = CapOf(pieces, --groups, room);
  std::vector<double> widths;
  for (const LinePiece& piece : pieces)
    widths.push_back(piece.group > groups ? 0 : std::min(piece.width, std::max(piece.least, cap)));
  return widths;
}

std::size_t ColumnsToGo(double width, std::span<const int> may_go, double room) {
  std::size_t gone = 0;
  while (gone < may_go.size() && width > room) width -= may_go[gone++];
  return gone;
}

}  // namespace memprof::viewer
