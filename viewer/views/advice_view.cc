// The list of findings, best first. Details of a chosen one are in advice_details.cc.
#include "viewer/views/advice_view.h"

#include <QAction>
#include <QApplication>
#include <QCheckBox>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLabel>
#include <QProgressBar>
#include <QSplitter>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/add_action.h"
#include "viewer/views/csv.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/page.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

AdviceView::AdviceView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  QVBoxLayout* column = PageColumn(this);
  column->addWidget(BuildHead());
  progress_ = new QProgressBar(this);
  progress_->setTextVisible(false);
  progress_->setMaximumHeight(4);
  progress_->setRange(0, 1000);
  progress_->hide();
  column->addWidget(progress_);
  model_ = new AdviceModel(this);
  table_ = new QTreeView(this);
  table_->setModel(model_);
  SetUpTable(table_, AdviceModel::kShareRole);
  table_->setIndentation(kSpace);
  table_->setRootIsDecorated(false);
  table_->setAccessibleName(tr("Findings"));
  table_->header()->setSectionResizeMode(AdviceModel::kSite, QHeaderView::Stretch);
  table_->header()->setSortIndicator(-1, Qt::DescendingOrder);
  table_->header()->setSortIndicatorClearable(true);
  table_->setSortingEnabled(true);
  table_->setContextMenuPolicy(Qt::ActionsContextMenu);
  QAction* copy = AddAction(table_, tr("Copy finding"));
  copy->setShortcut(QKeySequence::Copy);
  copy->setShortcutContext(Qt::WidgetShortcut);
  connect(copy, &QAction::triggered, this, [this] {
    const AdviceEntry* entry = model_->entry(table_->currentIndex());
    if (entry != nullptr)
      QApplication::clipboard()->setText(model_->RawRow(*entry).join(QLatin1Char('\t')));
  });
  connect(AddAction(table_, tr("Show only this site, in all views")), &QAction::triggered, this,
          &AdviceView::OnlyThisSite);
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->setChildrenCollapsible(false);
  splitter_->addWidget(table_);
  details_ = BuildDetails();
  splitter_->addWidget(details_);
  splitter_->setStretchFactor(0, 2);
  splitter_->setStretchFactor(1, 3);
  splitter_->setSizes({200, 340});
  column->addWidget(splitter_, 1);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) { ShowFinding(index); });
  // Another order creates new rows: chooses the same finding again.
  connect(model_, &QAbstractItemModel::modelReset, this, &AdviceView::ChooseFirst);
  connect(document, &Document::StateChanged, this, [this] { Invalidate(); });
  connect(document, &Document::ReportReady, this, [this] { Invalidate(); });
  connect(document, &Document::PassingChanged, this, [this] { Invalidate(); });
  connect(selection, &Selection::SelectionChanged, this, &AdviceView::Follow);
  details_->hide();
}

QWidget* AdviceView::BuildHead() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(kSpace);
  summary_ = new QLabel(tr("Looking for what could be saved …"), head);
  summary_->setWordWrap(true);
  noise_ = new QCheckBox(tr("Small ones too"), head);
  noise_->setToolTip(tr("Also findings that weigh less than 0.1 % of the peak"));
  grouping_ = new QComboBox(head);
  // In the order of AdviceGrouping.
  grouping_->addItems({tr("By cost"), tr("By pattern"), tr("By call site")});
  grouping_->setAccessibleName(tr("How findings are grouped"));
  row->addWidget(summary_, 1);
  row->addWidget(noise_, 0, Qt::AlignTop);
  row->addWidget(grouping_, 0, Qt::AlignTop);
  connect(noise_, &QCheckBox::toggled, this, [this](bool shown) {
    model_->SetNoiseShown(shown);
    FillSummary();
  });
  connect(grouping_, &QComboBox::currentIndexChanged, this,
          [this](int index) { model_->SetGrouping(static_cast<AdviceGrouping>(index)); });
  return head;
}

void AdviceView::FitTable() {
  int rows = 0;
  for (int i = 0; i < model_->rowCount(); ++i) rows += 1 + model_->rowCount(model_->index(i, 0));
  SetUpperRows(splitter_, table_, rows, 3, splitter_->height() * 2 / 5);
}

void AdviceView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  FitTable();
}

void AdviceView::Refresh() {
  Ask();
  AskPassing();
}

