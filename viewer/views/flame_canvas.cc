// The flame graph itself.
#include "viewer/views/flame_canvas.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/call_tree_model.h"
#include "viewer/views/frame_actions.h"
#include "viewer/views/text.h"
#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr double kMaxRowStretch = 1.6;

}  // namespace

analysis::SourceFrame FrameOf(const analysis::FlameNode& node) {
  analysis::SourceFrame frame;
  frame.function = node.function;
  frame.file = node.file;
  frame.line = node.line;
  frame.module = node.module;
  frame.python = node.python;
  frame.symbolised = true;
  return frame;
}

FlameCanvas::FlameCanvas(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Flame graph"));
  setAccessibleDescription(
      tr("Arrows move, Space zooms to a frame, Backspace out of it, Enter opens its source."));
  empty_text_ = tr("Nothing was allocated here at this instant.");
  // Not for another window of time.
  connect(selection_, &Selection::ZoomChanged, this, [this, shown = QStringList()]() mutable {
    if (std::exchange(shown, selection_->flame_path()) != selection_->flame_path()) Relayout();
  });
  connect(selection_, &Selection::SelectionChanged, this, &FlameCanvas::Mark);
}

double FlameCanvas::RowHeight() const {
  return row_height_ > 0 ? row_height_ : QFontMetricsF(font()).height() + 7;
}

void FlameCanvas::SetTree(std::shared_ptr<const analysis::FlameTree> tree,
                          std::shared_ptr<const analysis::CallTree> source, FlameValue value) {
  const bool kept = tree_ != nullptr && tree != nullptr && current_ >= 0;
  const QStringList at = kept ? FlamePath(*tree_, current_) : QStringList();
  tree_ = std::move(tree);
  source_ = std::move(source);
  value_ = value;
  hover_ = -1;
  current_ = kept ? FlameFind(*tree_, at) : -1;
  SetSearch(search_);
  Mark();
  Relayout();
}

void FlameCanvas::SetRising(bool rising) {
  rising_ = rising;
  update();
}

QRectF FlameCanvas::Place(const QRectF& box) const {
  return rising_ ? QRectF(box.left(), height() - box.bottom(), box.width(), box.height()) : box;
}

int FlameCanvas::NodeAt(QPointF point) {
  if (tree_ == nullptr) return -1;
  if (rising_) point.setY(height() - point.y());
  return FlameHit(Layout(), point, RowHeight());
}

const analysis::FlameNode& FlameCanvas::NodeOf(int node) const { return Node(*tree_, node); }

const analysis::CallStacks* FlameCanvas::stacks() const {
  return source_ == nullptr ? nullptr : &source_->stacks();
}

bool FlameCanvas::bottom_up() const { return source_ != nullptr && source_->bottom_up(); }

void FlameCanvas::Mark() {
  marked_.clear();
  update();
  const analysis::StackId site = selection_->site();
  if (tree_ == nullptr || this->stacks() == nullptr || !site.valid()) return;
  const analysis::CallStacks& stacks = *this->stacks();
  std::size_t row = 0;
  while (row < stacks.size() && stacks.site(row) != site) ++row;
  if (row == stacks.size()) return;
  const auto path = stacks.path(row);
  int node = 0;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const analysis::SourceFrame& frame = stacks.frame(path[bottom_up() ? path.size() - 1 - i : i]);
    const std::vector<int>& children = Node(*tree_, node).children;
    const auto child = std::find_if(children.begin(), children.end(), [&](int c) {
      return Node(*tree_, c).function == frame.function && Node(*tree_, c).module == frame.module;
    });
    if (child == children.end()) return;
    node = *child;
    marked_.push_back(node);
  }
}

void FlameCanvas::SetSearch(const QString& text) {
  search_ = text;
  matches_.clear();
  matched_ = -1;
  if (tree_ != nullptr && !tree_->nodes.empty() && !text.isEmpty()) {
    matches_ = FlameSearch(*tree_, text);
    // Including nodes that are too small to be drawn.
    matched_ =
        source_ == nullptr
            ? static_cast<double>(FlameMatched(*tree_, matches_, value_)) /
                  static_cast<double>(std::max<std::uint64_t>(1, NodeValue(NodeOf(0), value_)))
            : analysis::MatchedShare(source_->stacks(), MatchingFunctions(source_->stacks(), text),
                                     value_ == FlameValue::kCount);
  }
  update();
}

