// The memory timeline: layout and painting. Mouse and keys are in timeline_input.cc.
#include "viewer/views/timeline_view.h"

#include <QComboBox>
#include <QPainter>
#include <QShortcut>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"
#include "viewer/views/timeline_readout.h"

namespace memprof::viewer {

using analysis::TimelineGrouping;
using analysis::TimeNs;

namespace {

enum Content { kProgram, kWholeDevice, kAllDevices };

}  // namespace

TimelineView::TimelineView(Document* document, Selection* selection, QWidget* parent)
    : View(document, selection, parent),
      stacks_(TimelineStacks::Of(document, selection)),
      rows_(new TimelineRows(document, selection, this)),
      lane_(document, selection) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(QStringLiteral("Memory timeline"));
  MakeChoices();
  ConnectAll();
}

void TimelineView::MakeChoices() {
  grouping_choice_ = new QComboBox(this);
  for (int i = 0; i < kGroupings; ++i) {
    const auto grouping = static_cast<TimelineGrouping>(i);
    grouping_choice_->addItem(tr("By %1").arg(GroupingName(grouping).toLower()));
    grouping_choice_->setItemData(i, GroupingHelp(grouping), Qt::ToolTipRole);
  }
  grouping_choice_->setAccessibleName(tr("What the stack is split by"));
  grouping_choice_->setToolTip(tr("What the stack is split by. Key: G"));
  axis_choice_ = new QComboBox(this);
  // In the order of AxisKind.
  axis_choice_->addItems({tr("Axis: time"), tr("Axis: steps")});
  axis_choice_->setAccessibleName(tr("What runs evenly along the axis"));
  axis_choice_->setToolTip(
      tr("Time: as it passed. Steps: every training step is equally wide, however long it took. "
         "Key: S"));
  whole_choice_ = new QComboBox(this);
  whole_choice_->setAccessibleName(tr("Whether the rest of the device, or all devices are shown"));
  whole_choice_->setToolTip(
      tr("Program: what the log itself explains. Whole device: also code, what no call explains, "
         "other processes and what is free, from samples of the driver's figures. Key: W. "
         "All devices: a row for each device and process. Key: R"));
  for (QComboBox* choice : {grouping_choice_, axis_choice_, whole_choice_}) {
    choice->setFont(SmallFont(font()));
    choice->setVisible(false);
  }
}

void TimelineView::ConnectAll() {
  const auto repaint = [this] { update(); };
  const auto forget = [this] {
    lane_.Reset();
    if (!document_->grew()) bytes_.reset();
    Arrange();
  };
  connect(document_, &Document::TimelinesReady, this, forget);
  connect(document_, &Document::StateChanged, this, forget);
  connect(document_, &Document::ReportReady, this, repaint);
  connect(stacks_, &TimelineStacks::Changed, this, &TimelineView::Arrange);
  connect(stacks_, &TimelineStacks::GroupingChanged, this,
          [this] { grouping_choice_->setCurrentIndex(static_cast<int>(stacks_->grouping())); });
  connect(stacks_, &TimelineStacks::WholeDeviceChanged, this, [this] {
    bytes_.reset();
    Arrange();
  });
  rows_->hide();
  connect(rows_, &TimelineRows::RowsChanged, this, &TimelineView::Arrange);
  connect(rows_, &TimelineRows::RowOpened, this, [this] { ShowRows(false); });
  connect(whole_choice_, &QComboBox::activated, this,
          [this](int index) { ChooseContent(whole_choice_->itemData(index).toInt()); });
  connect(new QShortcut(Qt::Key_W, this), &QShortcut::activated, this,
          [this] { ChooseContent(stacks_->whole_device() ? kProgram : kWholeDevice); });
  connect(new QShortcut(Qt::Key_R, this), &QShortcut::activated, this,
          [this] { ShowRows(!rows_shown_); });
  connect(selection_, &Selection::DeviceChanged, this, [this] {
    bytes_.reset();
    Arrange();
  });
  connect(selection_, &Selection::InstantChanged, this,
          [this] { instant_.Move(this, Scale().X(selection_->instant())); });
  connect(selection_, &Selection::SelectionChanged, this, repaint);
  connect(selection_, &Selection::ZoomChanged, this, repaint);
  connect(selection_, &Selection::AxisChanged, this, [this] {
    axis_choice_->setCurrentIndex(static_cast<int>(selection_->axis()));
    update();
  });
  connect(axis_choice_, &QComboBox::currentIndexChanged, this,
          [this](int index) { selection_->SetAxis(static_cast<AxisKind>(index)); });
  connect(grouping_choice_, &QComboBox::currentIndexChanged, this,
          [this](int index) { stacks_->SetGrouping(static_cast<TimelineGrouping>(index)); });
  connect(new QShortcut(Qt::Key_G, this), &QShortcut::activated, this, [this] { StepGrouping(1); });
  connect(new QShortcut(Qt::SHIFT | Qt::Key_G, this), &QShortcut::activated, this,
          [this] { StepGrouping(-1); });
}

