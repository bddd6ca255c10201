// Suspected leaks by tier, with their evidence.
#include "viewer/views/leak_view.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QSplitter>
#include <QTreeView>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/views/bar_delegate.h"
#include "viewer/views/survivor_chart.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

LeakView::LeakView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  column->setSpacing(kSpace);
  verdict_ = new QLabel(tr("Judging what survives …"), this);
  verdict_->setWordWrap(true);
  column->addWidget(verdict_);
  model_ = new LeakModel(this);
  table_ = new QTreeView(this);
  table_->setModel(model_);
  table_->setUniformRowHeights(true);
  table_->setAlternatingRowColors(true);
  table_->setFrameShape(QFrame::NoFrame);
  table_->setAllColumnsShowFocus(true);
  table_->setTextElideMode(Qt::ElideMiddle);
  table_->setItemDelegate(new BarDelegate(LeakModel::kShareRole, table_));
  table_->header()->setStretchLastSection(false);
  table_->header()->setSectionResizeMode(QHeaderView::ResizeToContents);
  table_->header()->setSectionResizeMode(LeakModel::kSite, QHeaderView::Stretch);
  table_->header()->setSectionResizeMode(LeakModel::kExample, QHeaderView::Stretch);
  splitter_ = new QSplitter(Qt::Vertical, this);
  splitter_->setChildrenCollapsible(false);
  splitter_->addWidget(table_);
  evidence_ = BuildEvidence();
  splitter_->addWidget(evidence_);
  splitter_->setStretchFactor(0, 2);
  splitter_->setStretchFactor(1, 3);
  column->addWidget(splitter_, 1);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& index) { ShowLeak(index); });
  connect(document, &Document::ReportReady, this, &LeakView::Fill);
  connect(document, &Document::StateChanged, this, &LeakView::Fill);
  connect(selection, &Selection::SelectionChanged, this, &LeakView::Follow);
}

QWidget* LeakView::BuildEvidence() {
  auto* evidence = new QWidget(this);
  auto* row = new QHBoxLayout(evidence);
  row->setContentsMargins(0, kSpace, 0, 0);
  row->setSpacing(2 * kSpace);
  auto* left = new QVBoxLayout();
  why_ = new QLabel(evidence);
  why_->setWordWrap(true);
  why_->setTextFormat(Qt::RichText);
  why_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  why_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  chart_ = new SurvivorChart(evidence);
  left->addWidget(why_);
  left->addWidget(chart_, 8);
  left->addStretch(1);
  row->addLayout(left, 3);
  stack_ = new StackModel(this);
  stack_view_ = new QTreeView(evidence);
  stack_view_->setModel(stack_);
  stack_view_->setRootIsDecorated(false);
  stack_view_->setUniformRowHeights(true);
  stack_view_->setAlternatingRowColors(true);
  stack_view_->setFrameShape(QFrame::NoFrame);
  stack_view_->setTextElideMode(Qt::ElideMiddle);
  stack_view_->header()->setStretchLastSection(false);
  stack_view_->header()->setSectionResizeMode(StackModel::kFunction, QHeaderView::Stretch);
  stack_view_->header()->setSectionResizeMode(StackModel::kPlace, QHeaderView::ResizeToContents);
  stack_view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  QAction* copy = stack_view_->addAction(tr("Copy stack"));
  connect(copy, &QAction::triggered, this,
          [this] { QApplication::clipboard()->setText(stack_->Text()); });
  row->addWidget(stack_view_, 2);
  return evidence;
}

void LeakView::Fill() {
  const auto& report = document_->report();
  chart_->SetLeak(nullptr, 0);
  stack_->Clear();
  evidence_->setVisible(false);
  model_->SetReport(report);
  if (report == nullptr) {
    verdict_->setText(tr("Judging what survives …"));
    return;
  }
  verdict_->setText(ToQString(report->report.leaks.verdict));
  table_->expandAll();
  FitTable();
  if (model_->rowCount() == 0) return;
  // The worst one first, without making it the selection of the other views.
  following_ = true;
  table_->setCurrentIndex(model_->index(0, 0, model_->index(0, 0)));
  following_ = false;
}

void LeakView::FitTable() {
  int rows = 1;  // the header, and a little air below the last row
  for (int tier = 0; tier < model_->rowCount(); ++tier) {
    rows += 1 + model_->rowCount(model_->index(tier, 0));
  }
  const int row = std::max(fontMetrics().height() + kSpace, table_->sizeHintForRow(0));
  const int all = splitter_->height();
  const int wanted = std::clamp(row * rows + 2 * kSpace, 4 * row, std::max(4 * row, all * 2 / 5));
  splitter_->setSizes({wanted, std::max(1, all - wanted)});
}

void LeakView::resizeEvent(QResizeEvent* event) {
  View::resizeEvent(event);
  layout()->activate();
  FitTable();
}

void LeakView::Follow() {
  const QModelIndex index = model_->FindSite(selection_->site());
  if (!index.isValid() || following_) return;
  following_ = true;
  table_->setCurrentIndex(index);
  table_->scrollTo(index);
  following_ = false;
}

QString LeakView::EvidenceText() const { return why_->text(); }

void LeakView::ShowLeak(const QModelIndex& index) {
  const LeakRow* row = model_->leak(index);
  if (row == nullptr) return;
  evidence_->setVisible(true);
  const Theme theme = Theme::From(palette());
  const auto paragraph = [&](const QString& caption, const QString& text) {
    if (text.isEmpty()) return QString();
    return QStringLiteral("<p style='margin:0 0 6px 0'><span style='color:%1'>%2</span> %3</p>")
        .arg(theme.muted.name(), caption, text.toHtmlEscaped());
  };
  QString text = paragraph(tr("Why:"), ToQString(row->leak.why));
  text += paragraph(tr("What would disprove it:"), ToQString(row->leak.disproof));
  text += paragraph(tr("For instance:"), row->example);
  if (row->leak.steps_to_oom > 0) {
    text += paragraph(
        tr("Out of memory:"),
        tr("in about %1 at this rate")
            .arg(FormatPlural(static_cast<std::uint64_t>(row->leak.steps_to_oom), tr("step"))));
  }
  if (text.isEmpty()) text = paragraph(QString(), TierMeaning(row->leak.tier));
  why_->setText(text);
  chart_->SetLeak(row, static_cast<std::int64_t>(document_->report()->report.steps));
  chart_->setVisible(!row->leak.survivors.empty());
  stack_->SetFrames(row->stack, row->site);
  if (following_) return;
  following_ = true;
  selection_->SelectAllocation(row->leak.example, row->leak.stack);
  following_ = false;
}

}  // namespace memprof::viewer
