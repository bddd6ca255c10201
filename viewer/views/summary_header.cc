// The line above all views: what ran, the device, its peak, the verdict on leaks, and a banner.
#include "viewer/views/summary_header.h"

#include <QComboBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QSignalBlocker>
#include <QVBoxLayout>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/models/anomaly_texts.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// The program in two lines, which are elided if the figures beside them need the space.
class ProgramTile : public QWidget {
 public:
  using QWidget::QWidget;

  void SetText(const QString& caption, const QString& name) {
    caption_ = caption;
    name_ = name;
    width_ = fontMetrics().horizontalAdvance(name);
    setToolTip(name);
    updateGeometry();
    update();
  }
  QSize sizeHint() const override { return {width_, 2 * fontMetrics().height() + 2}; }
  QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const Theme theme = Theme::From(palette());
    const double half = height() / 2.0;
    painter.setFont(SmallFont(font()));
    painter.setPen(theme.muted);
    DrawElided(painter, QRectF(0, 0, width(), half), Qt::AlignLeft | Qt::AlignBottom, caption_);
    painter.setFont(StrongFont(font()));
    painter.setPen(theme.text);
    DrawElided(painter, QRectF(0, half, width(), half), Qt::AlignLeft | Qt::AlignTop, name_);
  }

 private:
  QString caption_, name_;
  int width_ = 0;
};

namespace {

QLabel* Tile(QWidget* parent) {
  auto* label = new QLabel(parent);
  label->setTextFormat(Qt::RichText);
  label->setTextInteractionFlags(Qt::TextSelectableByMouse);
  return label;
}

// The worst leaks in a few words, and how bad that is.
QString VerdictText(const ReportData& data, bool* bad) {
  const auto& leaks = data.leaks;
  *bad = false;
  for (const LeakRow& row : leaks) *bad = *bad || row.leak.tier != analysis::LeakTier::kGrowing;
  if (!leaks.empty()) {
    double slope = 0;
    for (const LeakRow& row : leaks) slope += row.leak.bytes_per_step;
    QString text = FormatPlural(leaks.size(), QStringLiteral("suspected leak"));
    if (slope > 0) text += QStringLiteral(", %1 per step").arg(FormatSignedBytes(slope));
    return text;
  }
  if (data.report.leaks.horizon_too_short) return SummaryHeader::tr("too short to tell");
  if (!data.rising.empty())
    return SummaryHeader::tr("%1, not sure to leak")
        .arg(FormatPlural(data.rising.size(), QStringLiteral("rising site")));
  return SummaryHeader::tr("no leak found");
}

}  // namespace

std::vector<QStringList> RunsOf(const analysis::Session& session) {
  std::vector<QStringList> runs;
  for (const analysis::ProcessInfo& process : session.processes()) {
    if (process.run_number >= runs.size()) runs.resize(process.run_number + 1);
    runs[process.run_number] << ToQString(process.path);
  }
  return runs;
}

QString ProgramName(const analysis::RunInfo& run) {
  QString name = BaseName(ToQString(run.executable));
  // More than users read; a program may have hundreds of thousands of arguments.
  constexpr qsizetype kMax = 1000;
  for (std::size_t i = 1; i < run.arguments.size(); ++i) {
    if (name.size() > kMax) return name.left(kMax) + QStringLiteral(" …");
    name += QLatin1Char(' ') + ToQString(run.arguments[i]);
  }
  return name.isEmpty() ? QStringLiteral("unknown program") : name;
}

SummaryHeader::SummaryHeader(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* row = new QHBoxLayout();
  row->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, kSpace);
  row->setSpacing(3 * kSpace);
  program_ = new ProgramTile(this);
  devices_ = new QComboBox(this);
  devices_->setAccessibleName(tr("Device"));
  devices_->setToolTip(tr("The device that all views show"));
  peak_ = Tile(this);
  reserved_ = Tile(this);
  at_end_ = Tile(this);
  verdict_ = Tile(this);
  row->addWidget(program_, 1);
  row->addWidget(devices_);
  for (QLabel* tile : {peak_, reserved_, at_end_, verdict_}) row->addWidget(tile);
  column->addLayout(row);
  banner_ = new QLabel(this);
  banner_->setWordWrap(true);
  banner_->setMargin(kSpace);
  banner_->setVisible(false);
  banner_->setTextFormat(Qt::RichText);
  banner_->setTextInteractionFlags(Qt::TextBrowserInteraction);
  connect(banner_, &QLabel::linkActivated, this, &SummaryHeader::Compare);
  column->addWidget(banner_);
  connect(document_, &Document::StateChanged, this, [this] {
    FillDevices();
    Fill();
  });
  connect(document_, &Document::TimelinesReady, this, [this] {
    FillDevices();
    Fill();
  });
  connect(document_, &Document::ReportReady, this, &SummaryHeader::Fill);
  connect(selection_, &Selection::DeviceChanged, this, [this] {
    devices_->setCurrentIndex(devices_->findData(selection_->device()));
    Fill();
  });
  connect(devices_, &QComboBox::activated, this,
          [this](int index) { selection_->SetDevice(devices_->itemData(index).toInt()); });
}

