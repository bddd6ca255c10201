// The list of notes. Each change is written at once.
#include "viewer/window/notes_dialog.h"

#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "analysis/base/status_text.h"
#include "viewer/geometry/units.h"
#include "viewer/views/add_action.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"

namespace memprof::viewer {

NotesDialog::NotesDialog(const QString& log, QWidget* parent) : QDialog(parent), file_(log) {
  setWindowTitle(tr("Notes on %1").arg(BaseName(log)));
  resize(720, 360);
  auto* layout = new QVBoxLayout(this);
  table_ = new QTableWidget(0, 2, this);
  SetUpTable(table_, tr("Notes"));
  table_->setHorizontalHeaderLabels({tr("Note"), tr("Place")});
  table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table_->horizontalHeader()->setHighlightSections(false);
  table_->horizontalHeader()->setStretchLastSection(true);
  table_->setEditTriggers(QAbstractItemView::EditKeyPressed | QAbstractItemView::SelectedClicked);
  table_->setColumnWidth(0, 380);
  empty_ = SentenceLabel(this, tr("There are no notes yet. Ctrl+D adds one at the place that the "
                                  "window shows."));
  layout->addWidget(empty_);
  layout->addWidget(table_);
  auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, this);
  go_ = buttons->addButton(tr("&Go there"), QDialogButtonBox::ActionRole);
  edit_ = buttons->addButton(tr("&Edit"), QDialogButtonBox::ActionRole);
  remove_ = buttons->addButton(tr("&Remove"), QDialogButtonBox::ActionRole);
  layout->addWidget(buttons);
  const auto go_there = [this] {
    const int row = table_->currentRow();
    if (row >= 0) emit Chosen(notes_[row].place);
  };
  connect(go_, &QPushButton::clicked, this, go_there);
  connect(table_, &QTableWidget::cellDoubleClicked, this, go_there);
  connect(edit_, &QPushButton::clicked, this, [this] {
    if (table_->currentRow() >= 0) table_->editItem(table_->item(table_->currentRow(), 0));
  });
  connect(remove_, &QPushButton::clicked, this, &NotesDialog::RemoveCurrent);
  AddAction(this, tr("Remove"), QKeySequence::Delete, this, &NotesDialog::RemoveCurrent);
  connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
  connect(table_, &QTableWidget::itemSelectionChanged, this, &NotesDialog::Enable);
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
  empty_->setVisible(notes_.isEmpty());
  Enable();
}

void NotesDialog::Enable() {
  for (QPushButton* button : {go_, edit_, remove_}) button->setEnabled(table_->currentRow() >= 0);
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