void FlameCanvas::Relayout() {
  dirty_ = true;
  if (tree_ != nullptr && width() > 0) {
    const double wanted = Layout().content_height + (rising_ ? 0 : kSpace);
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
                     tree_ == nullptr ? tr("Finding call sites …") : empty_text_);
    return;
  }
  const int zoomed = FlameFind(*tree_, selection_->flame_path());
  for (const FlameBox& box : Layout().boxes) {
    if (Place(box.rect).intersects(event->rect())) PaintBox(painter, theme, box, zoomed);
  }
}

QColor FlameCanvas::Fill(const Theme& theme, const FlameBox& box, int zoomed) const {
  const analysis::FlameNode& node = Node(*tree_, box.node);
  if (!search_.isEmpty())
    return matches_[static_cast<std::size_t>(box.node)] ? theme.Categorical(3) : theme.hole;
  const QColor fill = box.node == 0 ? theme.Categorical(-1).lighter(theme.dark ? 80 : 130)
                                    : theme.Frame(node.python, ToQString(node.function));
  const bool above = box.depth < 1
                         ? zoomed != box.node
                         : box.rect.width() >= width() && box.node != zoomed && box.node < zoomed;
  return above ? fill.darker(theme.dark ? 150 : 108) : fill;
}

void FlameCanvas::PaintBox(QPainter& painter, const Theme& theme, const FlameBox& box, int zoomed) {
  const analysis::FlameNode& node = Node(*tree_, box.node);
  QColor fill = Fill(theme, box, zoomed);
  if (box.node == hover_) fill = fill.lighter(theme.dark ? 125 : 108);
  QRectF rect = Place(box.rect).adjusted(0, 0, box.rect.width() > 3 ? -1 : 0, -1);
  painter.fillRect(rect, fill);
  PaintOver(painter, rect, box.node, fill);
  if (std::binary_search(marked_.begin(), marked_.end(), box.node))
    painter.fillRect(QRectF(rect.left(), rect.bottom() - 2, rect.width(), 2), theme.accent);
  if (box.node == hover_ || (box.node == current_ && hasFocus())) {
    painter.setPen(QPen(theme.text, box.node == current_ && hasFocus() ? 2 : 1));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect.adjusted(0.5, 0.5, -0.5, -0.5));
  }
  rect.adjust(5, 0, -4, 0);
  if (rect.width() < 24) return;
  painter.setPen(!search_.isEmpty() && !matches_[static_cast<std::size_t>(box.node)]
                     ? theme.muted
                     : Theme::TextOn(fill));
  const QString name = ShortFunction(ToQString(node.function));
  const QString value = ValueText(box.node);
  const QFontMetricsF metrics(painter.font());
  const double value_width = metrics.horizontalAdvance(value) + kSpace;
  const double name_width = metrics.horizontalAdvance(name);
  if (name_width + value_width + kSpace < rect.width()) {
    painter.drawText(rect, Qt::AlignRight | Qt::AlignVCenter, value);
    rect.setRight(rect.right() - value_width);
  }
  DrawElided(painter, rect, Qt::AlignLeft | Qt::AlignVCenter, name);
}

