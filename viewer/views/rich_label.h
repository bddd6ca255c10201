// Words with colours and links, broken into lines, that change at every click.
#pragma once

#include <QTextDocument>
#include <QWidget>
#include <array>

namespace memprof::viewer {

// Does what a QLabel with rich text does, but lays its words out once for each width, and asks the
// window to place everything anew only if it needs another height. A QLabel lays them out some
// times at each look of each layout around it: with a few of them that took longer than all else
// that a click does.
class RichLabel : public QWidget {
  Q_OBJECT

 public:
  explicit RichLabel(QWidget* parent = nullptr);

  void setText(const QString& html);
  void clear() { setText({}); }
  QString text() const { return text_; }
  // As one reads and copies it.
  QString PlainText() const { return document_.toPlainText(); }

  bool hasHeightForWidth() const override { return true; }
  int heightForWidth(int width) const override;
  QSize sizeHint() const override;
  QSize minimumSizeHint() const override;

 signals:
  void linkActivated(const QString& link);

 protected:
  void paintEvent(QPaintEvent* event) override;
  void changeEvent(QEvent* event) override;
  void mouseMoveEvent(QMouseEvent* event) override;
  void mouseReleaseEvent(QMouseEvent* event) override;

 private:
  struct Height {
    int width = -1, height = 0;
  };

  void Forget();
  QString LinkAt(QPointF position) const;
  double Top() const;  // of the words: in the middle where there is more room

  QString text_;
  mutable QTextDocument document_;
  mutable std::array<Height, 3> heights_;  // that of the widget itself, and what layouts try
  mutable std::size_t next_height_ = 0;
};

}  // namespace memprof::viewer
