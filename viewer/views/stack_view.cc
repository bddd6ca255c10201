// A call stack as a list.
#include "viewer/views/stack_view.h"

#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <algorithm>
#include <utility>

#include "viewer/views/add_action.h"
#include "viewer/views/frame_actions.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

StackView::StackView(Document* document, Selection* selection, QWidget* parent)
    : QTreeView(parent), document_(document), selection_(selection) {
  model_ = new StackModel(this);
  setModel(model_);
  setAccessibleName(tr("Call stack"));
  setRootIsDecorated(false);
  setUniformRowHeights(true);
  setAlternatingRowColors(true);
  setFrameShape(QFrame::NoFrame);
  setTextElideMode(Qt::ElideMiddle);
  setItemDelegate(new NameDelegate(this));
  header()->setStretchLastSection(false);
  header()->setSectionResizeMode(StackModel::kFunction, QHeaderView::Stretch);
  header()->setSectionResizeMode(StackModel::kPlace, QHeaderView::Interactive);
  copy_ = AddAction(this, tr("Copy stack"));
  connect(copy_, &QAction::triggered, this,
          [this] { QGuiApplication::clipboard()->setText(model_->Text()); });
  connect(this, &QTreeView::doubleClicked, this, &StackView::OpenSource);
  connect(selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) {
            if (index.isValid() && !model_->IsFold(index.row()))
              emit FrameChosen(model_->frame(index.row()));
          });
}

void StackView::SetFrames(std::vector<analysis::SourceFrame> frames,
                          const analysis::SourceFrame& site, analysis::StackId stack) {
  stack_ = stack;
  model_->SetFrames(std::move(frames), site);
  FitPlaces();
  FitHeight();
}

// A folded row has no place: its words take both columns.
void StackView::SpanFolds() {
  for (int row = 0; row < model_->rowCount(); ++row)
    setFirstColumnSpanned(row, {}, model_->IsFold(row));
}

void StackView::FitHeight() {
  SpanFolds();
  const int row = std::max(fontMetrics().height() + kSpace, sizeHintForRow(0));
  setMaximumHeight(header()->sizeHint().height() + std::max(1, model_->rowCount()) * row);
}

void StackView::FitPlaces() {
  const int wanted = sizeHintForColumn(StackModel::kPlace) + kSpace;
  header()->resizeSection(StackModel::kPlace, std::min(wanted, viewport()->width() * 2 / 5));
}

void StackView::resizeEvent(QResizeEvent* event) {
  QTreeView::resizeEvent(event);
  FitPlaces();
}

void StackView::OpenSource(const QModelIndex& index) {
  if (!index.isValid()) return;
  if (model_->IsFold(index.row())) {
    model_->Unfold(index.row());
    FitPlaces();
    FitHeight();
  } else {
    OpenInEditor(this, *document_, model_->frame(index.row()));
  }
}

void StackView::keyPressEvent(QKeyEvent* event) {
  if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    OpenSource(currentIndex());
  } else if (event->matches(QKeySequence::Copy) && currentIndex().isValid()) {
    QGuiApplication::clipboard()->setText(WholeFrame(model_->frame(currentIndex().row())));
  } else {
    QTreeView::keyPressEvent(event);
  }
}

void StackView::contextMenuEvent(QContextMenuEvent* event) {
  const bool keyboard = event->reason() == QContextMenuEvent::Keyboard;
  const QModelIndex index = keyboard ? currentIndex() : indexAt(event->pos());
  QMenu menu(this);
  if (index.isValid() && !model_->IsFold(index.row()))
    AddFrameActions(&menu, this, document_, selection_, {model_->frame(index.row()), stack_});
  else
    menu.addAction(copy_);
  menu.exec(keyboard && index.isValid() ? viewport()->mapToGlobal(visualRect(index).bottomLeft())
                                        : event->globalPos());
}

}  // namespace memprof::viewer
