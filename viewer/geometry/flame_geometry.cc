// The positions of the frames of a flame graph.
#include "viewer/geometry/flame_geometry.h"

#include <algorithm>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::FlameNode;
using analysis::FlameTree;

bool IsNode(const FlameTree& tree, int index) {
  return index >= 0 && static_cast<std::size_t>(index) < tree.nodes.size();
}

}  // namespace

std::uint64_t NodeValue(const FlameNode& node, FlameValue value) {
  return value == FlameValue::kBytes ? node.bytes : node.blocks;
}

FlameLayout LayOutFlame(const FlameTree& tree, FlameValue value, int zoomed, double width,
                        double row_height, double min_width) {
  FlameLayout layout;
  if (tree.nodes.empty() || width <= 0) return layout;
  if (!IsNode(tree, zoomed)) zoomed = 0;
  std::vector<int> ancestors;
  for (int node = Node(tree, zoomed).parent; IsNode(tree, node); node = Node(tree, node).parent) {
    ancestors.push_back(node);
  }
  int depth = 0;
  for (auto it = ancestors.rbegin(); it != ancestors.rend(); ++it, ++depth) {
    layout.boxes.push_back({*it, depth, QRectF(0, depth * row_height, width, row_height)});
  }
  layout.boxes.push_back({zoomed, depth, QRectF(0, depth * row_height, width, row_height)});
  const std::uint64_t whole = NodeValue(Node(tree, zoomed), value);
  const double scale = whole > 0 ? width / static_cast<double>(whole) : 0;
  // Breadth first, so that boxes come out by depth and a deep tree needs no deep stack.
  for (std::size_t i = layout.boxes.size() - 1; i < layout.boxes.size(); ++i) {
    const FlameBox box = layout.boxes[i];
    double x = box.rect.left();
    for (const int child : Node(tree, box.node).children) {
      const double child_width = static_cast<double>(NodeValue(Node(tree, child), value)) * scale;
      if (child_width >= min_width) {
        layout.boxes.push_back({child, box.depth + 1,
                                QRectF(x, (box.depth + 1) * row_height, child_width, row_height)});
      }
      x += child_width;
    }
  }
  layout.depths = layout.boxes.back().depth + 1;
  layout.content_height = layout.depths * row_height;
  return layout;
}

int FlameHit(const FlameLayout& layout, QPointF point, double row_height) {
  if (point.y() < 0 || row_height <= 0) return -1;
  const int depth = static_cast<int>(point.y() / row_height);
  const auto row = std::lower_bound(layout.boxes.begin(), layout.boxes.end(), depth,
                                    [](const FlameBox& box, int d) { return box.depth < d; });
  for (auto box = row; box != layout.boxes.end() && box->depth == depth; ++box) {
    if (point.x() >= box->rect.left() && point.x() < box->rect.right()) return box->node;
  }
  return -1;
}

QStringList FlamePath(const FlameTree& tree, int node) {
  QStringList path;
  for (; IsNode(tree, node) && Node(tree, node).parent >= 0; node = Node(tree, node).parent) {
    path.prepend(ToQString(Node(tree, node).function));
  }
  return path;
}

int FlameFind(const FlameTree& tree, const QStringList& path) {
  int node = 0;
  if (tree.nodes.empty()) return node;
  for (const QString& function : path) {
    const std::string wanted = function.toStdString();
    const std::vector<int>& children = Node(tree, node).children;
    const auto child = std::find_if(children.begin(), children.end(),
                                    [&](int c) { return Node(tree, c).function == wanted; });
    if (child == children.end()) break;
    node = *child;
  }
  return node;
}

std::vector<bool> FlameSearch(const FlameTree& tree, const QString& text) {
  std::vector<bool> matches(tree.nodes.size(), false);
  if (text.isEmpty()) return matches;
  for (std::size_t i = 1; i < tree.nodes.size(); ++i) {
    const FlameNode& node = tree.nodes[i];
    matches[i] = ToQString(node.function).contains(text, Qt::CaseInsensitive) ||
                 ToQString(node.file).contains(text, Qt::CaseInsensitive) ||
                 ToQString(node.module).contains(text, Qt::CaseInsensitive);
  }
  return matches;
}

std::uint64_t FlameMatched(const FlameTree& tree, const std::vector<bool>& matches,
                           FlameValue value) {
  std::uint64_t sum = 0;
  // Parents come before children (depth-first order), so one pass carries "below a match" down.
  std::vector<bool> covered(tree.nodes.size(), false);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const int parent = tree.nodes[i].parent;
    covered[i] = parent >= 0 && covered[static_cast<std::size_t>(parent)];
    if (!covered[i] && matches[i]) {
      covered[i] = true;
      sum += NodeValue(tree.nodes[i], value);
    }
  }
  return sum;
}

}  // namespace memprof::viewer
