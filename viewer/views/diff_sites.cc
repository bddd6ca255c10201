// The differences of two logs or moments, row by row.
#include "viewer/views/diff_sites.h"

#include <QHeaderView>
#include <QLabel>
#include <QSortFilterProxyModel>
#include <QStackedWidget>
#include <QTabBar>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>
#include <vector>

#include "viewer/views/copy_rows.h"
#include "viewer/views/delta_delegate.h"
#include "viewer/views/diff_icicle.h"
#include "viewer/views/name_delegate.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"
#include "viewer/views/view.h"

namespace memprof::viewer {

QTreeView* MakeDiffTable(QAbstractItemModel* model, const QString& name, QWidget* parent) {
  auto* table = new QTreeView(parent);
  table->setModel(model);
  table->setRootIsDecorated(false);
  SetUpTable(table);
  table->setAccessibleName(name);
  AddCopyActions(table);
  return table;
}

DiffSites::DiffSites(Document* document, Selection* selection, QWidget* parent)
    : QSplitter(Qt::Horizontal, parent), selection_(selection) {
  setChildrenCollapsible(false);
  model_ = new DiffModel(this);
  stack_ = new StackModel(this);
  sorted_ = new QSortFilterProxyModel(this);
  sorted_->setSourceModel(model_);
  sorted_->setSortRole(DiffModel::kSortRole);
  BuildTable();
  BuildPages(document);
  BuildStack();
  setStretchFactor(0, 4);
  setStretchFactor(1, 1);
  setSizes({820, 270});
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          &DiffSites::ShowRow);
  connect(selection, &Selection::SelectionChanged, this, &DiffSites::Follow);
  connect(this, &QSplitter::splitterMoved, this, &DiffSites::FitColumns);
}

void DiffSites::BuildTable() {
  table_ = MakeDiffTable(sorted_, tr("What changed"), this);
  table_->setItemDelegateForColumn(DiffModel::kBar,
                                   new DeltaDelegate(DiffModel::kDeltaRole, table_));
  table_->setItemDelegateForColumn(DiffModel::kName, new NameDelegate(table_));
  QHeaderView* header = table_->header();
  header->setSectionResizeMode(DiffModel::kName, QHeaderView::Stretch);
  const auto width = [this](const QString& widest) {
    return fontMetrics().horizontalAdvance(widest) + 2 * kSpace;
  };
  for (const int section : {DiffModel::kBefore, DiffModel::kAfter})
    header->resizeSection(section, width(QStringLiteral("88.8 MiB")));
  for (const int section : {DiffModel::kChange, DiffModel::kStep})
    header->resizeSection(section, width(QStringLiteral("+88.8 MiB")));
  header->resizeSection(DiffModel::kBlocks, width(QStringLiteral("+88,888")));
  // The number of rows from which the width of the notes' column is computed.
  header->setResizeContentsPrecision(60);
  table_->setSortingEnabled(true);
  table_->sortByColumn(-1, Qt::AscendingOrder);
}

void DiffSites::BuildPages(Document* document) {
  auto* left = new QWidget(this);
  auto* column = new QVBoxLayout(left);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(kSpace / 2);
  tabs_ = new QTabBar(left);
  tabs_->setAccessibleName(tr("How changes are shown"));
  tabs_->setExpanding(false);
  tabs_->setDrawBase(false);
  tabs_->setTabToolTip(tabs_->addTab(tr("Table")), tr("What changed, the largest change first"));
  tabs_->setTabToolTip(tabs_->addTab(tr("Icicle")),
                       tr("The call trees of both sides in one picture"));
  icicle_ = new DiffIcicle(document, selection_, left);
  pages_ = new QStackedWidget(left);
  pages_->addWidget(table_);
  pages_->addWidget(icicle_);
  auto* legend = new DiffLegend(left);
  legend->hide();
  auto* top = new QHBoxLayout();
  top->addWidget(tabs_);
  top->addStretch(1);
  top->addWidget(legend);
  column->addLayout(top);
  column->addWidget(pages_, 1);
  addWidget(left);
  connect(tabs_, &QTabBar::currentChanged, this, [this, legend](int page) {
    legend->setVisible(page == static_cast<int>(Page::kIcicle));
    pages_->setCurrentIndex(page);
    emit PageChanged();
  });
  connect(icicle_->canvas(), &DiffCanvas::StackChosen, this, &DiffSites::ShowOfIcicle);
}

void DiffSites::SetPage(Page page) { tabs_->setCurrentIndex(static_cast<int>(page)); }
DiffSites::Page DiffSites::page() const { return static_cast<Page>(tabs_->currentIndex()); }

void DiffSites::BuildStack() {
  auto* right = new QWidget(this);
  auto* column = new QVBoxLayout(right);
  column->setContentsMargins(kSpace, 0, 0, 0);
  column->setSpacing(2);
  stack_title_ = new QLabel(tr("Call stack"), right);
  stack_title_->setWordWrap(true);
  stack_view_ = MakeDiffTable(stack_, tr("Call stack of the chosen row"), right);
  stack_view_->header()->setSectionResizeMode(StackModel::kFunction, QHeaderView::Stretch);
  connect(stack_view_, &QTreeView::activated, this, [this](const QModelIndex& index) {
    if (stack_->IsFold(index.row())) stack_->Unfold(index.row());
  });
  column->addWidget(stack_title_);
  column->addWidget(stack_view_, 1);
  addWidget(right);
}

