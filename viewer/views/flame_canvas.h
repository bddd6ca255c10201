// The flame graph itself: boxes of frames, hover, click to zoom, search marks.
#pragma once

#include <QWidget>
#include <memory>

#include "viewer/geometry/flame_geometry.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"

namespace memprof::viewer {

class FlameCanvas : public QWidget {
  Q_OBJECT

 public:
  FlameCanvas(Document* document, Selection* selection, QWidget* parent = nullptr);

  void SetTree(std::shared_ptr<const analysis::FlameTree> tree, FlameValue value);
  void SetSearch(const QString& text);
  // What share of the whole the search matches, in [0, 1]; -1 without a search.
  double matched() const { return matched_; }

  // Rows grow, up to a limit, while the graph is less high than the view.
  double RowHeight() const;
  const FlameLayout& Layout();
  const analysis::FlameTree* tree() const { return tree_.get(); }
  // "main · 12.3 MiB · 45 % of all": also the tooltip, without markup.
  QString NodeText(int node) const;

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void leaveEvent(QEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  bool event(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Relayout();
  void PaintBox(QPainter& painter, const FlameBox& box, int zoomed);

  Document* const document_;
  Selection* const selection_;
  std::shared_ptr<const analysis::FlameTree> tree_;
  FlameValue value_ = FlameValue::kBytes;
  FlameLayout layout_;
  bool dirty_ = true;
  QString search_;
  std::vector<bool> matches_;
  double matched_ = -1;
  double row_height_ = 0;
  int hover_ = -1;
};

}  // namespace memprof::viewer