void AdviceView::Ask() {
  if (document_->session() == shown_) return;
  // For a log that grows, waits for the running job, and shows the previous content until then.
  const bool grew = picture_ != nullptr && document_->grew();
  if (grew && job_.running()) return;
  if (!grew) {
    job_.Cancel();
    Show(nullptr);
    summary_->setText(tr("Looking for what could be saved …"));
  }
  // One after the other: each needs memory of its own while it works.
  if (document_->session() == nullptr || document_->report() == nullptr) return;
  shown_ = document_->session();
  progress_->setValue(0);
  progress_->show();
  const auto report =
      job_.Reporter([this](double share) { progress_->setValue(static_cast<int>(1000 * share)); });
  job_.Start(
      [session = shown_, symbols = document_->symbols(), report](std::stop_token stop) {
        return MakeAdvicePicture(*session, *symbols, report, stop);
      },
      [this](std::shared_ptr<const AdvicePicture> picture) { Show(std::move(picture)); });
}

void AdviceView::Show(std::shared_ptr<const AdvicePicture> picture) {
  picture_ = std::move(picture);
  progress_->hide();
  model_->SetPicture(picture_);
  table_->expandAll();
  if (picture_ == nullptr) return;
  AskPassing();
  Ask();  // the log may have grown meanwhile
}

void AdviceView::AskPassing() {
  if (picture_ == nullptr) return;
  if (document_->passing() == nullptr) {
    passing_job_.Cancel();
    if (model_->filters()) model_->SetPassing(nullptr);
    FillSummary();
    return;
  }
  passing_job_.Start(
      [session = shown_, symbols = document_->symbols(), picture = picture_,
       passing = document_->passing()](std::stop_token) {
        return std::make_shared<const std::vector<bool>>(
            PassingEntries(*session, *symbols, *picture, *passing));
      },
      [this](std::shared_ptr<const std::vector<bool>> passing) {
        model_->SetPassing(std::move(passing));
        FillSummary();
      });
}

QString AdviceView::SummaryText() const { return summary_->text(); }

void AdviceView::FillSummary() {
  if (picture_ == nullptr) return;
  const std::size_t shown = model_->shown();
  QString text = shown == 0
                     ? tr("Nothing to advise.")
                     : tr("%1, best first; each gain is exact on its own, they do not add up.")
                           .arg(FormatPlural(shown, tr("finding")));
  if (std::any_of(picture_->entries.begin(), picture_->entries.end(), [](const AdviceEntry& entry) {
        return analysis::IsRemedyOfPeak(entry.finding.pattern);
      }))
    text += tr(" Those of changes of the training are predictions.");
  if (model_->filtered() > 0)
    text += tr(" %1 more at sites that the filter leaves out.").arg(model_->filtered());
  if (picture_->hidden > 0 && !noise_->isChecked())
    text += tr(" %1 more below %2 (0.1 % of the peak).")
                .arg(picture_->hidden)
                .arg(FormatBytes(picture_->noise_bytes));
  const QString notes = picture_->notes.join(QStringLiteral("\n\n"));
  // Without findings there are no tabs: the text lists what could not be searched.
  if (shown == 0 && !notes.isEmpty()) text += QStringLiteral("\n\n") + notes;
  summary_->setText(text);
  summary_->setContentsMargins(0, 0, 0, 0);
  notes_->setText(notes);
  tabs_->setTabVisible(2, !notes.isEmpty());
  noise_->setEnabled(picture_->hidden > 0);
  table_->setVisible(shown > 0);
}

void AdviceView::ChooseFirst() {
  table_->expandAll();
  const QModelIndex same = model_->FindSite(selection_->site());
  const QModelIndex chosen = same.isValid() ? same : model_->First();
  details_->setVisible(chosen.isValid());
  FitTable();
  if (!chosen.isValid()) return;
  // This does not change the selection of the other views.
  following_ = true;
  table_->setCurrentIndex(chosen);
  following_ = false;
}

void AdviceView::Follow() {
  if (following_) return;
  const QModelIndex index = model_->FindSite(selection_->site());
  if (!index.isValid()) return;
  following_ = true;
  table_->setCurrentIndex(index);
  table_->scrollTo(index);
  following_ = false;
}

void AdviceView::OnlyThisSite() {
  const AdviceEntry* entry = model_->entry(table_->currentIndex());
  if (entry == nullptr || !entry->finding.stack.valid()) return;
  analysis::AllocationFilter filter = selection_->filter();
  filter.site = entry->finding.stack;
  selection_->SetFilter(filter);
}

bool AdviceView::WriteCsv(QTextStream* out) const {
  if (picture_ == nullptr) return false;
  WriteCsvLine(out, model_->Headings());
  for (int i = 0; i < model_->rowCount(); ++i) {
    const QModelIndex top = model_->index(i, 0);
    if (const AdviceEntry* entry = model_->entry(top)) WriteCsvLine(out, model_->RawRow(*entry));
    for (int j = 0; j < model_->rowCount(top); ++j)
      WriteCsvLine(out, model_->RawRow(*model_->entry(model_->index(j, 0, top))));
  }
  return model_->shown() > 0;
}

void AdviceView::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange) ShowFinding(table_->currentIndex());
  View::changeEvent(event);
}

}  // namespace memprof::viewer
