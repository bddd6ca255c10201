// The timeline of every device and process at once.
#include "viewer/views/timeline_rows.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/views/plot.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"
#include "viewer/views/timeline_painter.h"

namespace memprof::viewer {
namespace {

constexpr double kLeastRow = 56, kMostRow = 240;  // pixels
constexpr std::size_t kKeptRows = 24;             // stacks beyond those that are shown

}  // namespace

TimelineRows::TimelineRows(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      stacks_(TimelineStacks::Of(document, selection)),
      scroll_(new QScrollBar(Qt::Vertical, this)) {
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Timelines of all devices"));
  const auto repaint = [this] { update(); };
  const auto forget = [this] { Forget(); };
  connect(document_, &Document::TimelinesReady, this, &TimelineRows::List);
  connect(document_, &Document::StateChanged, this, &TimelineRows::List);
  connect(document_, &Document::CategoriesReady, this, forget);
  connect(document_, &Document::SiteColorsChanged, this, forget);
  connect(stacks_, &TimelineStacks::GroupingChanged, this, forget);
  connect(stacks_, &TimelineStacks::Changed, this, [this] {
    if (std::exchange(hidden_, stacks_->hidden_bands()) != stacks_->hidden_bands()) Forget();
  });
  connect(selection_, &Selection::DeviceChanged, this, repaint);
  connect(selection_, &Selection::InstantChanged, this, repaint);
  connect(selection_, &Selection::ZoomChanged, this, repaint);
  connect(selection_, &Selection::AxisChanged, this, repaint);
  connect(scroll_, &QScrollBar::valueChanged, this, repaint);
}

// Also while it is hidden: whether there are several rows decides whether it can be chosen.
void TimelineRows::List() {
  const auto session = document_->timelines() != nullptr ? document_->session() : nullptr;
  if (session == listed_) return;
  listed_ = session;
  rows_.clear();
  Forget();
  emit RowsChanged();
  if (session == nullptr) return list_job_.Cancel();
  list_job_.Start([session](std::stop_token) { return ListDeviceRows(*session); },
                  [this](std::vector<DeviceRow> rows) {
                    rows_ = std::move(rows);
                    highest_ = 1;
                    for (const DeviceRow& row : rows_) highest_ = std::max(highest_, row.peak);
                    PlaceScrollBar();
                    emit RowsChanged();
                    update();
                  });
}

void TimelineRows::Forget() {
  made_.clear();
  stack_job_.Cancel();
  update();
}

void TimelineRows::SetLeft(double left) {
  left_ = left;
  update();
}

QRectF TimelineRows::Area() const {
  const double row = QFontMetricsF(SmallFont(font())).height();
  const bool steps = document_->session() != nullptr && !document_->session()->steps().empty();
  const double below = row * (steps ? 2 : 1) + 2 * kSpace;
  return QRectF(left_, 0, std::max(10.0, width() - left_ - 2 * kSpace),
                std::max(10.0, std::floor(height() - below)));
}

RowLayout TimelineRows::layout() const {
  return LayOutRows(rows_.size(), Area().height(), scroll_->value(), kLeastRow, kMostRow);
}

QRectF TimelineRows::PlotOf(std::size_t row) const {
  const QRectF area = Area();
  const RowLayout rows = layout();
  const double name = QFontMetricsF(SmallFont(font())).height() + 2;
  const double top = std::floor(rows.Top(row)) + name;
  return QRectF(area.left(), top, area.width(), std::max(8.0, std::floor(rows.height - name - 4)));
}

TimeScale TimelineRows::Scale() const {
  const QRectF area = Area();
  return {selection_->window(), area.left(), area.width(), ShownClock(*document_, *selection_)};
}

void TimelineRows::PlaceScrollBar() {
  const double range = layout().range();
  scroll_->setVisible(range > 0);
  scroll_->setRange(0, static_cast<int>(std::ceil(range)));
  scroll_->setPageStep(static_cast<int>(Area().height()));
  scroll_->setSingleStep(static_cast<int>(layout().height));
  const int wide = scroll_->sizeHint().width();
  scroll_->setGeometry(width() - wide, 0, wide, static_cast<int>(Area().height()));
}

// One row at a time, the uppermost that is shown and not made. Starts the next one when it is done.
void TimelineRows::MakeNext() {
  if (!isVisible() || stack_job_.running() || document_->timelines() == nullptr) return;
  const RowLayout shown = layout();
  std::size_t row = shown.first();
  while (row < shown.last() && made_.contains(row)) ++row;
  if (row >= shown.last()) return;
  const TimelineBands* kinds = document_->bands(rows_[row].device);
  if (kinds == nullptr) return;
  stack_job_.Start(
      [stack = kinds->stack, of = rows_[row], grouping = stacks_->grouping(), hidden = hidden_,
       categories = document_->categories(), symbols = document_->symbols(),
       colors = document_->site_colors()](std::stop_token) {
        return MakeRowBands(*stack, of,
                            {grouping, nullptr, categories.get(), symbols.get(), hidden},
                            [&colors](const QStringList& keys) { return colors->Of(keys); });
      },
      [this, row](std::shared_ptr<const TimelineBands> bands) {
        made_[row] = {std::move(bands), {}, {}, ++painted_};
        while (made_.size() > kKeptRows + (layout().last() - layout().first())) {
          made_.erase(std::min_element(
              made_.begin(), made_.end(),
              [](const auto& a, const auto& b) { return a.second.used < b.second.used; }));
        }
        update();
      });
}

int TimelineRows::ChosenRow() const {
  const auto process = selection_->filter().process;
  for (std::size_t i = 0; i < rows_.size(); ++i)
    if (rows_[i].device == selection_->device() && (!process || rows_[i].process == *process))
      return static_cast<int>(i);
  return -1;
}

void TimelineRows::Choose(int row) {
  if (row < 0 || static_cast<std::size_t>(row) >= rows_.size()) return;
  const DeviceRow& chosen = rows_[static_cast<std::size_t>(row)];
  selection_->SetDevice(chosen.device);
  if (document_->session()->processes().size() > 1) {
    analysis::AllocationFilter filter = selection_->filter();
    filter.process = chosen.process;
    selection_->SetFilter(filter);
  }
  const RowLayout shown = layout();
  const double top = shown.Top(static_cast<std::size_t>(row));
  if (top < 0) scroll_->setValue(scroll_->value() + static_cast<int>(std::floor(top)));
  if (top + shown.height > shown.shown)
    scroll_->setValue(scroll_->value() +
                      static_cast<int>(std::ceil(top + shown.height - shown.shown)));
}

void TimelineRows::PaintRow(QPainter& painter, std::size_t row, const TimeScale& scale,
                            const Theme& theme) {
  const QRectF plot = PlotOf(row);
  const bool chosen = static_cast<int>(row) == ChosenRow();
  const double name = QFontMetricsF(painter.font()).height() + 2;
  const auto max_bytes = static_cast<std::uint64_t>(static_cast<double>(highest_) * 1.05) + 1;
  painter.setPen(theme.grid);
  painter.drawLine(plot.topLeft(), plot.topRight());
  painter.setPen(chosen ? theme.accent : theme.text);
  DrawElided(painter, QRectF(plot.left(), plot.top() - name, plot.width(), name),
             Qt::AlignLeft | Qt::AlignVCenter,
             tr("%1  ·  peak %2").arg(rows_[row].name, FormatBytes(rows_[row].peak)));
  if (chosen) painter.fillRect(QRectF(plot.left() - 4, plot.top(), 3, plot.height()), theme.accent);
  PaintByteAxis(painter, plot, max_bytes, theme);
  const auto at = made_.find(row);
  if (at == made_.end()) {
    painter.setPen(theme.muted);
    painter.drawText(plot, Qt::AlignCenter, tr("adding up …"));
    return;
  }
  Made& made = at->second;
  made.used = ++painted_;
  const int columns =
      std::max(1, static_cast<int>(std::lround(plot.width() * devicePixelRatioF())));
  if (!made.columns.Fit(scale, columns)) {
    made.columns = MakeColumns(*made.bands, scale, columns, made.columns);
    made.drawn = ForDrawing(made.columns, static_cast<int>(std::ceil(2 * devicePixelRatioF())),
                            {0, max_bytes});
  }
  const bool sites = stacks_->grouping() == analysis::TimelineGrouping::kSite;
  PaintStack(painter, plot, *made.bands, made.drawn, max_bytes, theme,
             sites ? made.bands->stack->BandOfSite(selection_->site()) : -1);
  PaintInUse(painter, plot, made.drawn, max_bytes, theme);
}

void TimelineRows::paintEvent(QPaintEvent*) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  if (document_->session() == nullptr) return;
  const QRectF area = Area();
  const TimeScale scale = Scale();
  const RowLayout shown = layout();
  painter.save();
  painter.setClipRect(QRectF(0, 0, width(), area.height()));
  for (std::size_t row = shown.first(); row < shown.last(); ++row)
    PaintRow(painter, row, scale, theme);
  PaintInstant(painter, area, scale, selection_->instant(), 0, theme);
  gestures_.PaintBrushed(painter, area, theme);
  painter.restore();
  PaintTimeAxis(painter, area, scale, document_->bounds().begin, document_->session()->steps(),
                theme);
  MakeNext();
}

void TimelineRows::resizeEvent(QResizeEvent*) { PlaceScrollBar(); }

void TimelineRows::showEvent(QShowEvent*) { PlaceScrollBar(); }

void TimelineRows::mousePressEvent(QMouseEvent* event) { gestures_.Press(event); }

void TimelineRows::mouseMoveEvent(QMouseEvent* event) { gestures_.Move(event, Scale()); }

void TimelineRows::mouseReleaseEvent(QMouseEvent* event) {
  const auto clicked = gestures_.Release(event, Scale());
  if (!clicked.has_value()) return;
  Choose(layout().At(clicked->y()));
  if (clicked->x() >= Area().left()) selection_->SetInstant(Scale().At(clicked->x()));
}

void TimelineRows::mouseDoubleClickEvent(QMouseEvent* event) {
  const int row = layout().At(event->position().y());
  if (row < 0) return;
  Choose(row);
  emit RowOpened();
}

void TimelineRows::wheelEvent(QWheelEvent* event) {
  // As in a list; with Ctrl or Shift, time is zoomed or moved.
  if (event->modifiers().testFlag(Qt::ControlModifier) ||
      event->modifiers().testFlag(Qt::ShiftModifier) || !scroll_->isVisible()) {
    gestures_.Wheel(event, Scale());
  } else {
    QCoreApplication::sendEvent(scroll_, event);
  }
}

void TimelineRows::keyPressEvent(QKeyEvent* event) {
  const int page = std::max(1, static_cast<int>(layout().shown / layout().height));
  const int last = static_cast<int>(rows_.size()) - 1;
  switch (event->key()) {
    case Qt::Key_Up:
      return Choose(std::max(0, ChosenRow() - 1));
    case Qt::Key_Down:
      return Choose(std::min(last, ChosenRow() + 1));
    case Qt::Key_PageUp:
      return Choose(std::max(0, ChosenRow() - page));
    case Qt::Key_PageDown:
      return Choose(std::min(last, ChosenRow() + page));
    case Qt::Key_Return:
    case Qt::Key_Enter:
      if (ChosenRow() >= 0) emit RowOpened();
      return;
    default:
      if (!gestures_.Key(event, Scale())) QWidget::keyPressEvent(event);
  }
}

}  // namespace memprof::viewer
