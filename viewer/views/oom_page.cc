// Failed requests.
#include "viewer/views/oom_page.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QTabWidget>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/byte_bars_widget.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

// The legend of the parts of a bar, in their colours, left to right.
QString LegendOf(const ByteBar& bar, const Theme& theme) {
  constexpr int kMaxLetters = 60;
  QString text;
  for (const ByteBarPart& part : bar.parts) {
    if (part.bytes == 0) continue;
    QString name = part.name.size() > kMaxLetters
                       ? part.name.left(kMaxLetters - 1) + QStringLiteral("…")
                       : part.name;
    name = QStringLiteral("%1 %2").arg(name, FormatBytes(part.bytes)).toHtmlEscaped();
    name.replace(QLatin1Char(':'), QStringLiteral(":\u2060"));  // no line break after a colon
    const bool solid = part.style == PartStyle::kCategorical;
    const QColor color = solid ? PartColor(theme, part.style, part.index) : theme.muted;
    const QString mark = solid                               ? QStringLiteral("■")
                         : part.style == PartStyle::kHole    ? QStringLiteral("▨")
                         : part.style == PartStyle::kUnknown ? QStringLiteral("▩")
                                                             : QStringLiteral("□");
    text += QStringLiteral("<span style='color:%1'>%2</span>&nbsp;%3&nbsp;&nbsp; ")
                .arg(color.name(), mark, name.replace(QLatin1Char(' '), QStringLiteral("&nbsp;")));
  }
  return QStringLiteral("<small>%1</small>").arg(text);
}

// Tables that get what is left, but no less than their minimum.
class LowTabs : public QTabWidget {
 public:
  using QTabWidget::QTabWidget;
  QSize sizeHint() const override { return minimumSizeHint(); }
};

}  // namespace

OomPage::OomPage(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, kSpace, 0, 0);
  column->setSpacing(kSpace);
  failure_rows_ = new FactTable(FailureColumns(), this);
  failures_ = new FactView(failure_rows_, 3, this);
  failures_->setAccessibleName(tr("Failed requests"));
  failures_->hide();
  verdict_ = new QLabel(tr("Looking for failed requests …"), this);
  verdict_->setWordWrap(true);
  verdict_->setTextFormat(Qt::RichText);
  verdict_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  go_ = new QPushButton(tr("Show this instant"), this);
  go_->setToolTip(tr("Puts the instant of all views to the moment of the failure"));
  auto* top = new QHBoxLayout();
  top->addWidget(verdict_, 1);
  top->addWidget(go_, 0, Qt::AlignTop);
  auto* head = new QHBoxLayout();
  space_title_ = new QLabel(this);
  by_ = new QComboBox(this);
  by_->addItems({tr("Live: by call site"), tr("Live: by category")});
  by_->setAccessibleName(tr("How live memory is divided"));
  head->addWidget(space_title_, 1);
  head->addWidget(by_);
  space_ = new ByteBarsWidget(this);
  space_->setAccessibleName(tr("Where every byte of the device was"));
  legend_ = new QLabel(this);
  legend_->setWordWrap(true);
  legend_->setTextFormat(Qt::RichText);
  scale_title_ = new QLabel(tr("The request and what was free, to scale"), this);
  scale_ = new ByteBarsWidget(this);
  scale_->setAccessibleName(scale_title_->text());
  tabs_ = new LowTabs(this);
  tabs_->setDocumentMode(true);
  tabs_->setMinimumHeight(9 * fontMetrics().height());
  remedies_ = AddTable(tr("Would it have fitted?"), &remedy_rows_, RemedyColumns(), 1);
  space_table_ = AddTable(tr("Every byte"), &space_rows_, SpaceColumns(), 2);
  live_ = AddTable(tr("Live then"), &live_rows_, LiveColumns(), 3);
  changes_ = AddTable(tr("Since the step before"), &change_rows_, ChangeColumns(), 3);
  holders_ = new HolderView(document_, HolderView::Height::kWhole, tabs_);
  tabs_->addTab(holders_, tr("Held by"));
  column->addWidget(failures_);
  column->addLayout(top);
  column->addLayout(head);
  column->addWidget(space_);
  column->addWidget(legend_);
  column->addWidget(scale_title_);
  column->addWidget(scale_);
  column->addWidget(tabs_, 1);
  column->addStretch(0);
  Connect();
  ShowChosen(nullptr);
}

