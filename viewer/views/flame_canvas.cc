// The flame graph itself.
#include "viewer/views/flame_canvas.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QMenu>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr double kMaxRowStretch = 1.6;

const analysis::FlameNode& Node(const analysis::FlameTree& tree, int index) {
  return tree.nodes[static_cast<std::size_t>(index)];
}

}  // namespace

FlameCanvas::FlameCanvas(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  setMouseTracking(true);
  setAccessibleName(tr("Flame graph"));
  connect(selection_, &Selection::ZoomChanged, this, &FlameCanvas::Relayout);
}

double FlameCanvas::RowHeight() const {
  return row_height_ > 0 ? row_height_ : QFontMetricsF(font()).height() + 7;
}

void FlameCanvas::SetTree(std::shared_ptr<const analysis::FlameTree> tree, FlameValue value) {
  tree_ = std::move(tree);
  value_ = value;
  hover_ = -1;
  SetSearch(search_);
  Relayout();
}

void FlameCanvas::SetSearch(const QString& text) {
  search_ = text;
  matches_.clear();
  matched_ = -1;
  if (tree_ != nullptr && !tree_->nodes.empty() && !text.isEmpty()) {
    matches_ = FlameSearch(*tree_, text);
    const auto whole = static_cast<double>(NodeValue(Node(*tree_, 0), value_));
    matched_ = whole > 0 ? static_cast<double>(FlameMatched(*tree_, matches_, value_)) / whole : 0;
  }
  update();
}

void FlameCanvas::Relayout() {
  dirty_ = true;
  if (tree_ != nullptr && width() > 0) {
    const double wanted = Layout().content_height + kSpace;
    setMinimumHeight(static_cast<int>(std::ceil(wanted)));
  }
  update();
}

const FlameLayout& FlameCanvas::Layout() {
  if (dirty_ && tree_ != nullptr) {
    const int zoomed = FlameFind(*tree_, selection_->flame_path());
    const double least = QFontMetricsF(font()).height() + 7;
    layout_ = LayOutFlame(*tree_, value_, zoomed, width(), least);
    const double view = parentWidget() != nullptr ? parentWidget()->height() : height();
    row_height_ = std::floor(std::clamp((view - 2 * kSpace) / std::max(1, layout_.depths), least,
                                        kMaxRowStretch * least));
    if (row_height_ > least) layout_ = LayOutFlame(*tree_, value_, zoomed, width(), row_height_);
  }
  dirty_ = false;
  return layout_;
}

void FlameCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(event->rect(), theme.surface);
  if (tree_ == nullptr || tree_->nodes.empty() || NodeValue(Node(*tree_, 0), value_) == 0) {
    painter.setPen(theme.muted);
    painter.drawText(rect().adjusted(0, 3 * kSpace, 0, 0), Qt::AlignHCenter | Qt::AlignTop,
                     tree_ == nullptr ? tr("Finding call sites …")
                                      : tr("Nothing was allocated here at this instant."));
    return;
  }
  const int zoomed = FlameFind(*tree_, selection_->flame_path());
  for (const FlameBox& box : Layout().boxes) {
    if (box.rect.intersects(event->rect())) PaintBox(painter, box, zoomed);
  }
}