void SummaryHeader::FillDevices() {
  const QSignalBlocker blocker(devices_);
  devices_->clear();
  if (document_->session() == nullptr) return;
  for (const analysis::DeviceInfo& device : document_->session()->devices()) {
    QString name = tr("GPU %1").arg(device.id);
    if (!device.name.empty()) name += QStringLiteral("  ·  ") + ToQString(device.name);
    devices_->addItem(name, device.id);
  }
  if (document_->bands(analysis::kNoDevice) != nullptr) {
    devices_->addItem(tr("Host, pinned memory"), analysis::kNoDevice);
  }
  devices_->setCurrentIndex(devices_->findData(selection_->device()));
}

void SummaryHeader::SetTile(QLabel* label, const QString& caption, const QString& value,
                            const QColor& color) {
  const Theme theme = Theme::From(palette());
  label->setText(
      QStringLiteral("<div style='color:%1;font-size:small'>%2</div>"
                     "<div style='color:%3;font-weight:600'>%4</div>")
          .arg(theme.muted.name(), caption.toHtmlEscaped(), color.name(), value.toHtmlEscaped()));
}

void SummaryHeader::Fill() {
  if (document_->session() == nullptr) return;
  FillProgram();
  FillPeaks();
  const Theme theme = Theme::From(palette());
  const ReportData* found = document_->report().get();
  verdict_->setVisible(found != nullptr);
  if (found != nullptr) {
    bool bad = false;
    const QString verdict = VerdictText(*found, &bad);
    SetTile(verdict_, tr("Leaks"), verdict,
            bad                                     ? theme.danger
            : !found->leaks.empty()                 ? theme.warning
            : found->report.leaks.horizon_too_short ? theme.muted
            : !found->rising.empty()                ? theme.warning
                                                    : theme.good);
    verdict_->setToolTip(ToQString(found->report.leaks.verdict));
  }
  FitTiles();
  FillBanner();
}

void SummaryHeader::FillProgram() {
  const analysis::RunInfo& run = document_->session()->run();
  const auto processes = document_->session()->processes();
  QString name = ProgramName(run);
  if (processes.size() > 1) {
    // One command of all of them, or the first of several.
    const bool same =
        std::all_of(processes.begin(), processes.end(), [&](const analysis::ProcessInfo& process) {
          return process.run.executable == run.executable && process.run.arguments == run.arguments;
        });
    name = (same ? tr("%1 processes of %2") : tr("%1 processes, the first of %2"))
               .arg(processes.size())
               .arg(name);
  }
  const std::size_t steps = document_->session()->steps().size();
  QString about = FormatDuration(run.end_time - run.start_time);
  if (steps > 0) about += QStringLiteral("  ·  ") + FormatPlural(steps, QStringLiteral("step"));
  about += QStringLiteral("  ·  ") +
           tr("%1 events").arg(FormatCount(document_->session()->events().size()));
  if (!run.hostname.empty()) about += QStringLiteral("  ·  ") + ToQString(run.hostname);
  program_->SetText(about, name);
}

void SummaryHeader::FillPeaks() {
  filled_.clear();
  const analysis::DeviceFigures* figures = nullptr;
  if (document_->report() != nullptr) {
    for (const analysis::DeviceFigures& device : document_->report()->report.devices) {
      if (device.info.id == selection_->device()) figures = &device;
    }
  }
  if (figures == nullptr) return;
  const Theme theme = Theme::From(palette());
  QString peak = FormatBytes(figures->peak_bytes);
  if (figures->info.capacity_bytes > 0) {
    peak += tr(" of %1").arg(FormatBytes(figures->info.capacity_bytes));
  }
  const analysis::FrameworkFigures& framework = figures->framework;
  // A snapshot may contain only blocks: the amount of driver memory is unknown then.
  const bool blocks_only = figures->peak_bytes == 0 && framework.peak_bytes > 0;
  if (blocks_only) peak = FormatBytes(framework.peak_bytes);
  SetTile(peak_, blocks_only ? tr("Peak in use") : tr("Peak"), peak, theme.text);
  filled_ << peak_;
  if (framework.seen && !blocks_only) filled_ << reserved_;
  filled_ << at_end_;
  SetTile(reserved_, tr("Framework in use / reserved"),
          tr("%1 / %2").arg(FormatBytes(framework.peak_bytes),
                            FormatBytes(framework.peak_reserved_bytes)),
          theme.text);
  SetTile(at_end_, tr("At the end"),
          FormatBytes(blocks_only ? framework.live_bytes : figures->live_bytes), theme.text);
}