void OomPage::Connect() {
  connect(failures_, &FactView::Chosen, this,
          [this](const FactRow& row) { Choose(row.key, true); });
  connect(go_, &QPushButton::clicked, this, &OomPage::GoThere);
  connect(by_, &QComboBox::currentIndexChanged, this, &OomPage::FillSpace);
  connect(space_, &ByteBarsWidget::PartClicked, this, [this](int bar, int part) {
    if (chosen_ == nullptr) return;
    const analysis::StackId site =
        space_->bars()[static_cast<std::size_t>(bar)].parts[static_cast<std::size_t>(part)].site;
    if (site.valid()) selection_->SelectSite(site);
  });
  connect(scale_, &ByteBarsWidget::PartClicked, this, [this](int bar) {
    // Without failures each bar is a device: a click goes to its fullest moment.
    if (picture_ == nullptr || !picture_->failures.empty()) return;
    int shown = 0;
    for (const analysis::Headroom& room : picture_->rooms) {
      if (room.total == 0 || shown++ != bar) continue;
      selection_->SetDevice(room.device);
      selection_->SetInstant(room.time);
    }
  });
}

FactView* OomPage::AddTable(const QString& title, FactTable** table,
                            std::vector<FactColumn> columns, int wide) {
  *table = new FactTable(std::move(columns), this);
  auto* view = new FactView(*table, wide, tabs_);
  view->setAccessibleName(title);
  tabs_->addTab(view, title);
  connect(view, &FactView::Chosen, this, [this](const FactRow& row) {
    if (row.allocation.valid() || row.site.valid())
      selection_->SelectAllocation(row.allocation, row.site);
  });
  return view;
}

void OomPage::Refresh() {
  if (document_->session() == shown_) {
    // The categories may be available now.
    if (picture_ != nullptr && !picture_->failures.empty()) AskChosen();
    return;
  }
  // For a log that grows, waits for the running job, and shows the previous content until then.
  const bool grew = picture_ != nullptr && document_->grew();
  if (grew && job_.running()) return;
  if (!grew) {
    job_.Cancel();
    picture_.reset();
    ShowChosen(nullptr);
    failure_rows_->SetRows({});
    failures_->hide();
    verdict_->setText(tr("Looking for failed requests …"));
    emit CountChanged();
  }
  // One after the other: each needs memory of its own while it works.
  if (document_->session() == nullptr || document_->report() == nullptr) return;
  shown_ = document_->session();
  job_.Start([session = shown_, symbols = document_->symbols()](
                 std::stop_token) { return MakeFailuresPicture(session, symbols); },
             [this](std::shared_ptr<const FailuresPicture> picture) { Show(std::move(picture)); });
}

void OomPage::Show(std::shared_ptr<const FailuresPicture> picture) {
  chosen_job_.Cancel();
  kept_.clear();
  picture_ = std::move(picture);
  failure_rows_->SetRows(picture_->rows);
  failures_->setVisible(picture_->failures.size() > 1);
  // As high as its rows, up to five; only two rows if the texts below need the space.
  const int rows = static_cast<int>(std::min<std::size_t>(picture_->failures.size(), 5));
  const auto height = [this](int shown) {
    return (fontMetrics().height() + kSpace) * (shown + 1) + kSpace;
  };
  failures_->setMinimumHeight(height(std::min(rows, 2)));
  failures_->setMaximumHeight(height(rows));
  emit CountChanged();
  if (picture_->failures.empty())
    ShowHeadroom();
  else
    Choose(static_cast<std::size_t>(picture_->first), false);
  Refresh();  // it may have grown meanwhile
}

void OomPage::Choose(std::size_t failure, bool by_hand) {
  failure_ = failure;
  failures_->Show(failure_rows_->FindKey(failure));
  if (by_hand) GoThere();
  AskChosen();
}

void OomPage::GoThere() {
  if (picture_ == nullptr || failure_ >= picture_->failures.size()) return;
  const analysis::FailedRequest& request = picture_->failures[failure_];
  if (request.device != analysis::kNoDevice) selection_->SetDevice(request.device);
  selection_->SetInstant(request.time);
  if (request.stack.valid()) selection_->SelectSite(request.stack);
}

void OomPage::AskChosen() {
  const std::pair key(failure_, document_->categories() != nullptr);
  const auto kept = kept_.find(key);
  if (kept != kept_.end()) {
    chosen_job_.Cancel();
    if (chosen_ != kept->second) ShowChosen(kept->second);
    return;
  }
  chosen_job_.Start(
      [session = shown_, explainer = picture_->explainer, categories = document_->categories(),
       request = picture_->failures[failure_]](std::stop_token) {
        return MakeOomPicture(*session, *explainer, categories.get(), request);
      },
      [this, key](std::shared_ptr<const OomPicture> picture) {
        kept_[key] = picture;
        ShowChosen(std::move(picture));
      });
}