void TimelineView::StepGrouping(int by) {
  const int next = (static_cast<int>(stacks_->grouping()) + by + kGroupings) % kGroupings;
  stacks_->SetGrouping(static_cast<TimelineGrouping>(next));
}

QStringList TimelineView::Notes() const {
  QStringList notes;
  if (bands() == nullptr) return notes;
  const QString note = stacks_->Note();
  if (!note.isEmpty()) notes << note;
  analysis::AllocationFilter of_rows = selection_->filter();
  of_rows.process.reset();  // the chosen row
  if (shows_rows() && !of_rows.everything()) notes << tr("rows show all memory: no filter");
  const analysis::DeviceInfo* device = document_->device(selection_->device());
  if (device != nullptr && device->capacity_bytes > 0 &&
      !ChooseAxis(bands()->top.max(), device->capacity_bytes).shows_capacity) {
    notes << tr("capacity %1, above this scale").arg(FormatBytes(device->capacity_bytes));
  }
  return notes;
}

// Only what this log can show can be chosen.
void TimelineView::ArrangeContentChoice() {
  const bool whole = stacks_->knows_rest(), several = rows_->rows().size() > 1;
  const auto has = [this](int content) { return whole_choice_->findData(content) >= 0; };
  if (whole_choice_->count() == 0 || has(kWholeDevice) != whole || has(kAllDevices) != several) {
    whole_choice_->clear();
    whole_choice_->addItem(tr("Program"), kProgram);
    if (whole) whole_choice_->addItem(tr("Whole device"), kWholeDevice);
    if (several) whole_choice_->addItem(tr("All devices"), kAllDevices);
  }
  const int shown = shows_rows() ? kAllDevices : stacks_->whole_device() ? kWholeDevice : kProgram;
  whole_choice_->setCurrentIndex(whole_choice_->findData(shown));
  whole_choice_->setVisible(bands() != nullptr && whole_choice_->count() > 1);
}

void TimelineView::ChooseContent(int content) {
  rows_shown_ = content == kAllDevices;
  // Rows are of processes: what nobody requested is in none of them.
  stacks_->SetWholeDevice(content == kWholeDevice);
  Arrange();
  if (shows_rows()) rows_->setFocus();
}

void TimelineView::ShowRows(bool shown) { ChooseContent(shown ? kAllDevices : kProgram); }

void TimelineView::Arrange() {
  const QFont small = SmallFont(font());
  const QFontMetricsF metrics(small);
  grouping_choice_->setVisible(bands() != nullptr);
  axis_choice_->setVisible(document_->step_clock().known());
  ArrangeContentChoice();
  double right = width() - 2 * kSpace;
  for (QComboBox* choice : {axis_choice_, grouping_choice_, whole_choice_}) {
    choice->adjustSize();
    if (!choice->isVisibleTo(this)) continue;
    choice->move(static_cast<int>(right) - choice->width(), kSpace / 2);
    right -= choice->width() + kSpace;
  }
  LegendSpace space;
  space.left = metrics.horizontalAdvance(QStringLiteral("00000 MiB")) + 2 * kSpace;
  space.right = std::max(space.left + 10, width() - 2.0 * kSpace);
  space.first_right = right;
  space.first_height = std::max<double>(metrics.height() + 2 * kSpace,
                                        grouping_choice_->sizeHint().height() + kSpace);
  space.row_height = metrics.height() + 4;
  std::vector<LegendMark> marks;
  for (std::size_t b = 0; bands() != nullptr && b < bands()->bands.size(); ++b) {
    const QString& key = bands()->bands[b].key;
    marks.push_back({stacks_->hidden(static_cast<int>(b)),
                     !key.isEmpty() && document_->site_colors()->Pinned(key) >= 0});
  }
  legend_.LayOut(stacks_->bands(), Notes(), space, small, std::move(marks));
  const int top = static_cast<int>(std::ceil(legend_.height())) + kSpace / 2;
  rows_->setGeometry(0, top, width(), std::max(10, height() - top));
  rows_->SetLeft(PlotRect().left());
  rows_->setVisible(shows_rows());
  QStringList names;
  for (std::size_t i = legend_.entries(); bands() != nullptr && i-- > 0;)
    if (i < bands()->bands.size()) names << bands()->bands[i].name;
  setAccessibleDescription(tr("Stacked from the top: %1").arg(names.join(QStringLiteral(", "))));
  update();
}

