// The list of notes. Each change is written at once.
#include "viewer/window/notes_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/views/add_action.h"

namespace memprof::viewer {

NotesDialog::NotesDialog(const QString& log, QWidget* parent) : QDialog(parent), file_(log) {
  setWindowTitle(tr("Notes on %1").arg(BaseName(log)));
  resize(720, 360);
  auto* layout = new QVBoxLayout(this);
  table_ = new QTableWidget(0, 2, this);
  table_->setHorizontalHeaderLabels({tr("Note"), tr("Place")});
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->verticalHeader()->hide();
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::SelectedClicked);
  table_->setColumnWidth(0, 380);
  layout->addWidget(table_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  QPushButton* go = buttons->addButton(tr("&Go there"), QDialogButtonBox::ActionRole);
  QPushButton* edit = buttons->addButton(tr("&Edit"), QDialogButtonBox::ActionRole);
  QPushButton* remove = buttons->addButton(tr("&Remove"), QDialogButtonBox::ActionRole);
  layout->addWidget(buttons);
  const auto go_there = [this] {
    const int row = table_->currentRow();
    if (row >= 0) emit Chosen(notes_[row].place);
  };
  connect(go, &QPushButton::clicked, this, go_there);
  connect(table_, &QTableWidget::cellDoubleClicked, this, go_there);
  connect(edit, &QPushButton::clicked, this, [this] {
    if (table_->currentRow() >= 0) table_->editItem(table_->item(table_->currentRow(), 0));
  });
  connect(remove, &QPushButton::clicked, this, &NotesDialog::RemoveCurrent);
  AddAction(this, tr("Remove"), QKeySequence::Delete, this, &NotesDialog::RemoveCurrent);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
  connect(table_, &QTableWidget::cellChanged, this, &NotesDialog::Changed);
  Fill();
}

void NotesDialog::Fill() {
  const QSignalBlocker quiet(table_);
  const auto notes = file_.Read();
  if (!notes.ok()) return emit Failed(ToQString(analysis::StatusText(notes.status())));
  notes_ = *notes;
  table_->setRowCount(static_cast<int>(notes_.size()));
  for (int row = 0; row < table_->rowCount(); ++row) {
    table_->setItem(row, 0, new QTableWidgetItem(notes_[row].text));
    auto* place = new QTableWidgetItem(notes_[row].place);
    place->setFlags(place->flags() & ~Qt::ItemIsEditable);
    table_->setItem(row, 1, place);
  }
}

void NotesDialog::Changed(int row) {
  const QString text = table_->item(row, 0)->text().trimmed();
  const Note& old = notes_[row];
  // An empty text is no wish to remove the note: that has a button.
  if (text.isEmpty() || text == old.text) return Fill();
  Change(old, {old.place, text});
}

void NotesDialog::RemoveCurrent() {
  const int row = table_->currentRow();
  if (row >= 0) Change(notes_[row], {});
}

void NotesDialog::Change(const Note& old, const Note& by) {
  const absl::Status status = file_.Change(old, by);
  if (!status.ok()) emit Failed(ToQString(analysis::StatusText(status)));
  Fill();
}

}  // namespace memprof::viewer
