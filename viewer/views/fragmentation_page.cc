// Holes: pools over time, and which blocks pin which hole.
#include "viewer/views/fragmentation_page.h"

#include <QEvent>
#include <QHBoxLayout>
#include <QPushButton>
#include <QScrollArea>
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "analysis/store/allocation_set.h"
#include "viewer/geometry/units.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/fragmentation_plot.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

// For rich text: never broken into lines.
QString Unbroken(QString text) { return text.replace(QLatin1Char(' '), QStringLiteral("&nbsp;")); }

}  // namespace

FragmentationPage::FragmentationPage(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kSpace, 0, 0);
  column->setSpacing(kSpace);
  auto* head = new QHBoxLayout();
  summary_ = new RichLabel(this);
  worst_ = new QPushButton(tr("Worst instant"), this);
  worst_->setToolTip(tr("Goes to the instant at which most memory was free and pinned (red mark)"));
  worst_->setEnabled(false);
  head->addWidget(summary_, 1);
  head->addWidget(worst_, 0, Qt::AlignTop);
  column->addLayout(head);
  auto* splitter = new QSplitter(Qt::Vertical, this);
  splitter->setChildrenCollapsible(false);
  scroll_ = new QScrollArea(splitter);
  scroll_->setWidgetResizable(true);
  scroll_->setFrameShape(QFrame::NoFrame);
  scroll_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  plot_ = new FragmentationPlot(document, selection, scroll_);
  scroll_->setWidget(plot_);
  tabs_ = new QTabWidget(splitter);
  tabs_->setDocumentMode(true);
  pin_rows_ = new FactTable(PinColumns(), this);
  hole_rows_ = new FactTable(HoleColumns(), this);
  pins_ = new FactView(pin_rows_, 4, tabs_);
  pins_->setAccessibleName(tr("Blocks that separate free memory"));
  holes_ = new FactView(hole_rows_, 2, tabs_);
  holes_->setAccessibleName(tr("Holes, the largest first"));
  holes_->SetWide(3);
  pins_->SetWide(5);
  tabs_->addTab(pins_, tr("Blocks that pin"));
  tabs_->addTab(holes_, tr("Holes"));
  splitter->addWidget(scroll_);
  splitter->addWidget(tabs_);
  splitter->setStretchFactor(0, 3);
  splitter->setStretchFactor(1, 2);
  splitter->setSizes({330, 260});
  column->addWidget(splitter, 1);
  const auto choose = [this](const FactRow& row) {
    following_ = true;
    selection_->SelectAllocation(row.allocation, row.site);
    following_ = false;
  };
  for (FactView* view : {pins_, holes_}) connect(view, &FactView::Chosen, this, choose);
  connect(worst_, &QPushButton::clicked, this, &FragmentationPage::GoToWorst);
  connect(selection, &Selection::SelectionChanged, this, &FragmentationPage::Follow);
  connect(document, &Document::PassingChanged, this, &FragmentationPage::FillTables);
  connect(selection, &Selection::DeviceChanged, this, &FragmentationPage::FillSummary);
}

void FragmentationPage::Refresh() {
  AskPools();
  AskHoles();
}

void FragmentationPage::AskPools() {
  if (document_->session() == shown_) return;
  // For a log that grows, waits for the running job, and shows the previous content until then.
  const bool grew = pools_ != nullptr && document_->grew();
  if (grew && pools_job_.running()) return;
  shown_ = document_->session();
  shown_history_ = document_->fragmentation();
  shown_symbols_ = document_->symbols();
  at_instant_.reset();
  if (!grew) {
    pools_job_.Cancel();
    pools_.reset();
    plot_->SetPicture(nullptr);
    plot_->SetProgress(0);
    FillTables();
    FillSummary();
  }
  if (shown_ == nullptr) return;
  const auto report = pools_job_.Reporter([this](double share) { plot_->SetProgress(share); });
  pools_job_.Start([session = shown_, report](
                       std::stop_token stop) { return MakePoolsPicture(*session, report, stop); },
                   [this](std::shared_ptr<const PoolsPicture> pools) {
                     pools_ = std::move(pools);
                     plot_->SetPicture(pools_);
                     FillSummary();
                   });
}

