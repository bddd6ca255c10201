// The window: pages, views, and what ties them to the document.
#include "viewer/window/main_window.h"

#include <QCloseEvent>
#include <QCoreApplication>
#include <QFileInfo>
#include <QHBoxLayout>
#include <QLineEdit>
#include <QScreen>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QTimer>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/jobs/demo_recorder.h"
#include "viewer/jobs/fleet_grid_maker.h"
#include "viewer/models/link.h"
#include "viewer/models/recent.h"
#include "viewer/views/details_panel.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/field_keys.h"
#include "viewer/views/filter_bar.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/focus_ring.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/notice_bar.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/summary_header.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_stacks.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/welcome_page.h"
#include "viewer/window/fleet_window.h"
#include "viewer/window/navigation.h"
#include "viewer/window/pane_window.h"
#include "viewer/window/places.h"
#include "viewer/window/view_stack.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {

MainWindow::MainWindow(Settings settings, QWidget* parent)
    : QMainWindow(parent), settings_(settings) {
  document_ = new Document(this);
  selection_ = new Selection(this);
  setAcceptDrops(true);
  setWindowTitle(QStringLiteral("memprof"));
  setStyleSheet(FlatStyle());
  // No larger than the screen, its title included.
  const QSize room = screen() != nullptr ? screen()->availableSize() - QSize(16, 48) : QSize();
  resize(room.isEmpty() ? QSize(1280, 800) : QSize(1280, 800).boundedTo(room));
  BuildPages();
  OfferDemo();
  BuildActions();
  for (QLineEdit* field : findChildren<QLineEdit*>()) new FieldKeys(field);
  connect(document_, &Document::StateChanged, this, &MainWindow::StateChanged);
  connect(document_, &Document::TimelinesReady, this, &MainWindow::TimelinesReady);
  connect(document_, &Document::ReportReady, this, [this] {
    const auto count = document_->report()->leaks.size();
    navigation_->SetBadge(ViewIndex(ViewKind::kLeaks),
                          count > 0 ? QString::number(count) : QString());
  });
  connect(document_, &Document::RemoteSaid, this,
          [this, last = QString()](const QString& line) mutable {
            // Over, but for what was said meanwhile of something else.
            if (!line.isEmpty() || notice_->text() == last) notice_->Warn(line);
            last = line;
          });
  connect(header_, &SummaryHeader::ComparisonRequested, this,
          [this](const QStringList& before, const QStringList& after) {
            OpenTogether(after);
            static_cast<DiffView*>(page(ViewKind::kDiff))->CompareWith(before);
            ShowView(ViewKind::kDiff);
          });
  connect(header_, &SummaryHeader::ViewRequested, this, &MainWindow::ShowTarget);
  connect(header_, &SummaryHeader::FailuresCounted, this, [this](std::size_t count) {
    navigation_->SetBadge(ViewIndex(ViewKind::kFragmentation),
                          count > 0 ? FormatCount(count) : QString());
  });
  connect(selection_, &Selection::FilterChanged, this,
          [this] { document_->SetFilter(selection_->filter()); });
  connect(welcome_, &WelcomePage::OpenRequested, this, &MainWindow::AskForLog);
  connect(welcome_, &WelcomePage::LogChosen, this,
          [this](const QString& entry) { OpenTogether(PathsOfRecent(entry)); });
  connect(welcome_, &WelcomePage::CancelRequested, document_, &Document::Cancel);
  new FocusRing(this);
  // After the connections above: a link changes what the timelines set.
  places_ = new Places(
      document_, selection_, [this] { return Shown(); }, this);
  connect(places_, &Places::Missed, notice_, &NoticeBar::Warn);
  connect(places_, &Places::ViewNamed, this, [this](const QString& name) {
    for (const ViewEntry& view : ViewTable())
      if (name == QString::fromUtf8(view.name)) return ShowView(view.kind);
    notice_->Warn(tr("There is no view '%1'").arg(name.left(40)));
  });
  connect(places_, &Places::StateNamed, this,
          [this](const ViewState& state, QStringList* problems) {
            page(view())->SetState(state);
            *problems << RefusedWords(state, page(view())->State());
          });
  BuildNotesMenu();
  RestoreSettings();
}

void MainWindow::RestoreSettings() {
  if (settings_ == Settings::kIgnored) return;
  document_->KeepSiteColors();
  const QSettings store;
  restoreGeometry(store.value(QStringLiteral("window/geometry")).toByteArray());
  splitter_->restoreState(store.value(QStringLiteral("window/details")).toByteArray());
  details_window_->Restore();
  selection_->SetAxis(static_cast<AxisKind>(
      std::clamp(store.value(QStringLiteral("window/axis"), 0).toInt(), 0, 1)));
  welcome_->SetRecent(store.value(QStringLiteral("recent")).toStringList());
}

