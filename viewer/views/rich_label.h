// Text with colours and links, wrapped into lines, for contents that change at every click.
#pragma once

#include <QTextDocument>
#include <QWidget>
#include <array>

namespace memprof::viewer {

// Does what a QLabel with rich text does, but lays out its text once for each width, and requests a
// new layout of the window only if its height changes. A QLabel lays out its text several times in
// each layout around it: with a few of them that took longer than everything else of a click.
class RichLabel : public QWidget {
  Q_OBJECT

 public:
  explicit RichLabel(QWidget* parent = nullptr);

  void setText(const QString& html);
  void clear() { setText({}); }
  QString text() const { return text_; }
  // The text as it is read and copied.
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
  double Top() const;  // of the text: centred if there is more space

  QString text_;
  mutable QTextDocument document_;
  // for the widget's own width, and for those that layouts try
  mutable std::array<Height, 3> heights_;
  mutable std::size_t next_height_ = 0;
};

}  // namespace memprof::viewer
