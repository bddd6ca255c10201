// The icicle of a comparison: width is the larger side, colour the change. What is new has a
// frame, what is gone is hatched.
#pragma once

#include "viewer/models/diff_tree.h"
#include "viewer/views/flame_canvas.h"

namespace memprof::viewer {

class DiffCanvas : public FlameCanvas {
  Q_OBJECT

 public:
  DiffCanvas(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `own`: the stacks of the open log, which is the run after or before. Null: nothing yet.
  void SetPicture(std::shared_ptr<const DiffPicture> picture,
                  std::shared_ptr<const analysis::CallStacks> own, bool own_is_before);
  const std::shared_ptr<const DiffPicture>& picture() const { return picture_; }
  QString NodeText(int node) const override;

 signals:
  // A stack of the run after, or of the run before if the run after has none.
  void StackChosen(analysis::StackId stack, bool after);

 protected:
  QColor Fill(const Theme& theme, const FlameBox& box, int zoomed) const override;
  void PaintOver(QPainter& painter, const QRectF& rect, int node,
                 const QColor& fill) const override;
  QString ValueText(int node) const override;
  void Click(int node) override { SetCurrent(node); }
  void DoubleClick(int node) override { Choose(node); }
  void Select(int node) override;
  const analysis::CallStacks* stacks() const override { return own_.get(); }
  bool bottom_up() const override { return picture_ != nullptr && picture_->bottom_up; }

 private:
  const DiffCost& CostOf(int node) const { return picture_->costs[static_cast<std::size_t>(node)]; }

  std::shared_ptr<const DiffPicture> picture_;
  std::shared_ptr<const analysis::CallStacks> own_;
  bool own_is_before_ = false;
};

// The marks of what is new and of what is gone, over a box of this colour.
void PaintFresh(QPainter& painter, const QRectF& rect, const QColor& fill);
void PaintGone(QPainter& painter, const QRectF& rect, const QColor& fill);

// What the colours, marks and widths mean.
class DiffLegend : public QWidget {
  Q_OBJECT

 public:
  explicit DiffLegend(QWidget* parent = nullptr);
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return {0, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent* event) override;
};

}  // namespace memprof::viewer