QString FlameCanvas::ValueText(int node) const {
  return value_ == FlameValue::kBytes ? FormatBytes(NodeOf(node).bytes)
                                      : FormatCount(NodeOf(node).blocks);
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

void FlameCanvas::Choose(int node) {
  if (node < 0) return;
  selection_->SetFlamePath(FlamePath(*tree_, node));
  SetCurrent(node);
}

void FlameCanvas::mousePressEvent(QMouseEvent* event) {
  if (tree_ == nullptr || event->button() != Qt::LeftButton) {
    QWidget::mousePressEvent(event);
    return;
  }
  Click(NodeAt(event->position()));
}

void FlameCanvas::mouseDoubleClickEvent(QMouseEvent* event) {
  // The first click of the double click has zoomed to the frame, at the same position.
  if (event->button() == Qt::LeftButton) DoubleClick(NodeAt(event->position()));
}

void FlameCanvas::OpenSource(int node) {
  if (node > 0) OpenInEditor(this, *document_, FrameOf(Node(*tree_, node)));
}

void FlameCanvas::mouseMoveEvent(QMouseEvent* event) {
  const int node = NodeAt(event->position());
  if (node == hover_) return;
  hover_ = node;
  setCursor(node >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
  update();
}

void FlameCanvas::SetCurrent(int node) {
  current_ = node;
  if (node > 0) Select(node);
  update();
}

int FlameCanvas::Beside(int node, int by) const {
  const int parent = Node(*tree_, node).parent;
  if (parent < 0) return node;
  const std::vector<int>& siblings = Node(*tree_, parent).children;
  const auto at = std::find(siblings.begin(), siblings.end(), node) - siblings.begin() + by;
  if (at < 0 || at >= static_cast<std::ptrdiff_t>(siblings.size())) return node;
  return siblings[static_cast<std::size_t>(at)];
}

void FlameCanvas::keyPressEvent(QKeyEvent* event) {
  if (tree_ == nullptr || tree_->nodes.empty()) return QWidget::keyPressEvent(event);
  const int zoomed = FlameFind(*tree_, selection_->flame_path());
  if (current_ < 0) current_ = zoomed;
  const int inwards = rising_ ? Qt::Key_Up : Qt::Key_Down;
  const int outwards = rising_ ? Qt::Key_Down : Qt::Key_Up;
  const analysis::FlameNode& node = Node(*tree_, current_);
  if (event->key() == inwards) {
    if (!node.children.empty()) SetCurrent(node.children.front());
  } else if (event->key() == outwards) {
    if (node.parent >= 0) SetCurrent(node.parent);
  } else if (event->key() == Qt::Key_Left || event->key() == Qt::Key_Right) {
    SetCurrent(Beside(current_, event->key() == Qt::Key_Left ? -1 : 1));
  } else if (event->key() == Qt::Key_Space) {
    Choose(current_);
  } else if (event->key() == Qt::Key_Backspace) {
    Choose(Node(*tree_, zoomed).parent);
  } else if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
    OpenSource(current_);
  } else if (event->matches(QKeySequence::Copy)) {
    QApplication::clipboard()->setText(NodeText(current_));
  } else {
    QWidget::keyPressEvent(event);
  }
}

void FlameCanvas::focusInEvent(QFocusEvent* event) {
  QWidget::focusInEvent(event);
  update();
}

void FlameCanvas::focusOutEvent(QFocusEvent* event) {
  QWidget::focusOutEvent(event);
  update();
}

void FlameCanvas::leaveEvent(QEvent*) {
  hover_ = -1;
  update();
}

void FlameCanvas::contextMenuEvent(QContextMenuEvent* event) {
  const bool keyboard = event->reason() == QContextMenuEvent::Keyboard;
  const int node = keyboard ? current_ : NodeAt(event->pos());
  QMenu menu(this);
  if (node > 0)
    AddFrameActions(&menu, this, document_, selection_,
                    {FrameOf(Node(*tree_, node)), Node(*tree_, node).stack});
  if (node >= 0) {
    menu.addSeparator();
    menu.addAction(tr("Copy &figures"), this,
                   [this, node] { QApplication::clipboard()->setText(NodeText(node)); });
    menu.addAction(tr("&Zoom to it"), this, [this, node] { Choose(node); });
  }
  menu.addAction(tr("Zoom all the way o&ut"), this, [this] { selection_->SetFlamePath({}); });
  menu.exec(event->globalPos());
}

bool FlameCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const int node = NodeAt(help->pos());
  if (node < 0) {
    QToolTip::hideText();
  } else {
    QToolTip::showText(help->globalPos(), NodeText(node), this);
  }
  return true;
}

void FlameCanvas::resizeEvent(QResizeEvent*) { Relayout(); }

}  // namespace memprof::viewer
