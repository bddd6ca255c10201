// The positions of the frames of a flame graph. Pure; thread-safe.
#pragma once

#include <QRectF>
#include <QString>
#include <QStringList>
#include <vector>

#include "analysis/peak/sites.h"

namespace memprof::viewer {

enum class FlameValue { kBytes, kCount };

// A smaller share is less than a pixel on any screen.
inline constexpr double kMinShare = 1.0 / 10'000;

inline const analysis::FlameNode& Node(const analysis::FlameTree& tree, int index) {
  return tree.nodes[static_cast<std::size_t>(index)];
}

// The value of a node by a metric.
std::uint64_t NodeValue(const analysis::FlameNode& node, FlameValue value);

struct FlameBox {
  int node = 0;
  int depth = 0;  // 0 = the tree's root
  QRectF rect;
};

struct FlameLayout {
  std::vector<FlameBox> boxes;  // by depth, then from left to right
  int depths = 0;
  double content_height = 0;
};

// Lays out the tree with `zoomed` as wide as the view; its ancestors are drawn full width above
// it. Boxes narrower than `min_width` are left out, with everything below them. `row_height` is
// the height of a frame, the first row is at y = 0 and callees are below (an icicle).
FlameLayout LayOutFlame(const analysis::FlameTree& tree, FlameValue value, int zoomed, double width,
                        double row_height, double min_width = 0.8);

// Node at a point, -1 for none.
int FlameHit(const FlameLayout& layout, QPointF point, double row_height);

// Function names from the tree's root (excluded) down to a node, and back: the deepest node on the
// path. Paths stay valid without their tree.
QStringList FlamePath(const analysis::FlameTree& tree, int node);
int FlameFind(const analysis::FlameTree& tree, const QStringList& path);

// Nodes whose function, file or module contains the text, ignoring case. An empty text matches
// none.
std::vector<bool> FlameSearch(const analysis::FlameTree& tree, const QString& text);

// The value of matching nodes, each byte once: nodes below another match do not count again.
std::uint64_t FlameMatched(const analysis::FlameTree& tree, const std::vector<bool>& matches,
                           FlameValue value);

}  // namespace memprof::viewer
