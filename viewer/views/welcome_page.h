// What the window shows while there is no log: how to get one, recent ones; how far loading is; or
// why a log cannot be shown.
#pragma once

#include <QStringList>
#include <QWidget>

#include "viewer/models/document.h"

class QLabel;
class QProgressBar;
class QPushButton;
class QVBoxLayout;

namespace memprof::viewer {

class WelcomePage : public QWidget {
  Q_OBJECT

 public:
  explicit WelcomePage(Document* document, QWidget* parent = nullptr);

  void SetRecent(const QStringList& paths);
  // What the page says, as plain text; for tests.
  QString Title() const;
  QString Message() const;

 signals:
  void OpenRequested();
  void LogChosen(const QString& path);
  void CancelRequested();

 private:
  void StateChanged();

  Document* const document_;
  QLabel* title_;
  QLabel* message_;
  QProgressBar* progress_;
  QPushButton* open_;
  QPushButton* cancel_;
  QWidget* recent_;
  QVBoxLayout* recent_layout_;
};

}  // namespace memprof::viewer