void MainWindow::KeepSettings() {
  if (settings_ == Settings::kIgnored) return;
  QSettings store;
  store.setValue(QStringLiteral("window/geometry"), saveGeometry());
  store.setValue(QStringLiteral("window/details"), details_window_->HomeState());
  details_window_->Keep();
  store.setValue(QStringLiteral("window/axis"), static_cast<int>(selection_->axis()));
}

MainWindow::~MainWindow() = default;

void MainWindow::OfferDemo() {
  demo_ = new DemoRecorder(FolderOfPrograms(QCoreApplication::applicationDirPath()),
                           QStandardPaths::writableLocation(QStandardPaths::CacheLocation), this);
  welcome_->OfferDemo(demo_->available());
  connect(welcome_, &WelcomePage::DemoRequested, this, [this] {
    welcome_->ShowDemoRunning(true);
    demo_->Start();
  });
  connect(demo_, &DemoRecorder::Recorded, this, [this](const QString& log) {
    welcome_->ShowDemoRunning(false);
    Open(log);
  });
  connect(demo_, &DemoRecorder::Failed, this,
          [this](const QString& why) { welcome_->ShowDemoRunning(false, why); });
}

void MainWindow::BuildPages() {
  pages_ = new QStackedWidget(this);
  welcome_ = new WelcomePage(document_, this);
  content_ = BuildContent();
  pages_->addWidget(welcome_);
  pages_->addWidget(content_);
  setCentralWidget(pages_);
}

QWidget* MainWindow::BuildContent() {
  auto* content = new QWidget(this);
  auto* layout = new QVBoxLayout(content);
  layout->setContentsMargins(0, 0, 0, 0);
  layout->setSpacing(0);
  header_ = new SummaryHeader(document_, selection_, content);
  layout->addWidget(header_);

  filter_bar_ = new FilterBar(document_, selection_, content);
  layout->addWidget(filter_bar_);
  auto* middle = new QHBoxLayout();
  middle->setSpacing(0);
  navigation_ = new Navigation(content);
  middle->addWidget(navigation_);
  splitter_ = new QSplitter(Qt::Horizontal, content);
  splitter_->setChildrenCollapsible(false);
  views_ = new ViewStack(splitter_);
  for (const ViewEntry& view : ViewTable())
    views_->addWidget(view.make(document_, selection_, views_));
  connect(navigation_, &Navigation::Chosen, this, &MainWindow::Chosen);
  details_ = new DetailsPanel(document_, selection_, splitter_);
  details_->setMinimumWidth(200);
  splitter_->addWidget(views_);
  splitter_->addWidget(details_);
  splitter_->setStretchFactor(0, 6);
  splitter_->setStretchFactor(1, 1);
  splitter_->setSizes({960, 300});
  details_window_ = new PaneWindow(details_, splitter_, this);
  details_->SetCorner(MakeTearButton(details_window_));
  connect(details_window_, &PaneWindow::Toggled, this, &MainWindow::PlaceDetails);
  middle->addWidget(splitter_, 1);
  layout->addLayout(middle, 1);
  navigation_->SetCurrent(0);
  overview_ = new OverviewStrip(document_, selection_, content);
  layout->addWidget(overview_);
  notice_ = new NoticeBar(content);
  layout->addWidget(notice_);
  return content;
}

void MainWindow::resizeEvent(QResizeEvent* event) {
  QMainWindow::resizeEvent(event);
  if (details_window_ != nullptr) PlaceDetails();
}

// Beside the views that have no details of their own. On a wide screen names get more width; the
// views get the rest. In a window of their own they stay whatever the view, while there is a log.
void MainWindow::PlaceDetails() {
  const bool apart = details_window_->apart();
  details_->setMaximumWidth(apart ? QWIDGETSIZE_MAX : std::max(440, width() * 3 / 10));
  details_->setVisible(apart || static_cast<View*>(views_->currentWidget())->shows_details());
  details_window_->setVisible(apart && content_ != nullptr && pages_->currentWidget() == content_);
}

void MainWindow::OpenTogether(const QStringList& paths) {
  if (paths.size() == 1 && IsFleet(paths.front())) {
    OpenFleetWindow(paths.front(), settings_);
    return;
  }
  LeavePlace();
  notice_->hide();
  const LinkedLogs linked = SplitLinks(paths);
  places_->Expect(linked.fragment);
  document_->OpenTogether(linked.logs);
}

void MainWindow::Chosen(int view) {
  views_->setCurrentIndex(view);
  PlaceDetails();
}

View* MainWindow::page(ViewKind kind) const {
  const int index = ViewIndex(kind);
  return index < 0 ? nullptr : static_cast<View*>(views_->widget(index));
}

TimelineView* MainWindow::timeline() const {
  return static_cast<TimelineView*>(page(ViewKind::kTimeline));
}
MapView* MainWindow::map() const { return static_cast<MapView*>(page(ViewKind::kMap)); }
LeakView* MainWindow::leaks() const { return static_cast<LeakView*>(page(ViewKind::kLeaks)); }
FlameView* MainWindow::flame() const { return static_cast<FlameView*>(page(ViewKind::kFlame)); }