void DiffSites::SetData(std::shared_ptr<const DiffData> found, bool own_is_before) {
  own_is_before_ = own_is_before;
  following_ = true;
  stack_job_.Cancel();
  stack_->Clear();
  stack_title_->setText(tr("Call stack"));
  // Two moments of one run have the same figures of a steady step.
  table_->setColumnHidden(DiffModel::kStep, found != nullptr && found->question.moments);
  model_->SetData(found);
  following_ = false;
  icicle_->SetData(std::move(found), own_is_before);
  FitColumns();
  if (model_->shown() == nullptr) return;
  Follow();
  if (table_->currentIndex().isValid() || model_->rowCount() == 0) return;
  following_ = true;  // shown, but not made the selection of the other views
  table_->setCurrentIndex(sorted_->index(0, 0));
  following_ = false;
}

void DiffSites::resizeEvent(QResizeEvent* event) {
  QSplitter::resizeEvent(event);
  FitColumns();
}

// Wider if there is space: the name gets the rest.
void DiffSites::FitColumns() {
  const int most = fontMetrics().averageCharWidth() * 30;
  table_->header()->resizeSection(DiffModel::kBar, std::clamp(table_->width() / 8, 90, most));
  table_->resizeColumnToContents(DiffModel::kNote);
  FitNames(table_, DiffModel::kName);
  // Functions get at least half of the stack's width.
  stack_view_->resizeColumnToContents(StackModel::kPlace);
  const int place = stack_view_->columnWidth(StackModel::kPlace);
  stack_view_->setColumnWidth(StackModel::kPlace, std::min(place, stack_view_->width() / 2));
}

void DiffSites::ShowRow(const QModelIndex& index) {
  const QModelIndex source = sorted_->mapToSource(index);
  if (!source.isValid()) return;
  const DiffRow& row = model_->row(source.row());
  const DiffQuestion& question = model_->shown()->question;
  const bool after = row.after_stack.valid();
  const analysis::StackId stack = after ? row.after_stack : row.before_stack;
  if (!stack.valid()) {
    stack_job_.Cancel();
    stack_->Clear();
    stack_title_->setText(question.by == DiffBy::kSite
                              ? tr("No call stack was recorded.")
                              : tr("A call stack belongs to a call site: choose “by call site”."));
  } else {
    ShowStack(stack, after,
              question.moments                    ? tr("Call stack")
              : after && row.before_stack.valid() ? tr("Call stack, as the run after has it")
              : after ? tr("Call stack of the run after; the run before did not allocate here")
                      : tr("Call stack of the run before; the run after did not allocate here"));
  }
  if (following_) return;
  const analysis::StackId own = own_is_before_ ? row.before_stack : row.after_stack;
  if (!own.valid()) return;
  following_ = true;
  selection_->SelectSite(own);
  following_ = false;
}

void DiffSites::ShowStack(analysis::StackId stack, bool after, const QString& title) {
  const DiffQuestion& question = model_->shown()->question;
  const auto symbols = after ? question.after.symbols : question.before.symbols;
  stack_title_->setText(title);
  using Frames = std::pair<std::vector<analysis::SourceFrame>, analysis::SourceFrame>;
  stack_job_.Start(
      [symbols, stack](std::stop_token) {
        return Frames(symbols->ResolveStack(stack), symbols->Site(stack));
      },
      [this](Frames frames) {
        stack_->SetFrames(std::move(frames.first), frames.second);
        FitColumns();
      });
}

// The costliest stack of a frame, whether or not the table has its call site.
void DiffSites::ShowOfIcicle(analysis::StackId stack, bool after) {
  if (model_->shown() == nullptr || !stack.valid()) return;
  ShowStack(stack, after,
            after ? tr("The costliest call stack through it")
                  : tr("The costliest call stack through it, of before: it is gone"));
}

void DiffSites::Follow() {
  const auto& found = model_->shown();
  if (following_ || found == nullptr || !selection_->site().valid()) return;
  const auto& rows =
      own_is_before_ ? found->report.alignment.before : found->report.alignment.after;
  if (rows.empty()) return;
  const int row = model_->FindPlace(analysis::StackAlignment::Of(rows, selection_->site()));
  if (row < 0) return;
  following_ = true;
  table_->setCurrentIndex(sorted_->mapFromSource(model_->index(row, 0)));
  table_->scrollTo(table_->currentIndex());
  following_ = false;
}

void DiffSites::WriteCsv(QTextStream* out) const {
  if (page() == Page::kIcicle) return icicle_->WriteCsv(out);
  *out << "what,before_bytes,after_bytes,change_bytes,change_blocks,change_in_a_step_bytes,note\n";
  for (int i = 0; i < sorted_->rowCount(); ++i) {
    const QModelIndex source = sorted_->mapToSource(sorted_->index(i, 0));
    const DiffRow& row = model_->row(source.row());
    *out << CsvField(row.name) << ',' << row.before << ',' << row.after << ',' << row.change()
         << ',' << row.blocks << ',' << CsvNumber(row.step) << ','
         << CsvField(source.siblingAtColumn(DiffModel::kNote).data().toString()) << '\n';
  }
}

}  // namespace memprof::viewer