// Without space for all figures, the last ones are hidden, because a number must not be cut.
void SummaryHeader::FitTiles() {
  int room = width() - minimumSizeHint().width();
  for (QLabel* tile : {peak_, reserved_, at_end_}) {
    const int needed = tile->sizeHint().width() + 3 * kSpace;
    const bool fits = filled_.contains(tile) && needed <= room;
    tile->setVisible(fits);
    if (fits) room -= needed;
  }
}

QSize SummaryHeader::minimumSizeHint() const {
  constexpr int kProgram = 120, kDevices = 100;
  int least = 4 * kSpace + kProgram + 3 * kSpace + kDevices;
  if (!verdict_->isHidden()) least += 3 * kSpace + verdict_->sizeHint().width();
  return {least, QWidget::minimumSizeHint().height()};
}

void SummaryHeader::resizeEvent(QResizeEvent* event) {
  QWidget::resizeEvent(event);
  FitTiles();
}

// One line for each anomaly of at least that severity: its name, how often, and what to do. Until
// the report is there, only what the recorder counted is known.
QStringList SummaryHeader::AnomalyLines(log::Severity least) const {
  QStringList lines;
  if (document_->session() == nullptr) return lines;
  const auto counted = document_->session()->anomalies();
  std::vector<analysis::AnomalyCount> anomalies(counted.begin(), counted.end());
  if (document_->report() != nullptr) anomalies = document_->report()->anomalies;
  for (const analysis::AnomalyCount& count : anomalies) {
    const auto index = static_cast<std::size_t>(count.anomaly);
    if (index >= std::size(kAnomalies)) continue;
    const AnomalyText& text = kAnomalies[index];
    if (text.severity < least) continue;
    lines << QStringLiteral("%1: %2. %3")
                 .arg(QString::fromUtf8(text.name).replace(QLatin1Char('_'), QLatin1Char(' ')),
                      FormatCount(count.count), QString::fromUtf8(text.advice));
  }
  return lines;
}

QString SummaryHeader::BannerText() const {
  if (document_->session() == nullptr) return {};
  QStringList lines;
  if (!document_->error().isEmpty()) {
    lines << tr("Not opened: %1. Shown is still %2.").arg(document_->error(), document_->path());
  }
  for (const QString& why : document_->left_out()) lines << tr("Left out: %1").arg(why);
  const std::vector<QStringList> runs = RunsOf(*document_->session());
  if (runs.size() > 1)
    lines
        << tr("These logs do not overlap in time: they are of %1 runs, one after the other, not of "
              "one job.")
               .arg(runs.size());
  const analysis::RunInfo& run = document_->session()->run();
  lines << AnomalyLines(log::Severity::kDataLoss);
  if (run.growing) {
    lines << tr("The program still runs: what it records is shown as it comes.");
  } else if (!run.complete) {
    lines << tr(
        "The log was not closed: the program was killed or crashed. Everything up to its "
        "last moments is here.");
  }
  return lines.join(QLatin1Char('\n'));
}

void SummaryHeader::Compare() {
  if (document_->session() == nullptr) return;
  const std::vector<QStringList> runs = RunsOf(*document_->session());
  if (runs.size() > 1) emit ComparisonRequested(runs.front(), runs.back());
}

void SummaryHeader::FillBanner() {
  const QString text = BannerText();
  banner_->setVisible(!text.isEmpty());
  const Theme theme = Theme::From(palette());
  QColor back = theme.warning;
  QPalette colors = palette();
  back.setAlpha(theme.dark ? 48 : 36);
  colors.setColor(QPalette::Window, back);
  colors.setColor(QPalette::WindowText, theme.text);
  banner_->setAutoFillBackground(true);
  banner_->setPalette(colors);
  QString html = text.toHtmlEscaped().replace(QLatin1Char('\n'), QStringLiteral("<br>"));
  const auto runs =
      document_->session() == nullptr ? std::vector<QStringList>() : RunsOf(*document_->session());
  if (runs.size() > 1) {
    const QString offer =
        runs.size() == 2 ? tr("Open as a comparison") : tr("Compare the last with the first");
    html += QStringLiteral(" <a href='compare' style='color:%1'>%2</a>")
                .arg(theme.accent.name(), offer.toHtmlEscaped());
  }
  banner_->setText(html);
  banner_->setToolTip(AnomalyLines(log::Severity::kInfo).join(QLatin1Char('\n')));
}

void SummaryHeader::changeEvent(QEvent* event) {
  if (event->type() == QEvent::ApplicationPaletteChange) Fill();
  QWidget::changeEvent(event);
}

}  // namespace memprof::viewer
