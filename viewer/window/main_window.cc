// The window: pages, views, and what ties them to the document.
#include "viewer/window/main_window.h"

#include <QCloseEvent>
#include <QCoreApplication>
#include <QDragEnterEvent>
#include <QFileInfo>
#include <QMimeData>
#include <QPixmap>
#include <QSettings>
#include <QSplitter>
#include <QStackedWidget>
#include <QTabBar>
#include <QTabWidget>
#include <QUrl>
#include <QVBoxLayout>

#include "viewer/geometry/units.h"
#include "viewer/views/details_panel.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/map_view.h"
#include "viewer/views/overview_strip.h"
#include "viewer/views/summary_header.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_view.h"
#include "viewer/views/welcome_page.h"

namespace memprof::viewer {

MainWindow::MainWindow(Settings settings, QWidget* parent)
    : QMainWindow(parent), settings_(settings) {
  document_ = new Document(this);
  selection_ = new Selection(this);
  setAcceptDrops(true);
  setWindowTitle(QStringLiteral("memprof"));
  setStyleSheet(FlatStyle());
  resize(1280, 800);
  BuildPages();
  BuildActions();
  connect(document_, &Document::StateChanged, this, &MainWindow::StateChanged);
  connect(document_, &Document::TimelinesReady, this, &MainWindow::TimelinesReady);
  connect(document_, &Document::ReportReady, this, [this] {
    const auto count = document_->report()->leaks.size();
    tabs_->setTabText(static_cast<int>(ViewKind::kLeaks),
                      count > 0 ? tr("Leaks (%1)").arg(count) : tr("Leaks"));
  });
  connect(welcome_, &WelcomePage::OpenRequested, this, &MainWindow::AskForLog);
  connect(welcome_, &WelcomePage::LogChosen, this, &MainWindow::Open);
  connect(welcome_, &WelcomePage::CancelRequested, document_, &Document::Cancel);
  if (settings_ == Settings::kKept) {
    QSettings store;
    restoreGeometry(store.value(QStringLiteral("window/geometry")).toByteArray());
    tabs_->setCurrentIndex(store.value(QStringLiteral("window/view"), 0).toInt());
    welcome_->SetRecent(store.value(QStringLiteral("recent")).toStringList());
  }
}

MainWindow::~MainWindow() = default;

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

  auto* splitter = new QSplitter(Qt::Horizontal, content);
  splitter->setChildrenCollapsible(false);
  tabs_ = new QTabWidget(splitter);
  tabs_->setDocumentMode(true);
  tabs_->tabBar()->setDrawBase(false);
  timeline_ = new TimelineView(document_, selection_);
  map_ = new MapView(document_, selection_);
  leaks_ = new LeakView(document_, selection_);
  flame_ = new FlameView(document_, selection_);
  // In the order of ViewKind.
  tabs_->addTab(timeline_, tr("Timeline"));
  tabs_->addTab(map_, tr("Address map"));
  tabs_->addTab(leaks_, tr("Leaks"));
  tabs_->addTab(flame_, tr("Call sites"));
  // The leak view shows stacks and evidence itself.
  connect(tabs_, &QTabWidget::currentChanged, this,
          [this](int index) { details_->setVisible(index != static_cast<int>(ViewKind::kLeaks)); });
  details_ = new DetailsPanel(document_, selection_, splitter);
  details_->setMaximumWidth(440);  // names and sizes need no more: the rest is the views'
  splitter->addWidget(tabs_);
  splitter->addWidget(details_);
  splitter->setStretchFactor(0, 6);
  splitter->setStretchFactor(1, 1);
  splitter->setSizes({960, 300});
  layout->addWidget(splitter, 1);
  overview_ = new OverviewStrip(document_, selection_, content);
  layout->addWidget(overview_);
  return content;
}

void MainWindow::Open(const QString& path) {
  setWindowTitle(QFileInfo(path).fileName() + QStringLiteral(" — memprof"));
  setWindowFilePath(path);
  tabs_->setTabText(static_cast<int>(ViewKind::kLeaks), tr("Leaks"));
  document_->Open(path);
}

void MainWindow::StateChanged() {
  const bool ready = document_->state() == Document::State::kReady;
  if (ready) {
    // The first device until the timelines tell which one is worth looking at.
    const auto devices = document_->session()->devices();
    const analysis::TimeWindow bounds = document_->bounds();
    selection_->Reset(bounds, bounds.end, devices.empty() ? 0 : devices.front().id);
    Remember(document_->path());
  }
  if (document_->state() == Document::State::kEmpty) setWindowTitle(QStringLiteral("memprof"));
  pages_->setCurrentWidget(ready ? content_ : welcome_);
}

void MainWindow::TimelinesReady() {
  // Begin with the device that held most, at its peak: what people look for first.
  const TimelineBands* most = nullptr;
  for (const TimelineBands& bands : *document_->timelines()) {
    if (bands.device == analysis::kNoDevice || bands.allocated.empty()) continue;
    if (most == nullptr || bands.allocated.max() > most->allocated.max()) most = &bands;
  }
  if (most == nullptr) return;
  selection_->SetDevice(most->device);
  selection_->SetInstant(most->in_use.time_of_max());
}

void MainWindow::ShowView(ViewKind view) { tabs_->setCurrentIndex(static_cast<int>(view)); }
ViewKind MainWindow::view() const { return static_cast<ViewKind>(tabs_->currentIndex()); }

void MainWindow::WaitUntilSettled() {
  // A delivered result may start the next job through a queued call, so look twice.
  for (int quiet = 0; quiet < 2;) {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
    if (JobTracker::ActiveJobs() > 0) {
      quiet = 0;
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
    } else {
      ++quiet;
    }
  }
}

bool MainWindow::ExportPng(const QString& path) {
  QWidget* shown = pages_->currentWidget() == content_ ? tabs_->currentWidget() : welcome_;
  return shown->grab().save(path, "PNG");
}

void MainWindow::Remember(const QString& path) {
  if (settings_ == Settings::kIgnored) return;
  QSettings store;
  QStringList recent = store.value(QStringLiteral("recent")).toStringList();
  const QString absolute = QFileInfo(path).absoluteFilePath();
  recent.removeAll(absolute);
  recent.prepend(absolute);
  while (recent.size() > 10) recent.removeLast();
  store.setValue(QStringLiteral("recent"), recent);
  welcome_->SetRecent(recent);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) event->acceptProposedAction();
  }
}

void MainWindow::dropEvent(QDropEvent* event) {
  for (const QUrl& url : event->mimeData()->urls()) {
    if (!url.isLocalFile()) continue;
    event->acceptProposedAction();
    Open(url.toLocalFile());
    return;
  }
}

void MainWindow::closeEvent(QCloseEvent* event) {
  document_->Cancel();
  if (settings_ == Settings::kKept) {
    QSettings store;
    store.setValue(QStringLiteral("window/geometry"), saveGeometry());
    store.setValue(QStringLiteral("window/view"), tabs_->currentIndex());
  }
  QMainWindow::closeEvent(event);
}

}  // namespace memprof::viewer
