// The window: a summary above, the views in tabs, details of the selection beside them, and the
// overview of the whole recording below; or a welcome, loading or error page.
#pragma once

#include <QMainWindow>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/window/options.h"

class QComboBox;
class QLabel;
class QMenu;
class QStackedWidget;
class QTabWidget;

namespace memprof::viewer {

class DetailsPanel;
class FlameView;
class LeakView;
class MapView;
class OverviewStrip;
class SummaryHeader;
class TimelineView;
class WelcomePage;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // Whether geometry and recent files are read from and written to the user's settings.
  enum class Settings { kKept, kIgnored };

  explicit MainWindow(Settings settings, QWidget* parent = nullptr);
  ~MainWindow() override;

  void Open(const QString& path);
  void ShowView(ViewKind view);
  ViewKind view() const;
  // Runs the event loop until no job runs and every view shows its data.
  void WaitUntilSettled();

  Document& document() { return *document_; }
  Selection& selection() { return *selection_; }
  TimelineView* timeline() const { return timeline_; }
  MapView* map() const { return map_; }
  LeakView* leaks() const { return leaks_; }
  FlameView* flame() const { return flame_; }
  WelcomePage* welcome() const { return welcome_; }

  // The view in front as a picture; false when it cannot be written.
  bool ExportPng(const QString& path);

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;

 private:
  void BuildPages();
  void BuildActions();
  void BuildViewMenu();
  void FillRecent(QMenu* menu);
  void Remember(const QString& path);
  void StateChanged();
  void TimelinesReady();
  void AskForLog();
  void AskForPicture();
  QWidget* BuildContent();

  const Settings settings_;
  std::shared_ptr<const analysis::Session> shown_;  // that the selection is about
  Document* document_ = nullptr;
  Selection* selection_ = nullptr;
  QStackedWidget* pages_ = nullptr;  // welcome (also loading and error), content
  WelcomePage* welcome_ = nullptr;
  QWidget* content_ = nullptr;
  SummaryHeader* header_ = nullptr;
  QTabWidget* tabs_ = nullptr;
  TimelineView* timeline_ = nullptr;
  MapView* map_ = nullptr;
  LeakView* leaks_ = nullptr;
  FlameView* flame_ = nullptr;
  DetailsPanel* details_ = nullptr;
  OverviewStrip* overview_ = nullptr;
};

}  // namespace memprof::viewer
