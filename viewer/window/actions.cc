// The window's menus and shortcuts.
#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>
#include <QStackedWidget>

#include "viewer/jobs/demo_recorder.h"
#include "viewer/models/recent.h"
#include "viewer/views/add_action.h"
#include "viewer/views/filter_bar.h"
#include "viewer/views/view.h"
#include "viewer/window/help_dialog.h"
#include "viewer/window/main_window.h"
#include "viewer/window/palette.h"
#include "viewer/window/pane_window.h"
#include "viewer/window/theme_choice.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {

void MainWindow::BuildActions() {
  QMenu* file = menuBar()->addMenu(tr("&File"));
  AddAction(file, tr("&Open log …"), QKeySequence::Open, this, &MainWindow::AskForLog);
  AddAction(file, tr("Open &fleet …"), QKeySequence(), this, &MainWindow::AskForFleet);
  AddAction(file, tr("Open from another &machine …"), QKeySequence(), this,
            &MainWindow::AskForRemoteLog);
  QMenu* recent = file->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { FillRecent(recent); });
  AddAction(file, tr("&Load again"), QKeySequence::Refresh, this, [this] {
    if (!document_->path().isEmpty()) OpenTogether(document_->paths());
  });
  file->addSeparator();
  AddAction(file, tr("&Export view …"), QKeySequence(Qt::CTRL | Qt::Key_E), this,
            &MainWindow::AskForExport);
  AddAction(file, tr("&Copy view as picture"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C), this,
            &MainWindow::CopyPicture);
  BuildPlaceActions(file);
  file->addSeparator();
  AddAction(file, tr("&Close window"), QKeySequence::Close, this, &QWidget::close);
  AddAction(file, tr("&Quit"), QKeySequence::Quit, qApp, &QApplication::closeAllWindows);
  BuildViewMenu();
  QMenu* help = menuBar()->addMenu(tr("&Help"));
  AddAction(help, tr("&Keys and mouse"), QKeySequence::HelpContents, this,
            [this] { ShowHelp(this); });
  QAction* demo = help->addAction(tr("Try the &demo"), demo_, &DemoRecorder::Start);
  demo->setEnabled(demo_->available());
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
  int digit = 1;
  for (const ViewEntry& entry : ViewTable()) {
    // Ctrl+1 … Ctrl+9, then Ctrl+0; what comes after has no key.
    const QKeySequence key =
        digit > 10 ? QKeySequence()
                   : QKeySequence(Qt::CTRL | static_cast<Qt::Key>(Qt::Key_0 + digit % 10));
    AddAction(view, QString::fromUtf8(entry.title), key, this,
              [this, kind = entry.kind] { ShowView(kind); });
    ++digit;
  }
  view->addSeparator();
  QAction* back = view->addAction(tr("&Undo zoom or filter"), selection_, &Selection::Back);
  back->setShortcut(QKeySequence::Back);
  QAction* forward = view->addAction(tr("&Redo zoom or filter"), selection_, &Selection::Forward);
  forward->setShortcut(QKeySequence::Forward);
  QAction* all =
      AddAction(view, tr("Show &all"), QKeySequence(Qt::Key_Home), selection_, &Selection::ShowAll);
  const auto enable = [this, back, forward, all] {
    back->setEnabled(selection_->can_back());
    forward->setEnabled(selection_->can_forward());
    all->setEnabled(selection_->zoomed());
  };
  enable();
  connect(selection_, &Selection::ZoomChanged, this, enable);
  view->addSeparator();
  QAction* steps =
      AddAction(view, tr("A&xis in steps"), QKeySequence(Qt::Key_S), selection_,
                [this](bool on) { selection_->SetAxis(on ? AxisKind::kSteps : AxisKind::kTime); });
  steps->setCheckable(true);
  connect(selection_, &Selection::AxisChanged, this,
          [this, steps] { steps->setChecked(selection_->axis() == AxisKind::kSteps); });
  AddAction(view, tr("Go to &peak"), QKeySequence(Qt::Key_P), this, [this] {
    const TimelineBands* bands = document_->bands(selection_->device());
    if (bands != nullptr && !bands->in_use.empty()) {
      selection_->SetInstant(bands->in_use.time_of_max());
    }
  });
  auto* palette = new Palette(this, settings_ == Settings::kKept);
  AddAction(view, tr("&Go to anything …"), QKeySequence(Qt::CTRL | Qt::Key_K), palette,
            &Palette::Open);
  AddAction(view, tr("&Search in this view"), QKeySequence::Find, this, &MainWindow::GoToSearch);
  AddAction(view, tr("&Filter"), QKeySequence(Qt::CTRL | Qt::Key_L), filter_bar_,
            &FilterBar::Focus);
  AddAction(view, tr("Show &everything"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_L), this,
            [this] { selection_->SetFilter({}); });
  AddAction(view, tr("&Clear selection"), QKeySequence(Qt::Key_Escape), this,
            [this] { selection_->SelectAllocation({}, {}); });
  view->addSeparator();
  QAction* apart = AddAction(view, tr("&Details in a window"), QKeySequence(Qt::Key_F9),
                             details_window_, &PaneWindow::SetApart);
  apart->setCheckable(true);
  connect(details_window_, &PaneWindow::Toggled, apart, &QAction::setChecked);
  AddThemeMenu(view, settings_ == Settings::kKept);
}

void MainWindow::FillRecent(QMenu* menu) {
  menu->clear();
  QStringList recent;
  if (settings_ == Settings::kKept) {
    recent = QSettings().value(QStringLiteral("recent")).toStringList();
  }
  for (const QString& entry : recent)
    menu->addAction(RecentTitle(entry), this,
                    [this, entry] { OpenTogether(PathsOfRecent(entry)); });
  if (recent.isEmpty()) menu->addAction(tr("none yet"))->setEnabled(false);
}

void MainWindow::GoToSearch() {
  if (static_cast<View*>(views_->currentWidget())->FocusSearch()) return;
  filter_bar_->Focus();
}

}  // namespace memprof::viewer
