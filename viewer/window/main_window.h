// The window: a summary and the filter above, the list of views at the left, the current view,
// details of the selection beside it, and the overview of the whole recording below; or a welcome,
// loading or error page.
#pragma once

#include <QMainWindow>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/verdict.h"
#include "viewer/models/view_state.h"
#include "viewer/window/options.h"

class QAction;
class QComboBox;
class QLabel;
class QMenu;
class QSplitter;
class QStackedWidget;

namespace memprof::viewer {

class DemoRecorder;
class DetailsPanel;
class FilterBar;
class FlameView;
class LeakView;
class MapView;
class Navigation;
class NoticeBar;
class OverviewStrip;
class PaneWindow;
class Places;
class SummaryHeader;
class TimelineView;
class View;
class WelcomePage;

class MainWindow : public QMainWindow {
  Q_OBJECT

 public:
  // Whether geometry and recent files are read from and written to the user's settings.
  enum class Settings { kKept, kIgnored };

  explicit MainWindow(Settings settings, QWidget* parent = nullptr);
  ~MainWindow() override;

  void Open(const QString& path) { OpenTogether({path}); }
  // Several logs of one job as one session. A fleet opens in a window of its own. The last name may
  // have a link (models/link.h), which says what of it is shown.
  void OpenTogether(const QStringList& paths);
  void ShowView(ViewKind view);
  // Shows the view and the axis that the command line names, and the comparison.
  void ShowFirst(const Options& options);
  ViewKind view() const;
  // Runs the event loop until no job runs and every view shows its data.
  void WaitUntilSettled();

  Document& document() { return *document_; }
  Selection& selection() { return *selection_; }
  // The view of a kind; null where the table has none.
  View* page(ViewKind kind) const;
  TimelineView* timeline() const;
  MapView* map() const;
  LeakView* leaks() const;
  FlameView* flame() const;
  WelcomePage* welcome() const { return welcome_; }
  FilterBar* filter_bar() const { return filter_bar_; }
  Navigation* navigation() const { return navigation_; }
  NoticeBar* notice() const { return notice_; }
  Places* places() const { return places_; }

  // Writes the current view: a picture (.png, .svg) or its rows (.csv), by the file extension. A
  // picture has a caption below, if these are on. Returns "", or an error.
  QString Export(const QString& path);
  // What the window shows, in one line.
  QString Caption() const;

 protected:
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;
  void closeEvent(QCloseEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void BuildPages();
  void BuildActions();
  void BuildViewMenu();
  void BuildPlaceActions(QMenu* file);
  void BuildNotesMenu();
  void FillRecent(QMenu* menu);
  void Remember(const QStringList& paths);
  void StateChanged();
  void ShowGrown();
  void OfferDemo();
  void RestoreSettings();
  void KeepSettings();
  void TimelinesReady();
  QWidget* FrontPage() const;  // the current view, or the welcome page
  void AskForLog();
  void AskForFleet();
  void AskForRemoteLog();
  ShownView Shown() const;
  // Keeps where the log was left, if settings are kept.
  void LeavePlace();
  QString PlaceLeft() const;
  void CopyLink();
  void AskForExport();
  void CopyPicture();
  void GoToSearch();
  void Chosen(int view);
  void PlaceDetails();
  void ShowTarget(VerdictView view);
  QWidget* BuildContent();

  const Settings settings_;
  std::shared_ptr<const analysis::Session> shown_;  // the session of the selection
  Document* document_ = nullptr;
  Selection* selection_ = nullptr;
  QStackedWidget* pages_ = nullptr;  // welcome (also loading and error), content
  WelcomePage* welcome_ = nullptr;
  DemoRecorder* demo_ = nullptr;
  QWidget* content_ = nullptr;
  SummaryHeader* header_ = nullptr;
  QSplitter* splitter_ = nullptr;  // view and details
  FilterBar* filter_bar_ = nullptr;
  NoticeBar* notice_ = nullptr;
  Places* places_ = nullptr;
  QAction* captions_ = nullptr;  // checked: pictures have one
  QAction* reopen_ = nullptr;    // checked: a log opens where it was left
  Navigation* navigation_ = nullptr;
  QStackedWidget* views_ = nullptr;  // in the order of ViewTable()
  DetailsPanel* details_ = nullptr;
  PaneWindow* details_window_ = nullptr;  // of the details that are torn off
  OverviewStrip* overview_ = nullptr;
};

}  // namespace memprof::viewer
