// The details of a chosen finding: its saving, the evidence, what to change, what is affected.
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QLabel>
#include <QPushButton>
#include <QScrollArea>
#include <QTabWidget>
#include <QTreeView>
#include <QVBoxLayout>

#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/views/add_action.h"
#include "viewer/views/advice_view.h"
#include "viewer/views/byte_bars_widget.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/table_setup.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

QString StepsText(const analysis::Finding& f) {
  if (f.last_step < 0) return {};
  const QString first = f.first_step < 0 ? AdviceView::tr("set-up") : QString::number(f.first_step);
  return f.first_step == f.last_step ? AdviceView::tr(", step %1").arg(first)
                                     : AdviceView::tr(", steps %1…%2").arg(first).arg(f.last_step);
}

QString WhereText(const analysis::Finding& f) {
  if (f.pattern == analysis::Pattern::kSetting)
    return FormatPlural(f.count, AdviceView::tr("setting"));
  const QString device = f.device == analysis::kNoDevice
                             ? AdviceView::tr("host")
                             : AdviceView::tr("device %1").arg(f.device);
  return AdviceView::tr("%1, %2%3, %4 in %5")
      .arg(device, ToQString(LayerName(f.layer)), StepsText(f), FormatBytes(f.bytes),
           FormatPlural(f.count, AdviceView::tr("case")));
}

}  // namespace

QWidget* AdviceView::BuildDetails() {
  auto* details = new QWidget(this);
  auto* row = new QHBoxLayout(details);
  row->setContentsMargins(0, kSpace, 0, 0);
  row->setSpacing(2 * kSpace);
  row->addWidget(BuildSheet(details), 1);
  row->addWidget(BuildTabs(details), 1);
  return details;
}

QWidget* AdviceView::BuildSheet(QWidget* parent) {
  auto* scroll = new QScrollArea(parent);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* sheet = new QWidget(scroll);
  sheet->setBackgroundRole(QPalette::Base);
  auto* column = new QVBoxLayout(sheet);
  column->setContentsMargins(0, 0, kSpace, 0);
  title_ = new QLabel(sheet);
  title_->setWordWrap(true);
  peak_ = new ByteBarsWidget(sheet);
  peak_->setAccessibleName(tr("The peak as it was, and as it would be"));
  text_ = new QLabel(sheet);
  text_->setWordWrap(true);
  text_->setTextFormat(Qt::RichText);
  text_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  text_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  only_ = new QPushButton(tr("Show only this site"), sheet);
  only_->setToolTip(tr("Filters every view to the memory of this call site (undo: Alt+←)"));
  column->addWidget(title_);
  column->addWidget(peak_);
  column->addWidget(text_);
  column->addWidget(only_, 0, Qt::AlignLeft);
  column->addStretch(1);
  scroll->setWidget(sheet);
  connect(only_, &QPushButton::clicked, this, &AdviceView::OnlyThisSite);
  connect(peak_, &ByteBarsWidget::PartClicked, this, [this] {
    const AdviceEntry* entry = model_->entry(table_->currentIndex());
    if (entry != nullptr && entry->peak_time) selection_->SetInstant(*entry->peak_time);
  });
  return scroll;
}

QWidget* AdviceView::BuildTabs(QWidget* parent) {
  tabs_ = new QTabWidget(parent);
  tabs_->setDocumentMode(true);
  affected_rows_ = new FactTable(AffectedColumns(), this);
  affected_ = new FactView(affected_rows_, 3, tabs_);
  affected_->setAccessibleName(tr("What the finding is about"));
  stack_ = new StackModel(this);
  stack_view_ = new QTreeView(tabs_);
  stack_view_->setModel(stack_);
  SetUpTable(stack_view_, -1);
  stack_view_->setRootIsDecorated(false);
  stack_view_->header()->setSectionResizeMode(StackModel::kFunction, QHeaderView::Stretch);
  stack_view_->setContextMenuPolicy(Qt::ActionsContextMenu);
  connect(AddAction(stack_view_, tr("Copy stack")), &QAction::triggered, this,
          [this] { QApplication::clipboard()->setText(stack_->Text()); });
  notes_ = new QLabel(tabs_);
  notes_->setWordWrap(true);
  notes_->setMargin(kSpace);
  notes_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  notes_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  tabs_->addTab(affected_, tr("Affected"));
  tabs_->addTab(stack_view_, tr("Call stack"));
  tabs_->addTab(notes_, tr("Not known"));
  const auto go = [this](const FactRow& fact, bool instant) {
    following_ = true;
    if (instant && fact.time) selection_->SetInstant(*fact.time);
    selection_->SelectAllocation(fact.allocation, fact.site);
    following_ = false;
  };
  connect(affected_, &FactView::Chosen, this, [go](const FactRow& fact) { go(fact, false); });
  connect(affected_, &FactView::Opened, this, [go](const FactRow& fact) { go(fact, true); });
  connect(stack_view_, &QTreeView::activated, this, [this](const QModelIndex& index) {
    if (stack_->IsFold(index.row())) return stack_->Unfold(index.row());
    const AdviceEntry* entry = model_->entry(table_->currentIndex());
    if (entry != nullptr) selection_->SelectSite(entry->finding.stack);
  });
  return tabs_;
}

