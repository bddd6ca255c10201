// The page without a log: how to get one, recent ones; the progress of loading; or why a log cannot
// be shown.
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
  // Offers to record and open the demo, or no longer does; while it is being recorded, the page
  // says so.
  void OfferDemo(bool offered);
  void ShowDemoRunning(bool running, const QString& problem = {});
  QPushButton* demo() const { return demo_; }

  // The text of the page; for tests.
  QString Title() const;
  QString Message() const;

 signals:
  void OpenRequested();
  void LogChosen(const QString& path);
  void CancelRequested();
  void DemoRequested();

 private:
  void StateChanged();
  QString ReadingText() const;

  Document* const document_;
  QLabel* title_;
  QLabel* message_;
  QProgressBar* progress_;
  QPushButton* open_;
  QPushButton* cancel_;
  QPushButton* demo_;
  QLabel* demo_note_;
  QWidget* recent_;
  QVBoxLayout* recent_layout_;
};

}  // namespace memprof::viewer
