// The evidence of the chosen leak: why it is thought to be one, when its survivors were last used,
// by which step they were born, their call stack, and what holds them.
#include <QLabel>
#include <QScrollArea>
#include <QVBoxLayout>
#include <algorithm>
#include <memory>

#include "analysis/leaks/forecast.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/survivor_chart.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

QWidget* LeakView::BuildEvidence() {
  auto* evidence = new QWidget(this);
  auto* row = new QHBoxLayout(evidence);
  row->setContentsMargins(0, kSpace, 0, 0);
  row->setSpacing(2 * kSpace);
  // The texts and the chart keep their heights in a low window.
  auto* scroll = new QScrollArea(evidence);
  scroll->setWidgetResizable(true);
  scroll->setFrameShape(QFrame::NoFrame);
  scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  auto* page = new QWidget(scroll);
  auto* left = new QVBoxLayout(page);
  left->setContentsMargins(0, 0, kSpace, 0);
  why_ = new QLabel(page);
  why_->setWordWrap(true);
  why_->setTextFormat(Qt::RichText);
  why_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
  QSizePolicy whole(QSizePolicy::Preferred,
                    QSizePolicy::Minimum);  // the chart is cut before the text
  whole.setHeightForWidth(true);
  why_->setSizePolicy(whole);
  why_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  chart_ = new SurvivorChart(page);
  left->addWidget(why_);
  left->addWidget(chart_, 8);
  left->addStretch(1);
  scroll->setWidget(page);
  scroll->viewport()->setAutoFillBackground(false);
  page->setAutoFillBackground(false);
  row->addWidget(scroll, 3);
  auto* right = new QVBoxLayout();
  stack_ = new StackView(document_, selection_, evidence);
  holders_ = new HolderView(document_, HolderView::Height::kFitted, evidence);
  right->addWidget(stack_, 1);
  right->addWidget(holders_, 1);
  right->addStretch(0);
  row->addLayout(right, 2);
  return evidence;
}

QString LeakView::EvidenceText() const { return why_->text(); }

QString LeakView::StalenessText(const LeakRow& row) const {
  const analysis::SurvivorFacts* facts = FactsOf(row);
  if (facts == nullptr || !row.leak.example.valid()) return {};
  if (!survivors_.uses_known) return tr("looking …");
  const auto uses = access_->Ask();
  const analysis::Session& session = *document_->session();
  const analysis::AllocationRecord& example = session.record(row.leak.example);
  if (uses == nullptr) return {};
  if (!uses->accesses.EvidenceFor(example).any())
    return tr("unknown: no kernel or copy was recorded.");
  if (facts->used == 0) return tr("no use of a survivor was recorded.");
  const analysis::TimeNs time = session.events().time(facts->last_use.value);
  const QString ago =
      FormatDuration(document_->bounds().end - std::min(time, document_->bounds().end));
  const std::int64_t step = session.StepOf(facts->last_use);
  return (step < 0 ? tr("%1 before the end").arg(ago)
                   : tr("in step %1, %2 before the end").arg(step).arg(ago)) +
         tr(", of the latest of %1 of %2 survivors that were used at all.")
             .arg(FormatCount(facts->used), FormatCount(facts->blocks));
}

QString LeakView::HoldersText(const analysis::Leak& leak, const Theme& theme) {
  constexpr std::size_t kMost = 2;  // all are in the tree beside it
  QString text;
  for (std::size_t i = 0; i < std::min(kMost, leak.holders.size()); ++i) {
    const analysis::Holder& holder = leak.holders[i];
    const QString line = tr("%1, %2 in %3")
                             .arg(WordsHtml(holder.path), FormatBytes(holder.bytes),
                                  FormatPlural(holder.blocks, tr("block")));
    text += RichParagraph(theme, text.isEmpty() ? tr("Held by:") : tr("and:"), line);
  }
  if (leak.holders.size() > kMost)
    text += Paragraph(theme, tr("and"), tr("%1 more").arg(leak.holders.size() - kMost));
  return text;
}

void LeakView::ShowEvidence(const LeakRow& row) {
  const Theme theme = Theme::From(palette());
  const auto paragraph = [&](const QString& caption, const QString& text) {
    return Paragraph(theme, caption, text);
  };
  QString text = HoldersText(row.leak, theme);
  text += paragraph(tr("Why:"), Words(row.leak.why));
  text += paragraph(tr("What would disprove it:"), Words(row.leak.disproof));
  text += paragraph(tr("Last used:"), StalenessText(row));
  text += paragraph(tr("For instance:"), row.example);
  if (row.leak.steps_to_oom >= 0) {
    const QString when = ToQString(analysis::StepsAhead(row.leak.steps_to_oom));
    text += paragraph(tr("Out of memory:"), tr("%1 at this rate").arg(when));
  }
  if (text.isEmpty())
    text = paragraph(QString(), row.rising ? RisingMeaning() : TierMeaning(row.leak.tier));
  why_->setText(text);
}

void LeakView::ShowLeak(const QModelIndex& index) {
  const LeakRow* row = model_->leak(index);
  suppress_->setEnabled(row != nullptr);
  if (row == nullptr) return;
  evidence_->setVisible(true);
  ShowEvidence(*row);
  chart_->SetLeak(row, static_cast<std::int64_t>(document_->report()->report.steps));
  // Without steps there is nothing to draw them by.
  chart_->setVisible(!row->leak.survivors.empty() && !chart_->Bars().empty());
  stack_->SetFrames(row->stack, row->site, row->leak.stack);
  const QString memory = QStringLiteral("%1, %2").arg(FormatPlural(row->leak.blocks, tr("block")),
                                                      FormatBytes(row->leak.bytes));
  holders_->ShowBlocks(std::make_shared<const analysis::HolderTree>(row->leak.held_by),
                       {memory, row->leak.bytes, row->leak.blocks});
  if (following_) return;
  following_ = true;
  selection_->SelectAllocation(row->leak.example, row->leak.stack);
  following_ = false;
}

}  // namespace memprof::viewer
