// Bars of bytes on one scale, with a legend beside them.
#pragma once

#include <QWidget>
#include <vector>

#include "viewer/geometry/byte_bars.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

class ByteBarsWidget : public QWidget {
  Q_OBJECT

 public:
  explicit ByteBarsWidget(QWidget* parent = nullptr);

  // `whole`: bytes of the full width; 0 = the longest bar. `mark`: a line at this number of bytes
  // across all bars; 0 = none.
  void SetBars(std::vector<ByteBar> bars, std::uint64_t whole = 0, std::uint64_t mark = 0);
  const std::vector<ByteBar>& bars() const { return bars_; }
  // Where a part is drawn.
  QRectF RectOf(int bar, int part) const;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override { return sizeHint(); }

 signals:
  void PartClicked(int bar, int part);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void mousePressEvent(QMouseEvent* event) override;
  void keyPressEvent(QKeyEvent* event) override;
  bool event(QEvent* event) override;

 private:
  struct Hit {
    int bar = -1, part = -1;
  };
  Hit HitAt(QPointF at) const;
  QRectF BarArea(int bar) const;
  double RowHeight() const;
  QString TextOf(const ByteBarPart& part) const;
  void PaintBar(QPainter& painter, int bar, const Theme& theme);

  std::vector<ByteBar> bars_;
  std::uint64_t whole_ = 1, mark_ = 0;
  Hit focus_;
};

// How parts of a style are filled.
QColor PartColor(const Theme& theme, PartStyle style, int index);

}  // namespace memprof::viewer