void OomPage::ShowChosen(std::shared_ptr<const OomPicture> picture) {
  chosen_ = std::move(picture);
  const bool any = chosen_ != nullptr;
  const bool known = any && chosen_->whole > 0;
  space_title_->setVisible(known);
  by_->setVisible(known);
  space_->setVisible(known);
  legend_->setVisible(known);
  go_->setVisible(any);
  scale_title_->setVisible(any && !chosen_->scale.empty());
  scale_->setVisible(any && !chosen_->scale.empty());
  tabs_->setVisible(any && (!chosen_->remedies.empty() || !chosen_->space.empty()));
  if (!any) return;
  const Theme theme = Theme::From(palette());
  QString text =
      QStringLiteral("<p style='margin:0 0 4px 0'><b>%1</b> %2</p>")
          .arg(chosen_->headline.toHtmlEscaped(),
               chosen_->request.recovered ? tr("(a later attempt of the same thread succeeded)")
                                          : QString());
  text +=
      QStringLiteral("<p style='margin:0 0 4px 0'>%1</p>").arg(chosen_->verdict.toHtmlEscaped());
  text += QStringLiteral("<p style='margin:0;color:%1'>%2</p>")
              .arg(theme.muted.name(),
                   tr("Requested by %1. %2")
                       .arg(chosen_->requested_by, chosen_->driver_call.isEmpty()
                                                       ? QString()
                                                       : chosen_->driver_call + QLatin1Char('.'))
                       .toHtmlEscaped());
  verdict_->setText(text);
  FitVerdict();
  space_title_->setText(
      chosen_->whole_is_capacity
          ? tr("Where every byte was, of the %1 of device %2")
                .arg(FormatBytes(chosen_->whole))
                .arg(chosen_->request.device)
          : tr("Where the %1 were that the log shows").arg(FormatBytes(chosen_->whole)));
  scale_title_->setText(tr("The request and what was free, to scale"));
  by_->setEnabled(!chosen_->by_category.parts.empty());
  FillSpace();
  scale_->SetBars(chosen_->scale, 0, chosen_->request.bytes);
  remedy_rows_->SetRows(chosen_->remedies);
  live_rows_->SetRows(chosen_->live, 0);
  change_rows_->SetRows(chosen_->changes);
  tabs_->setTabVisible(0, !chosen_->remedies.empty());
  tabs_->setTabVisible(2, !chosen_->live.empty());
  tabs_->setTabVisible(3, !chosen_->since.isEmpty());
  if (!chosen_->since.isEmpty()) tabs_->setTabText(3, chosen_->since);
  tabs_->setTabVisible(4, !chosen_->held_by.empty());
  holders_->ShowBlocks({chosen_, &chosen_->held_by},
                       {tr("Live then"), chosen_->live_bytes, chosen_->live_pieces});
}

// The sentence is always visible in full; the other parts of the page get less space.
void OomPage::FitVerdict() {
  verdict_->setMinimumHeight(std::max(0, verdict_->heightForWidth(std::max(1, verdict_->width()))));
}

void OomPage::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  layout()->activate();
  FitVerdict();
}

void OomPage::FillSpace() {
  if (chosen_ == nullptr) return;
  const bool categories = by_->currentIndex() == 1 && !chosen_->by_category.parts.empty();
  space_->SetBars({categories ? chosen_->by_category : chosen_->by_site}, chosen_->whole);
  legend_->setText(LegendOf(space_->bars()[0], Theme::From(palette())));
  space_rows_->SetRows(chosen_->space, 0);
}

void OomPage::ShowHeadroom() {
  verdict_->setText(HeadroomSentence(*shown_, picture_->rooms).toHtmlEscaped());
  const std::vector<ByteBar> bars = HeadroomBars(picture_->rooms);
  scale_title_->setText(tr("Each device at its fullest (a click goes to that moment)"));
  scale_title_->setVisible(!bars.empty());
  scale_->setVisible(!bars.empty());
  scale_->SetBars(bars);
}

QString OomPage::VerdictText() const { return verdict_->text(); }

bool OomPage::WriteCsv(QTextStream* out) const {
  if (chosen_ == nullptr) return false;
  const auto* front = qobject_cast<const FactView*>(tabs_->currentWidget());
  return front != nullptr && front->WriteCsv(out);
}

void OomPage::changeEvent(QEvent* event) {
  if (event->type() == QEvent::PaletteChange && chosen_ != nullptr) ShowChosen(chosen_);
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