void FlameCanvas::PaintBox(QPainter& painter, const FlameBox& box, int zoomed) {
  const Theme theme = Theme::From(palette());
  const analysis::FlameNode& node = Node(*tree_, box.node);
  const QString function = ToQString(node.function);
  QColor fill = box.node == 0 ? theme.Categorical(-1).lighter(theme.dark ? 80 : 130)
                              : theme.Frame(node.python, function);
  const bool above = box.depth < 1
                         ? zoomed != box.node
                         : box.rect.width() >= width() && box.node != zoomed && box.node < zoomed;
  if (above) fill = fill.darker(theme.dark ? 150 : 108);
  if (!search_.isEmpty()) {
    if (matches_[static_cast<std::size_t>(box.node)]) {
      fill = theme.Categorical(3);
    } else {
      fill = theme.hole;
    }
  }
  if (box.node == hover_) fill = fill.lighter(theme.dark ? 125 : 108);
  QRectF rect = box.rect.adjusted(0, 0, box.rect.width() > 3 ? -1 : 0, -1);
  painter.fillRect(rect, fill);
  if (box.node == hover_) {
    painter.setPen(theme.text);
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  rect.adjust(5, 0, -4, 0);
  if (rect.width() < 24) return;
  painter.setPen(!search_.isEmpty() && !matches_[static_cast<std::size_t>(box.node)]
                     ? theme.muted
                     : Theme::TextOn(fill));
  const QString name = ShortFunction(function);
  const QString value =
      value_ == FlameValue::kBytes ? FormatBytes(node.bytes) : FormatCount(node.blocks);
  const QFontMetricsF metrics(painter.font());
  const double value_width = metrics.horizontalAdvance(value) + kSpace;
  const double name_width = metrics.horizontalAdvance(name);
  if (name_width + value_width + kSpace < rect.width()) {
    painter.drawText(rect, Qt::AlignRight | Qt::AlignVCenter, value);
    rect.setRight(rect.right() - value_width);
  }
  DrawElided(painter, rect, Qt::AlignLeft | Qt::AlignVCenter, name);
}

QString FlameCanvas::NodeText(int index) const {
  if (tree_ == nullptr || index < 0) return {};
  const analysis::FlameNode& node = Node(*tree_, index);
  const auto whole = static_cast<double>(NodeValue(Node(*tree_, 0), value_));
  const double share = whole > 0 ? static_cast<double>(NodeValue(node, value_)) / whole : 0;
  QString text = ToQString(node.function);
  if (!node.file.empty()) {
    text += QStringLiteral("\n%1:%2").arg(ToQString(node.file)).arg(node.line);
  } else if (!node.module.empty()) {
    text += QLatin1Char('\n') + ToQString(node.module);
  }
  text += tr("\n%1 in %2  ·  %3 of all")
              .arg(FormatBytes(node.bytes), FormatPlural(node.blocks, tr("allocation")),
                   FormatPercent(share));
  if (node.self_bytes > 0 && node.self_bytes != node.bytes) {
    text += tr("\n%1 of it right here").arg(FormatBytes(node.self_bytes));
  }
  text += node.python ? tr("\nPython") : tr("\nnative");
  return text;
}

void FlameCanvas::mousePressEvent(QMouseEvent* event) {
  if (tree_ == nullptr || event->button() != Qt::LeftButton) {
    QWidget::mousePressEvent(event);
    return;
  }
  const int node = FlameHit(Layout(), event->position(), RowHeight());
  if (node >= 0) selection_->SetFlamePath(FlamePath(*tree_, node));
}

void FlameCanvas::mouseMoveEvent(QMouseEvent* event) {
  const int node = tree_ == nullptr ? -1 : FlameHit(Layout(), event->position(), RowHeight());
  if (node == hover_) return;
  hover_ = node;
  setCursor(node >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void FlameCanvas::leaveEvent(QEvent*) {
  hover_ = -1;
  update();
}

void FlameCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const int node = tree_ == nullptr ? -1 : FlameHit(Layout(), event->pos(), RowHeight());
  QMenu menu(this);
  if (node >= 0) {
    menu.addAction(tr("Copy"), this,
                   [this, node] { QApplication::clipboard()->setText(NodeText(node)); });
  }
  menu.addAction(tr("Zoom all the way out"), this, [this] { selection_->SetFlamePath({}); });
  menu.exec(event->globalPos());
}

bool FlameCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int node = tree_ == nullptr ? -1 : FlameHit(Layout(), help->pos(), RowHeight());
  if (node < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), NodeText(node), this);
  }
  return true;
}

void FlameCanvas::resizeEvent(QResizeEvent*) { Relayout(); }

}  // namespace memprof::viewer