void FragmentationPage::AskHoles() {
  if (shown_ == nullptr) {
    holes_job_.Cancel();
    return;
  }
  const int device = selection_->device();
  const analysis::TimeNs time = selection_->instant();
  if (at_instant_ != nullptr && at_instant_->device == device && at_instant_->time == time &&
      !holes_job_.running())
    return;
  holes_job_.Start(
      [history = shown_history_, symbols = shown_symbols_, device, time](std::stop_token) {
        return MakeHolesPicture(*history, *symbols, device, time);
      },
      [this](std::shared_ptr<const HolesPicture> picture) {
        at_instant_ = std::move(picture);
        FillTables();
        FillSummary();
      });
}

void FragmentationPage::FillTables() {
  std::vector<FactRow> pins, holes;
  const analysis::AllocationSet* passing = document_->passing().get();
  if (at_instant_ != nullptr) {
    for (const FactRow& row : at_instant_->pin_rows)
      if (Passes(passing, row.allocation)) pins.push_back(row);
    for (const FactRow& row : at_instant_->hole_rows)
      if (!row.allocation.valid() || Passes(passing, row.allocation)) holes.push_back(row);
  }
  tabs_->setTabText(
      0, pins.empty() ? tr("Blocks that pin") : tr("Blocks that pin (%1)").arg(pins.size()));
  tabs_->setTabText(1, holes.empty() ? tr("Holes") : tr("Holes (%1)").arg(holes.size()));
  pin_rows_->SetRows(std::move(pins), 0);
  hole_rows_->SetRows(std::move(holes), 0);
  Follow();
}

void FragmentationPage::FillSummary() {
  const Theme theme = Theme::From(palette());
  worst_->setEnabled(pools_ != nullptr && pools_->Worst(selection_->device()) != nullptr);
  // Without pools, the plot shows a text.
  const bool any = pools_ == nullptr || !pools_->Of(selection_->device()).empty();
  // The positions within the driver's own pools are not known.
  tabs_->setVisible(pools_ == nullptr || pools_->HasSegments(selection_->device()));
  worst_->setVisible(any);
  if (at_instant_ == nullptr || !any) {
    summary_->setText(any ? tr("Looking for holes …") : QString());
    return;
  }
  const auto part = [&](const QString& caption, const QString& value) {
    return QStringLiteral("<span style='color:%1'>%2</span>&nbsp;<b>%3</b>&nbsp;&nbsp; ")
        .arg(theme.muted.name(), Unbroken(caption), Unbroken(value));
  };
  const HolesPicture& at = *at_instant_;
  const analysis::TimeNs start = document_->bounds().begin;
  QString text = part(tr("at"), at.step >= 0 ? tr("step %1").arg(at.step)
                                             : FormatDuration(at.time - std::min(at.time, start))) +
                 part(tr("cached in segments"), FormatBytes(at.free_bytes)) +
                 part(tr("largest hole"), FormatBytes(at.largest_hole)) +
                 part(tr("holes"), FormatCount(at.holes)) +
                 part(tr("releasable"), FormatBytes(at.releasable));
  summary_->setText(text);
}

void FragmentationPage::GoToWorst() {
  const analysis::FragmentationPoint* worst =
      pools_ == nullptr ? nullptr : pools_->Worst(selection_->device());
  if (worst != nullptr) selection_->SetInstant(worst->time);
}

void FragmentationPage::Follow() {
  if (following_) return;
  pins_->Show(pin_rows_->Find(selection_->allocation(), {}));
  holes_->Show(hole_rows_->Find(selection_->allocation(), {}));
}

QString FragmentationPage::SummaryText() const { return summary_->text(); }

bool FragmentationPage::WriteCsv(QTextStream* out) const {
  return (tabs_->currentWidget() == holes_ ? holes_ : pins_)->WriteCsv(out);
}

void FragmentationPage::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange && document_->session() != nullptr) FillSummary();
}

}  // namespace memprof::viewer