QRectF TimelineView::PlotRect() const {
  const QFont font = SmallFont(this->font());
  const QFontMetricsF small(font);
  const double left = small.horizontalAdvance(QStringLiteral("00000 MiB")) + 2 * kSpace;
  const double above =
      legend_.height() + lane_.Height(font) + MarkerLane::Height(*stacks_->markers(), font);
  const bool steps = document_->session() != nullptr && !document_->session()->steps().empty();
  const double axis = small.height() * (steps ? 2 : 1) + 2 * kSpace;
  // The plot begins at a whole pixel, because its columns are pixels.
  const double x = std::ceil(left), y = std::ceil(above) + kSpace;
  return QRectF(x, y, std::max(10.0, width() - x - 2 * kSpace),
                std::max(10.0, std::floor(height() - y - axis)));
}

TimeScale TimelineView::Scale() const {
  const QRectF plot = PlotRect();
  return {selection_->window(), plot.left(), plot.width(), ShownClock(*document_, *selection_)};
}

void TimelineView::resizeEvent(QResizeEvent*) { Arrange(); }

int TimelineView::SelectedBand() const {
  const bool sites = bands() != nullptr && stacks_->grouping() == TimelineGrouping::kSite;
  return sites ? bands()->stack->BandOfSite(selection_->site()) : -1;
}

int TimelineView::BandAt(QPointF point) const {
  const QRectF plot = PlotRect();
  if (columns_of_ == nullptr || columns_.columns == 0 || !plot.contains(point)) return -1;
  const double share = (point.x() - plot.left()) / plot.width();
  return columns_.BandAt(static_cast<int>(share * columns_.columns),
                         static_cast<std::uint64_t>(std::max(0.0, BytesAtY(point.y()))));
}

void TimelineView::LayOutLanes(const TimeScale& scale, const QFont& font) {
  lane_.LayOut(scale, legend_.height(), font);
  marks_.LayOut(stacks_->markers(), scale, legend_.height() + lane_.Height(font), font);
}

void TimelineView::paintEvent(QPaintEvent* event) {
  PaintParts(this, *event, [this](QPainter& painter) { Paint(painter); });
  instant_.Painted(Scale().X(selection_->instant()));
}

void TimelineView::Paint(QPainter& painter) {
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  const std::shared_ptr<const TimelineBands> shown = stacks_->bands();
  if (shown == nullptr || document_->session() == nullptr) {
    painter.setPen(theme.muted);
    painter.drawText(rect(), Qt::AlignCenter,
                     document_->state() == Document::State::kReady && document_->timelines()
                         ? tr("This device holds no memory in this log.")
                         : tr("Adding up memory over time …"));
    return;
  }
  if (shows_rows()) return legend_.Paint(painter, theme, SelectedBand());
  const QRectF plot = PlotRect();
  const TimeScale scale = Scale();
  MakeDrawn(scale, plot);
  const ByteScale axis = ByteAxis();
  PaintByteAxis(painter, plot, axis, theme);
  PaintStack(painter, plot, *shown, drawn_, axis.max_bytes - axis.min_bytes, theme, SelectedBand());
  PaintInUse(painter, plot, drawn_, axis.max_bytes - axis.min_bytes, theme);
  PaintTimeAxis(painter, plot, scale, document_->bounds().begin, document_->session()->steps(),
                theme);
  LayOutLanes(scale, painter.font());
  marks_.Paint(painter, plot, theme);
  PaintFlags(painter, plot, scale);
  PaintAxisBegin(painter, plot, theme);
  lane_.Paint(painter, theme);
  legend_.Paint(painter, theme, SelectedBand());
  PaintInstant(painter, plot, scale, selection_->instant(), 8, theme);
  if (const auto capacity = ShownCapacity())
    PaintLevelLabel(painter, plot, axis.Y(static_cast<double>(*capacity)),
                    tr("capacity %1").arg(FormatBytes(*capacity)), theme.danger, theme);
  if (gestures_.cursor().has_value()) PaintHover(painter, plot, scale);
}

void TimelineView::MakeDrawn(const TimeScale& scale, const QRectF& plot) {
  const std::shared_ptr<const TimelineBands> shown = stacks_->bands();
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  const bool fits = columns_of_ == shown && columns_.Fit(scale, columns);
  if (!fits) {
    columns_ =
        MakeColumns(*shown, scale, columns, columns_of_ == shown ? columns_ : TimelineColumns());
    columns_of_ = shown;
  }
  if (fits && drawn_bytes_ == Bytes()) return;
  drawn_bytes_ = Bytes();
  constexpr double kSpike = 2;  // device-independent pixels of a peak of any duration
  drawn_ =
      ForDrawing(columns_, static_cast<int>(std::ceil(kSpike * devicePixelRatioF())), drawn_bytes_);
}

