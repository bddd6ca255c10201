// What is above all views: the verdict, what ran, the device and its figures, and a banner.
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
#include "viewer/views/link_line.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {

// The program, then what is known of the run; elided, because they take what is left.
class ProgramLine : public QWidget {
 public:
  explicit ProgramLine(QWidget* parent) : QWidget(parent) {
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
  }

  void SetText(const QString& name, const QStringList& about) {
    name_ = name;
    about_ = about;
    setToolTip(QStringLiteral("%1\n%2").arg(name, about.join(QStringLiteral(", "))));
    setAccessibleName(toolTip());
    update();
  }
  QSize minimumSizeHint() const override { return {120, fontMetrics().height() + 4}; }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter painter(this);
    const Theme theme = Theme::From(palette());
    painter.setFont(StrongFont(font()));
    painter.setPen(theme.text);
    const double used = DrawElided(painter, rect(), Qt::AlignLeft | Qt::AlignVCenter, name_);
    painter.setFont(font());
    painter.setPen(theme.muted);
    // As many of its parts as there is space for.
    const double left = width() - used - 2 * kSpace;
    QStringList about = about_;
    const QString between = QStringLiteral("  ·  ");
    while (!about.isEmpty() && TextWidth(font(), about.join(between)) > left) about.removeLast();
    painter.drawText(QRectF(rect()).adjusted(used + 2 * kSpace, 0, 0, 0),
                     Qt::AlignLeft | Qt::AlignVCenter, about.join(between));
  }

 private:
  QString name_;
  QStringList about_;
};

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
  verdict_ = new LinkLine(this);
  program_ = new ProgramLine(this);
  devices_ = new QComboBox(this);
  devices_->setAccessibleName(tr("Device"));
  devices_->setToolTip(tr("The device that all views show"));
  figures_ = new LinkLine(this);
  auto* first = new QHBoxLayout();
  first->setContentsMargins(2 * kSpace, kSpace, 2 * kSpace, 0);
  first->addWidget(verdict_);
  column->addLayout(first);
  auto* row = new QHBoxLayout();
  row->setContentsMargins(2 * kSpace, kSpace / 2, 2 * kSpace, kSpace);
  row->setSpacing(2 * kSpace);
  row->addWidget(program_, 1);
  row->addWidget(devices_);
  row->addWidget(figures_);
  column->addLayout(row);
  connect(verdict_, &LinkLine::Followed, this, &SummaryHeader::Follow);
  connect(figures_, &LinkLine::Followed, this, &SummaryHeader::Follow);
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
    AskVerdict();
  });
  connect(document_, &Document::TimelinesReady, this, [this] {
    FillDevices();
    Fill();
  });
  connect(document_, &Document::ReportReady, this, [this] {
    Fill();
    AskVerdict();
  });
  connect(document_, &Document::CategoriesReady, this, &SummaryHeader::AskVerdict);
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

void SummaryHeader::Fill() {
  if (document_->session() == nullptr) return;
  FillProgram();
  FillFigures();
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
  QStringList about = {FormatDuration(run.end_time - run.start_time)};
  if (steps > 0) about << FormatPlural(steps, QStringLiteral("step"));
  about << tr("%1 events").arg(FormatCount(document_->session()->events().size()));
  if (!run.hostname.empty()) about << ToQString(run.hostname);
  program_->SetText(name, about);
}

VerdictInput SummaryHeader::Input() const {
  return {document_->session(), document_->symbols(), document_->timelines(), document_->report(),
          document_->categories()};
}

void SummaryHeader::FillFigures() {
  const VerdictInput input = Input();
  if (input.report == nullptr || input.timelines == nullptr)
    figures_->Show({});
  else
    figures_->Show(MakeFigures(input, selection_->device()));
}

// While a log grows, the last verdict stays until the next is there.
void SummaryHeader::AskVerdict() {
  const VerdictInput input = Input();
  if (input.session == nullptr) return;
  if (input.report == nullptr || input.timelines == nullptr) {
    verdict_job_.Cancel();
    verdict_->Show({{tr("Looking for failed requests and leaks …"), {}, {}}}, VerdictTone::kPlain);
    return;
  }
  verdict_job_.Start([input](std::stop_token) { return MakeVerdict(input); },
                     [this](const RunVerdict& verdict) {
                       verdict_->Show(verdict.parts, verdict.tone);
                       verdict_->setToolTip(verdict.detail.toHtmlEscaped());
                       verdict_->setAccessibleDescription(verdict.detail);
                       emit FailuresCounted(verdict.failures);
                     });
}

// The view first, which then shows what is selected.
void SummaryHeader::Follow(const VerdictTarget& target) {
  if (target.view != VerdictView::kCurrent) emit ViewRequested(target.view);
  if (target.device.has_value()) selection_->SetDevice(*target.device);
  if (target.instant.has_value()) selection_->SetInstant(*target.instant);
  if (target.site.valid()) selection_->SelectSite(target.site);
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