void MainWindow::StateChanged() {
  const bool ready = document_->state() == Document::State::kReady;
  // After a failed load, the previous content is unchanged.
  if (ready && document_->grew() && document_->session() != shown_) {
    ShowGrown();
  } else if (ready && document_->session() != shown_) {
    shown_ = document_->session();
    setWindowFilePath(document_->path());
    for (std::size_t i = 0; i < ViewTable().size(); ++i)
      navigation_->SetBadge(static_cast<int>(i), QString());
    // The first device, until the timelines show which one matters.
    const auto devices = document_->session()->devices();
    const analysis::TimeWindow bounds = document_->bounds();
    selection_->Reset(bounds, bounds.end, devices.empty() ? 0 : devices.front().id);
    Remember(document_->paths());
    if (!places_->expects()) places_->Expect(PlaceLeft());
  }
  const bool loading = document_->state() == Document::State::kLoading;
  const QString path = loading ? document_->opening() : document_->path();
  const std::size_t processes = ready ? document_->session()->processes().size() : 1;
  QString name = QFileInfo(path).fileName();
  if (processes > 1) name = tr("%1 and %2 more").arg(name).arg(processes - 1);
  setWindowTitle(path.isEmpty() ? QStringLiteral("memprof") : name + QStringLiteral(" — memprof"));
  pages_->setCurrentWidget(ready ? content_ : welcome_);
  details_window_->setWindowTitle(tr("Details — %1").arg(name));
  PlaceDetails();
}

// The same log, grown: the selection is kept. Ids stay the same, unless an event came late.
void MainWindow::ShowGrown() {
  const auto before = std::exchange(shown_, document_->session());
  const analysis::AllocationId chosen = selection_->allocation();
  const auto is_other = [&] {
    if (chosen.value >= shown_->records().size()) return true;
    const analysis::AllocationRecord& was = before->record(chosen);
    const analysis::AllocationRecord& is = shown_->record(chosen);
    return was.address != is.address || was.bytes != is.bytes || was.stack != is.stack;
  };
  if (chosen.valid() && is_other()) selection_->SelectAllocation({}, {});
  selection_->Grow(document_->bounds());
}

void MainWindow::TimelinesReady() {
  if (document_->grew()) return;
  // Begins with the device that held most, at its peak.
  const TimelineBands* most = nullptr;
  for (const TimelineBands& bands : *document_->timelines()) {
    if (bands.device == analysis::kNoDevice || bands.top.empty()) continue;
    // Memory requested from the driver, or, if the log has none, memory in use.
    const auto peak = [](const TimelineBands& of) {
      return std::pair(of.allocated.max(), of.in_use.max());
    };
    if (most == nullptr || peak(bands) > peak(*most)) most = &bands;
  }
  if (most == nullptr) return;
  selection_->SetDevice(most->device);
  selection_->SetInstant(most->in_use.time_of_max());
}

void MainWindow::ShowView(ViewKind view) { navigation_->SetCurrent(ViewIndex(view)); }

// The view to which a link of the header leads.
void MainWindow::ShowTarget(VerdictView view) {
  ShowView(view == VerdictView::kLeaks      ? ViewKind::kLeaks
           : view == VerdictView::kFailures ? ViewKind::kFragmentation
                                            : ViewKind::kTimeline);
  if (view == VerdictView::kCategories)
    timeline()->stacks()->SetGrouping(analysis::TimelineGrouping::kCategory);
}

void MainWindow::ShowFirst(const Options& options) {
  if (options.axis.has_value()) selection_->SetAxis(*options.axis);
  if (!options.diff.isEmpty()) {
    static_cast<DiffView*>(page(ViewKind::kDiff))->CompareWith(options.diff);
    ShowView(ViewKind::kDiff);
  }
  if (options.view.has_value()) ShowView(*options.view);
}

ViewKind MainWindow::view() const {
  return ViewTable()[static_cast<std::size_t>(navigation_->current())].kind;
}

void MainWindow::WaitUntilSettled() {
  // A result may start the next job through a queued call, so checks twice. The timer ends a sleep:
  // with a time limit, processEvents() would not sleep.
  QTimer wake;
  wake.start(20);
  for (int quiet = 0; quiet < 2;) {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    if (JobTracker::ActiveJobs() > 0) {
      quiet = 0;
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents);
    } else {
      ++quiet;
    }
  }
}

QWidget* MainWindow::FrontPage() const {
  return pages_->currentWidget() == content_ ? views_->currentWidget() : welcome_;
}

void MainWindow::Remember(const QStringList& paths) {
  if (settings_ == Settings::kIgnored) return;
  welcome_->SetRecent(AddToRecent(paths));
}

void MainWindow::closeEvent(QCloseEvent* event) {
  document_->Cancel();
  LeavePlace();
  KeepSettings();
  details_window_->hide();
  QMainWindow::closeEvent(event);
}

}  // namespace memprof::viewer
