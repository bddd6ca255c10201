// The window of a fleet.
#include "viewer/window/fleet_window.h"

#include <QAction>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSaveFile>
#include <QTextStream>

#include "viewer/jobs/demo_recorder.h"
#include "viewer/models/recent.h"
#include "viewer/views/add_action.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/fleet_canvas.h"
#include "viewer/views/fleet_view.h"
#include "viewer/views/theme.h"
#include "viewer/window/help_dialog.h"
#include "viewer/window/theme_choice.h"

namespace memprof::viewer {

FleetWindow::FleetWindow(MainWindow::Settings settings, const QString& programs, QWidget* parent)
    : QMainWindow(parent), settings_(settings) {
  setWindowTitle(QStringLiteral("memprof"));
  setStyleSheet(FlatStyle());
  resize(1280, 800);
  maker_ = new FleetGridMaker(
      programs.isEmpty() ? FolderOfPrograms(QCoreApplication::applicationDirPath()) : programs,
      this);
  view_ = new FleetView(this);
  setCentralWidget(view_);
  BuildActions();
  connect(maker_, &FleetGridMaker::Made, this, &FleetWindow::Read);
  connect(maker_, &FleetGridMaker::Failed, this, &FleetWindow::Fail);
  connect(view_, &FleetView::Wanted, this,
          [this](const FleetChoice& choice) { Open(folder_, choice); });
  connect(view_, &FleetView::OpenWanted, this, &FleetWindow::OpenLog);
  connect(view_, &FleetView::CompareWanted, this, &FleetWindow::Compare);
}

FleetWindow::~FleetWindow() = default;

void FleetWindow::BuildActions() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  AddAction(file, tr("&Load again"), QKeySequence::Refresh, this,
            [this] { Open(folder_, choice_); });
  AddAction(file, tr("&Export …"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
            &FleetWindow::AskForExport);
  AddAction(file, tr("&Close window"), QKeySequence::Close, this, &QWidget::close);
  AddAction(file, tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);
  QMenu* view = menuBar()->addMenu(tr("&View"));
  FleetCanvas* canvas = view_->canvas();
  AddAction(view, tr("&Undo zoom"), QKeySequence::Back, canvas, &FleetCanvas::Back);
  AddAction(view, tr("&Redo zoom"), QKeySequence::Forward, canvas, &FleetCanvas::Forward);
  AddAction(view, tr("Zoom to &outliers"), QKeySequence(Qt::Key_O), view_,
            &FleetView::ZoomToOutliers);
  AddAction(view, tr("Show &all"), QKeySequence(Qt::Key_Home), canvas, &FleetCanvas::ShowAll);
  view->addSeparator();
  AddThemeMenu(view, settings_ == MainWindow::Settings::kKept);
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  AddAction(help, tr("&Keys and mouse"), QKeySequence::HelpContents, this,
            [this] { ShowHelp(this); });
}

void FleetWindow::Open(const QString& folder, const FleetChoice& choice) {
  folder_ = folder;
  choice_ = choice;
  error_.clear();
  setWindowFilePath(folder);
  job_.Cancel();
  view_->ShowWaiting(tr("Reading the tables of %1 …").arg(folder));
  maker_->Start(folder, choice);
}

void FleetWindow::Read(const QString& file) {
  job_.Start([file](std::stop_token) { return ReadFleetGrid(file); },
             [this](absl::StatusOr<std::shared_ptr<const FleetGrid>> grid) {
               if (!grid.ok())
                 return Fail(QString::fromStdString(std::string(grid.status().message())));
               view_->SetGrid(*std::move(grid));
               if (settings_ == MainWindow::Settings::kKept) AddToRecent({folder_});
             });
}

void FleetWindow::Fail(const QString& why) {
  error_ = why;
  view_->ShowProblem(why);
}

MainWindow* FleetWindow::OpenWindow(const QStringList& logs) {
  auto* window = new MainWindow(settings_);
  window->setAttribute(Qt::WA_DeleteOnClose);
  window->show();
  window->OpenTogether(logs);
  return window;
}

MainWindow* FleetWindow::OpenLog(std::size_t row) {
  const FleetRow& of = view_->grid()->rows[row];
  const QString missing = WhyNotHere(of);
  view_->ShowNote(missing);
  return missing.isEmpty() ? OpenWindow({of.log}) : nullptr;
}

MainWindow* FleetWindow::Compare(std::size_t row) {
  const FleetRow& of = view_->grid()->rows[row];
  if (!of.typical) {
    view_->ShowNote(
        tr("No rank is typical for the stage of %1: it has too few ranks. The log can be "
           "opened alone.")
            .arg(of.Name()));
    return nullptr;
  }
  const FleetRow& typical = view_->grid()->rows[*of.typical];
  QString missing = WhyNotHere(of);
  if (missing.isEmpty()) missing = WhyNotHere(typical);
  view_->ShowNote(missing);
  if (!missing.isEmpty()) return nullptr;
  MainWindow* window = OpenWindow({of.log});
  static_cast<DiffView*>(window->page(ViewKind::kDiff))->CompareWith(typical.log);
  window->ShowView(ViewKind::kDiff);
  return window;
}

void FleetWindow::WaitUntilSettled() {
  // A result may start the next job through a queued call, so checks twice.
  for (int quiet = 0; quiet < 2;) {
    QCoreApplication::processEvents(QEventLoop::AllEvents, 20);
    if (maker_->running() || JobTracker::ActiveJobs() > 0) {
      quiet = 0;
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
    } else {
      ++quiet;
    }
  }
}

QString FleetWindow::Export(const QString& path) {
  QSaveFile file(path);
  const QString cannot =
      tr("%1 cannot be written. Choose a folder that you may write to.").arg(path);
  if (!file.open(QIODevice::WriteOnly)) return cannot;
  bool written = false;
  if (path.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive)) {
    QTextStream out(&file);
    if (!view_->WriteCsv(&out)) return tr("There are no rows to export yet.");
    out.flush();
    written = out.status() == QTextStream::Ok;
  } else if (path.endsWith(QLatin1String(".png"), Qt::CaseInsensitive)) {
    written = view_->grab().save(&file, "PNG");
  } else {
    return tr("The name must end in .png or .csv, which selects the format.");
  }
  return written && file.commit() ? QString() : cannot;
}

void FleetWindow::AskForExport() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export"), QStringLiteral("memprof-fleet.png"),
                                   tr("Picture (*.png);;Table of ranks (*.csv)"));
  if (path.isEmpty()) return;
  const QString problem = Export(path);
  if (!problem.isEmpty()) QMessageBox::warning(this, tr("Not exported"), problem);
}

FleetWindow* OpenFleetWindow(const QString& folder, MainWindow::Settings settings) {
  auto* window = new FleetWindow(settings);
  window->setAttribute(Qt::WA_DeleteOnClose);
  window->show();
  window->Open(folder);
  return window;
}

}  // namespace memprof::viewer
