// The window's menus and shortcuts.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QTabWidget>

#include "viewer/views/flame_view.h"
#include "viewer/window/help_dialog.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer {

void MainWindow::BuildActions() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  file->addAction(tr("&Open log …"), QKeySequence::Open, this, &MainWindow::AskForLog);
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { FillRecent(recent); });
  file->addAction(tr("&Load again"), QKeySequence::Refresh, this, [this] {
    if (!document_->path().isEmpty()) Open(document_->path());
  });
  file->addSeparator();
  file->addAction(tr("&Export view as PNG …"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
                  &MainWindow::AskForPicture);
  file->addSeparator();
  file->addAction(tr("&Close window"), QKeySequence::Close, this, &QWidget::close);
  file->addAction(tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);
  BuildViewMenu();
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  help->addAction(tr("&Keys and mouse"), QKeySequence::HelpContents, this,
                  [this] { ShowHelp(this); });
  help->addAction(tr("&About memprof"), this, [this] {
    QMessageBox::about(
        this, tr("About memprof"),
        tr("<h3>memprof %1</h3><p>A memory profiler and leak detector for GPU programs.</p>"
           "<p>Record with <tt>memprof run -- PROGRAM</tt>, read with <tt>memprof report</tt>, "
           "look with this viewer.</p>")
            .arg(QApplication::applicationVersion()));
  });
}

void MainWindow::BuildViewMenu() {
  QMenu* view = menuBar()->addMenu(tr("&View"));
  for (int i = 0; i < tabs_->count(); ++i) {
    view->addAction(tabs_->tabText(i), QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_1 + i)),
                    this, [this, i] { tabs_->setCurrentIndex(i); });
  }
  view->addSeparator();
  QAction* back =
      view->addAction(tr("Zoom &back"), QKeySequence::Back, selection_, &Selection::Back);
  QAction* forward =
      view->addAction(tr("Zoom &forward"), QKeySequence::Forward, selection_, &Selection::Forward);
  QAction* all =
      view->addAction(tr("Show &all"), QKeySequence(Qt::Key_Home), selection_, &Selection::ShowAll);
  const auto enable = [this, back, forward, all] {
    back->setEnabled(selection_->can_back());
    forward->setEnabled(selection_->can_forward());
    all->setEnabled(selection_->zoomed());
  };
  enable();
  connect(selection_, &Selection::ZoomChanged, this, enable);
  view->addSeparator();
  QAction* steps = view->addAction(
      tr("A&xis in steps"), QKeySequence(Qt::Key_S), selection_,
      [this](bool on) { selection_->SetAxis(on ? AxisKind::kSteps : AxisKind::kTime); });
  steps->setCheckable(true);
  connect(selection_, &Selection::AxisChanged, this,
          [this, steps] { steps->setChecked(selection_->axis() == AxisKind::kSteps); });
  view->addAction(tr("Go to &peak"), QKeySequence(Qt::Key_P), this, [this] {
    const TimelineBands* bands = document_->bands(selection_->device());
    if (bands != nullptr && !bands->in_use.empty()) {
      selection_->SetInstant(bands->in_use.time_of_max());
    }
  });
  view->addAction(tr("&Search call sites"), QKeySequence::Find, this, [this] {
    ShowView(ViewKind::kFlame);
    flame_->FocusSearch();
  });
  view->addAction(tr("&Clear selection"), QKeySequence(Qt::Key_Escape), this,
                  [this] { selection_->SelectAllocation({}, {}); });
}

void MainWindow::FillRecent(QMenu* menu) {
  menu->clear();
  QStringList recent;
  if (settings_ == Settings::kKept) {
    recent = QSettings().value(QStringLiteral("recent")).toStringList();
  }
  for (const QString& path : recent) menu->addAction(path, this, [this, path] { Open(path); });
  if (recent.isEmpty()) menu->addAction(tr("none yet"))->setEnabled(false);
}

void MainWindow::AskForLog() {
  const QString path = QFileDialog::getOpenFileName(this, tr("Open a log"),
                                                    QFileInfo(document_->path()).absolutePath(),
                                                    tr("memprof logs (*.mprof);;All files (*)"));
  if (!path.isEmpty()) Open(path);
}

void MainWindow::AskForPicture() {
  const QString path =
      QFileDialog::getSaveFileName(this, tr("Export the view as a picture"),
                                   QStringLiteral("memprof.png"), tr("Pictures (*.png)"));
  if (path.isEmpty() || ExportPng(path)) return;
  QMessageBox::warning(
      this, tr("Not exported"),
      tr("%1 cannot be written. Choose a folder that you may write to.").arg(path));
}

}  // namespace memprof::viewer
