// The menu of notes.
#include "viewer/window/notes_menu.h"

#include <QAction>
#include <QInputDialog>
#include <utility>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/views/add_action.h"
#include "viewer/window/notes_dialog.h"
#include "viewer/window/places.h"

namespace memprof::viewer {
namespace {

constexpr qsizetype kMaxShown = 20;

// One line for a menu, in which '&' is no underlining.
QString MenuText(const QString& text) {
  QString line = text.simplified();
  if (line.size() > 60) line = line.left(59) + QStringLiteral("…");
  return line.replace(QLatin1Char('&'), QStringLiteral("&&"));
}

}  // namespace

NotesMenu::NotesMenu(Places* places, std::function<QString()> log, QWidget* parent)
    : QMenu(tr("&Notes"), parent), places_(places), log_(std::move(log)) {
  AddAction(this, tr("&Add a note here …"), QKeySequence(Qt::CTRL | Qt::Key_D), this,
            &NotesMenu::AskForNote);
  AddAction(this, tr("&Edit notes …"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_D), this,
            &NotesMenu::Edit);
  addSeparator();
  connect(this, &QMenu::aboutToShow, this, &NotesMenu::Fill);
}

void NotesMenu::Fill() {
  const QList<QAction*> old = actions().mid(3);
  for (QAction* action : old) delete action;
  if (log_().isEmpty()) return;
  const auto notes = NotesFile(log_()).Read();
  if (!notes.ok()) {
    addAction(MenuText(ToQString(analysis::StatusText(notes.status()))))->setEnabled(false);
    return;
  }
  for (const Note& note : notes->last(std::min(notes->size(), kMaxShown)))
    addAction(MenuText(note.text), this, [this, note] { places_->Go(note.place); });
  if (notes->isEmpty()) addAction(tr("none yet"))->setEnabled(false);
}

void NotesMenu::AskForNote() {
  if (log_().isEmpty()) return;
  QInputDialog dialog(parentWidget());
  dialog.setWindowTitle(tr("Add a note here"));
  dialog.setLabelText(tr("What is to be seen at this place:"));
  dialog.resize(60 * fontMetrics().averageCharWidth(), dialog.sizeHint().height());
  if (dialog.exec() != QDialog::Accepted) return;
  if (const QString text = dialog.textValue().trimmed(); !text.isEmpty()) Add(text);
}

void NotesMenu::Add(const QString& text) {
  places_->AskHere([this, log = log_(), text](const QString& place) {
    NotesFile file(log);
    const absl::Status status = file.Add({place, text});
    Report(status, tr("Noted in %1").arg(file.path()));
  });
}

void NotesMenu::Edit() {
  if (log_().isEmpty()) return;
  const auto notes = NotesFile(log_()).Read();
  if (!notes.ok()) return Report(notes.status(), {});
  auto* dialog = new NotesDialog(log_(), parentWidget());
  dialog->setAttribute(Qt::WA_DeleteOnClose);
  connect(dialog, &NotesDialog::Chosen, places_, &Places::Go);
  connect(dialog, &NotesDialog::Failed, this, &NotesMenu::Failed);
  dialog->show();
}

void NotesMenu::Report(const absl::Status& status, const QString& done) {
  if (status.ok())
    emit Said(done);
  else
    emit Failed(ToQString(analysis::StatusText(status)));
}

}  // namespace memprof::viewer