QString AdviceView::DetailText() const { return text_->text(); }

void AdviceView::ShowPeak(const AdviceEntry& entry) {
  const analysis::Finding& f = entry.finding;
  peak_->setVisible(f.peak_of.has_value());
  if (!f.peak_of) return;
  ByteBar before, after;
  before.label = tr("Peak now");
  before.value = FormatBytes(entry.peak_before);
  before.parts.push_back({tr("stays"), f.new_peak.bytes, PartStyle::kAccent, -1, {}, {}});
  before.parts.push_back({tr("saved"),
                          f.saves_bytes,
                          PartStyle::kHole,
                          -1,
                          tr("%1 less, if all of it were changed").arg(FormatBytes(f.saves_bytes)),
                          {}});
  after.label = f.upper_bound ? tr("At best") : tr("If done");
  after.value = FormatBytes(f.new_peak.bytes);
  QString tip = tr("The peak would be %1").arg(FormatBytes(f.new_peak.bytes));
  if (entry.peak_step >= 0) tip += tr(", in step %1 (click goes there)").arg(entry.peak_step);
  QString name;
  if (entry.peak_step >= 0) name = tr("step %1").arg(entry.peak_step);
  after.parts.push_back({name, f.new_peak.bytes, PartStyle::kGood, -1, tip, {}});
  peak_->SetBars({before, after});
}

void AdviceView::ShowFinding(const QModelIndex& index) {
  const AdviceEntry* entry = model_->entry(index);
  if (entry == nullptr || shown_ == nullptr) return;
  const Theme theme = Theme::From(palette());
  const analysis::Finding& f = entry->finding;
  QString name = ToQString(PatternName(f.pattern));
  name[0] = name[0].toUpper();
  title_->setText(QStringLiteral("<b>%1</b>  %2").arg(name, entry->site.toHtmlEscaped()));
  ShowPeak(*entry);
  QString text = Paragraph(theme, tr("Gain:"), GainText(*entry) + QLatin1Char('.'));
  text += RichParagraph(theme, tr("Seen:"), WordsHtml(f.why));
  text += RichParagraph(theme, tr("Change:"), WordsHtml(f.fix));
  if (f.pattern == analysis::Pattern::kIdle)
    text += Paragraph(theme, tr("Costs:"), tr("time, for bringing it back: a trade-off."));
  text += RichParagraph(theme, tr("Assumes:"), WordsHtml(f.assumption));
  text += Paragraph(theme, tr("Sure:"), ToQString(ConfidenceName(f.confidence)));
  text += Paragraph(theme, tr("Where:"), WhereText(f));
  text_->setText(text);
  only_->setVisible(f.stack.valid());
  const std::vector<FactRow> rows = AffectedRows(*shown_, *entry);
  tabs_->setTabText(0, f.count > rows.size()
                           ? tr("Affected (%1 of %2)").arg(rows.size()).arg(FormatCount(f.count))
                           : tr("Affected (%1)").arg(rows.size()));
  affected_rows_->SetRows(rows, 0);
  stack_->SetFrames(entry->stack, entry->frame);
  tabs_->setTabEnabled(1, !entry->stack.empty());
  if (following_) return;
  following_ = true;
  selection_->SelectAllocation(rows.empty() ? analysis::AllocationId() : rows.front().allocation,
                               f.stack);
  following_ = false;
}

}  // namespace memprof::viewer
