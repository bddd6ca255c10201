// Links in the window's menus, and the place where a log was left.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileInfo>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>

#include "viewer/models/left_places.h"
#include "viewer/models/link.h"
#include "viewer/models/remote_log.h"
#include "viewer/views/add_action.h"
#include "viewer/views/notice_bar.h"
#include "viewer/window/main_window.h"
#include "viewer/window/navigation.h"
#include "viewer/window/notes_menu.h"
#include "viewer/window/places.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

const QString& LeftPlaces() {
  static const QString key = QStringLiteral("left");
  return key;
}

}  // namespace

void MainWindow::BuildPlaceActions(QMenu* file) {
  const auto option = [&](const QString& text, const char* key) {
    QAction* action = AddAction(file, text);
    action->setCheckable(true);
    const QString name = QStringLiteral("window/") + QLatin1String(key);
    action->setChecked(settings_ == Settings::kIgnored || QSettings().value(name, true).toBool());
    connect(action, &QAction::toggled, this, [this, name](bool on) {
      if (settings_ == Settings::kKept) QSettings().setValue(name, on);
    });
    return action;
  };
  captions_ = option(tr("C&aptions under pictures"), "captions");
  file->addSeparator();
  AddAction(file, tr("Copy lin&k to this place"), QKeySequence(Qt::CTRL | Qt::ALT | Qt::Key_C),
            this, &MainWindow::CopyLink);
  reopen_ = option(tr("Open logs &where they were left"), "reopen");
}

void MainWindow::BuildNotesMenu() {
  auto* notes = new NotesMenu(
      places_, [this] { return document_->session() != nullptr ? document_->path() : QString(); },
      this);
  connect(notes, &NotesMenu::Said, notice_, &NoticeBar::Tell);
  connect(notes, &NotesMenu::Failed, notice_, &NoticeBar::Warn);
  menuBar()->insertMenu(menuBar()->actions().constLast(), notes);  // before Help
}

ShownView MainWindow::Shown() const {
  const ViewEntry& entry = ViewTable()[static_cast<std::size_t>(navigation_->current())];
  return {QString::fromUtf8(entry.name), page(entry.kind)->State()};
}

void MainWindow::CopyLink() {
  QStringList logs;
  for (const QString& path : document_->paths())
    logs << (IsRemoteName(path) ? path : QFileInfo(path).absoluteFilePath());
  places_->AskHere([this, logs](const QString& fragment) {
    const QString command = LinkCommand(logs, fragment);
    QApplication::clipboard()->setText(command);
    notice_->Tell(tr("Copied: %1").arg(command));
  });
}

void MainWindow::LeavePlace() {
  if (settings_ == Settings::kIgnored || document_->session() == nullptr) return;
  const QString key = KeyOfLogs(document_->paths());
  QSettings store;
  store.setValue(LeftPlaces(),
                 AddPlace(store.value(LeftPlaces()).toStringList(), key, places_->Here()));
}

QString MainWindow::PlaceLeft() const {
  if (settings_ == Settings::kIgnored || !reopen_->isChecked()) return {};
  return FindPlace(QSettings().value(LeftPlaces()).toStringList(), KeyOfLogs(document_->paths()));
}

}  // namespace memprof::viewer
