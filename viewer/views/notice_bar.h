// A line at the bottom of the window with what the viewer has to say, until the user closes it.
#pragma once

#include <QString>
#include <QTimer>
#include <QWidget>

class QLabel;

namespace memprof::viewer {

class NoticeBar : public QWidget {
  Q_OBJECT

 public:
  explicit NoticeBar(QWidget* parent = nullptr);

  // Something that is wrong stays; what was done disappears after some seconds.
  void Warn(const QString& text);
  void Tell(const QString& text);
  // What is displayed; "" for nothing.
  QString text() const;

 private:
  void Show(const QString& text);

  QLabel* label_;
  QTimer hide_;
};

}  // namespace memprof::viewer
