// The flame graph: boxes of frames, hover, click to zoom, search marks, keys.
#pragma once

#include <QWidget>
#include <memory>

#include "analysis/peak/call_tree.h"
#include "viewer/geometry/flame_geometry.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"

namespace memprof::viewer {

// The frame of a node.
analysis::SourceFrame FrameOf(const analysis::FlameNode& node);

struct Theme;

class FlameCanvas : public QWidget {
  Q_OBJECT

 public:
  FlameCanvas(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `source`: the stacks of the tree, to find the selected stack.
  void SetTree(std::shared_ptr<const analysis::FlameTree> tree,
               std::shared_ptr<const analysis::CallTree> source, FlameValue value);
  // Flame graphs grow from a root at the bottom; icicles from one at the top.
  void SetRising(bool rising);
  // The text if there is nothing to draw.
  void SetEmptyText(const QString& text) { empty_text_ = text; }
  void SetSearch(const QString& text);
  // The matching share of the whole, in [0, 1]; -1 without a search.
  double matched() const { return matched_; }

  // Rows become higher, up to a limit, if the graph is lower than the view.
  double RowHeight() const;
  const FlameLayout& Layout();
  const analysis::FlameTree* tree() const { return tree_.get(); }
  const std::shared_ptr<const analysis::CallTree>& source() const { return source_; }
  // "main · 12.3 MiB · 45 % of all": also the tooltip, without markup.
  virtual QString NodeText(int node) const;
  // The rectangle of a box of the layout.
  QRectF Place(const QRectF& box) const;
  // The node of the keyboard focus; -1 for none.
  int current() const { return current_; }

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseDoubleClickEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  void focusInEvent(QFocusEvent* event) override;
  void focusOutEvent(QFocusEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

  // What a comparison draws and does in another way.
  virtual QColor Fill(const Theme& theme, const FlameBox& box, int zoomed) const;
  virtual void PaintOver(QPainter&, const QRectF& /*rect*/, int /*node*/,
                         const QColor& /*fill*/) const {}
  virtual QString ValueText(int node) const;  // within a box
  virtual void Click(int node) { Choose(node); }
  virtual void DoubleClick(int node) { OpenSource(node); }
  virtual void Select(int node) { SelectStack(NodeOf(node).stack); }  // for all views
  // The stacks to find the selected one in; null without any.
  virtual const analysis::CallStacks* stacks() const;
  virtual bool bottom_up() const;

  const analysis::FlameNode& NodeOf(int node) const;
  bool searching() const { return !search_.isEmpty(); }
  bool Matches(int node) const { return matches_[static_cast<std::size_t>(node)]; }
  void SelectStack(analysis::StackId stack) { selection_->SelectSite(stack); }
  void SetCurrent(int node);
  void Choose(int node);  // zooms to it and selects its costliest stack
  void OpenSource(int node);

 private:
  void Relayout();
  void PaintBox(QPainter& painter, const Theme& theme, const FlameBox& box, int zoomed);
  int NodeAt(QPointF point);
  void Mark();                         // marks the frames of the selected stack
  int Beside(int node, int by) const;  // the next visible sibling, or `node`

  Document* const document_;
  Selection* const selection_;
  std::shared_ptr<const analysis::FlameTree> tree_;
  std::shared_ptr<const analysis::CallTree> source_;
  FlameValue value_ = FlameValue::kBytes;
  FlameLayout layout_;
  bool dirty_ = true;
  QString search_;
  std::vector<bool> matches_;
  double matched_ = -1;
  double row_height_ = 0;
  int hover_ = -1;
  int current_ = -1;
  bool rising_ = false;
  QString empty_text_;
  std::vector<int> marked_;  // nodes of the selected stack, ascending
};

}  // namespace memprof::viewer