// A full device stays at its peak for long. Reports use the instant at which most of it is in use.
TimeNs TimelineView::PeakOf(const StackLine& allocated) const {
  const auto& found = document_->report();
  if (found != nullptr) {
    for (const analysis::Peak& peak : found->report.peaks)
      if (peak.device == selection_->device() && peak.bytes == allocated.max()) return peak.time;
  }
  return allocated.time_of_max();
}

void TimelineView::PaintFlags(QPainter& painter, const QRectF& plot, const TimeScale& scale) {
  const Theme theme = Theme::From(palette());
  const ByteScale bytes = ByteAxis();
  const auto inside = [&bytes](std::uint64_t value) {
    return value >= bytes.min_bytes && value <= bytes.max_bytes;
  };
  if (const auto capacity = ShownCapacity())
    PaintLevel(painter, plot, bytes.Y(static_cast<double>(*capacity)), theme.danger);
  const TimelineBands* kinds = document_->bands(selection_->device());
  if (kinds == nullptr) return;
  PaintCounted(painter, plot, scale, bytes, *SamplingOf(*document_->session()),
               selection_->device(),
               kinds->framework ? analysis::Layer::kBlock : analysis::Layer::kUnspecified, theme);
  FlagPainter flags(painter, plot, theme);
  const auto peak_flag = [&](const StackLine& line, TimeNs peak, const QString& text) {
    if (line.empty()) return;
    const double x = scale.X(peak);
    if (x < plot.left() || x > plot.right() || !inside(line.max())) return;
    const std::int64_t step = document_->session()->StepAt(peak);
    QString label = text.arg(FormatBytes(line.max()));
    if (step >= 0) label += tr(" at step %1").arg(step);
    flags.Paint(x, bytes.Y(static_cast<double>(line.max())), label, theme.danger);
  };
  peak_flag(kinds->allocated, PeakOf(kinds->allocated),
            kinds->framework ? tr("device: peak %1") : tr("peak %1"));
  if (kinds->framework)
    peak_flag(kinds->in_use, kinds->in_use.time_of_max(), tr("in use: peak %1"));
}

void TimelineView::PaintHover(QPainter& painter, const QRectF& plot, const TimeScale& scale) {
  const Theme theme = Theme::From(palette());
  if (gutter_.has_value()) {
    QColor brushed = theme.accent;
    brushed.setAlpha(50);
    painter.fillRect(
        QRectF(QPointF(plot.left(), *gutter_), QPointF(plot.right(), gestures_.cursor()->y()))
            .normalized()
            .intersected(plot),
        brushed);
    return;
  }
  gestures_.PaintBrushed(painter, plot, theme);
  const QPointF cursor = *gestures_.cursor();
  if (!plot.contains(cursor)) return;
  painter.setPen(QPen(theme.muted, 1, Qt::DashLine));
  painter.drawLine(QPointF(cursor.x(), plot.top()), QPointF(cursor.x(), plot.bottom()));
  const TimeNs time = scale.At(cursor.x());
  PaintReadout(painter, plot, cursor.x(), InstantText(*document_, scale, time), *bands(),
               bands()->stack->BytesAt(time), BandAt(cursor), theme);
}

QString TimelineView::LegendText(QPointF point) const {
  QString text = legend_.TextAt(point);
  const int band = legend_.BandAt(point);
  if (band < 0 || bands() == nullptr) return text;
  const std::vector<std::uint64_t> bytes = bands()->stack->BytesAt(selection_->instant());
  if (static_cast<std::size_t>(band) < bytes.size()) {
    text +=
        tr("<br>%1 at the chosen instant").arg(FormatBytes(bytes[static_cast<std::size_t>(band)]));
  }
  return text;
}

bool TimelineView::WriteCsv(QTextStream* out) const {
  if (bands() == nullptr) return false;
  const TimeScale scale = Scale();
  const std::vector<TimeNs> times =
      ColumnEdges(scale, std::max(1, static_cast<int>(std::lround(PlotRect().width()))));
  const analysis::TimelineStack::Columns columns = bands()->stack->Bytes(times);
  *out << "time_s";
  for (const Band& band : bands()->bands) {
    *out << ',' << CsvField(tr("%1 least_bytes").arg(band.name)) << ','
         << CsvField(tr("%1 most_bytes").arg(band.name));
  }
  *out << '\n';
  const TimeNs origin = document_->bounds().begin;
  for (std::size_t i = 0; i + 1 < times.size(); ++i) {
    *out << QString::number(static_cast<double>(times[i] - std::min(origin, times[i])) / 1e9, 'f',
                            9);
    for (std::size_t b = 0; b < columns.low.size(); ++b)
      *out << ',' << columns.low[b][i] << ',' << columns.high[b][i];
    *out << '\n';
  }
  return true;
}

}  // namespace memprof::viewer
