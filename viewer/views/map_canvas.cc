// The address map itself: where things lie, mouse and keys. Painting is in map_painting.cc.
#include "viewer/views/map_canvas.h"

#include <QHelpEvent>
#include <QKeyEvent>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "viewer/geometry/units.h"
#include "viewer/views/text.h"

namespace memprof::viewer {

using analysis::MapPiece;
using analysis::MapSegment;

MapCanvas::MapCanvas(Document* document, Selection* selection, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection) {
  setAttribute(Qt::WA_OpaquePaintEvent);
  setMouseTracking(true);
  setFocusPolicy(Qt::StrongFocus);
  setAccessibleName(tr("Address map"));
  connect(document_, &Document::PassingChanged, this, qOverload<>(&QWidget::update));
  connect(selection_, &Selection::SelectionChanged, this, [this] { update(); });
}

void MapCanvas::SetPicture(std::shared_ptr<const MapPicture> picture) {
  picture_ = std::move(picture);
  hover_.reset();
  chosen_.reset();
  Relayout();
}

void MapCanvas::SetColoring(Coloring coloring) {
  coloring_ = coloring;
  update();
}

void MapCanvas::SetViewHeight(int height) {
  if (height == view_height_) return;
  view_height_ = height;
  Relayout();
}

double MapCanvas::LabelWidth() const {
  return TextWidth(SmallFont(font()), QStringLiteral("0x7f00 0000 0000")) + kSpace;
}

void MapCanvas::Relayout() {
  dirty_ = true;
  // Lines that were stretched to the view's height are not higher by a rounding error.
  setMinimumHeight(static_cast<int>(std::ceil(layout_of_map().content_height - 0.01)));
  update();
}

const MapLayout& MapCanvas::layout_of_map() {
  if (dirty_) {
    MapLayoutOptions options;
    options.left = LabelWidth();
    options.width = width() - options.left - kSpace;
    options.height = view_height_;
    options.zoom = zoom_;
    layout_ = picture_ != nullptr ? LayOutMap(picture_->map, options) : MapLayout();
    dirty_ = false;
  }
  return layout_;
}

std::optional<QRectF> MapCanvas::RectOf(const MapHit& hit) {
  if (picture_ == nullptr) return std::nullopt;
  for (const MapBar& bar : layout_of_map().bars) {
    if (bar.segment != hit.segment) continue;
    if (hit.piece < 0) return bar.rect;
    const MapSegment& segment = picture_->map.segments[static_cast<std::size_t>(hit.segment)];
    const auto rect = PieceRect(bar, segment, segment.pieces[static_cast<std::size_t>(hit.piece)]);
    if (rect.has_value()) return rect;
  }
  return std::nullopt;
}

std::optional<QRectF> MapCanvas::WidestRectOf(const MapHit& hit) {
  std::optional<QRectF> widest;
  const MapSegment& segment = picture_->map.segments[static_cast<std::size_t>(hit.segment)];
  for (const MapBar& bar : layout_of_map().bars) {
    if (bar.segment != hit.segment) continue;
    const auto rect = PieceRect(bar, segment, segment.pieces[static_cast<std::size_t>(hit.piece)]);
    if (rect.has_value() && (!widest.has_value() || rect->width() > widest->width())) widest = rect;
  }
  return widest;
}

std::optional<QRectF> MapCanvas::RequestRect() {
  if (picture_ == nullptr || !picture_->request.has_value()) return std::nullopt;
  const auto hole = FindLargestHole(picture_->map);
  if (!hole.has_value()) return std::nullopt;
  const auto rect = WidestRectOf(*hole);
  if (!rect.has_value()) return std::nullopt;
  const double needed =
      static_cast<double>(picture_->request->bytes) / layout_of_map().bytes_per_pixel;
  return QRectF(rect->left(), rect->bottom() - 5,
                std::max(2.0, std::min(needed, width() - kSpace - rect->left())), 5);
}

void MapCanvas::Choose(const MapHit& hit) {
  chosen_ = hit;
  const MapSegment& segment = picture_->map.segments[static_cast<std::size_t>(hit.segment)];
  analysis::AllocationId id = segment.allocation;
  QString text;
  if (hit.piece >= 0) {
    const MapPiece& piece = segment.pieces[static_cast<std::size_t>(hit.piece)];
    id = piece.allocation;
    if (piece.hole()) {
      HoleStory story = DescribeHole(*document_->session(), *picture_, hit.segment, hit.piece);
      id = story.pin;
      text = std::move(story.text);
    }
  }
  emit HoleChosen(text);
  selection_->SelectAllocation(id, MapPicture::SiteOf(*document_->session(), id));
  update();
}

void MapCanvas::mousePressEvent(QMouseEvent* event) {
  if (picture_ == nullptr || event->button() != Qt::LeftButton) return;
  const auto hit = HitTest(picture_->map, layout_of_map(), event->position());
  if (hit.has_value()) {
    Choose(*hit);
    return;
  }
  chosen_.reset();
  emit HoleChosen({});
  selection_->SelectAllocation({}, {});
}

std::optional<MapHit> MapCanvas::Neighbour(int step) const {
  const std::vector<MapSegment>& segments = picture_->map.segments;
  auto at = chosen_.has_value() ? chosen_ : FindAllocation(picture_->map, selection_->allocation());
  if (segments.empty()) return std::nullopt;
  if (!at.has_value()) return MapHit{0, 0};
  at->piece = std::max(0, at->piece) + step;
  const auto pieces = [&](int segment) {
    return static_cast<int>(segments[static_cast<std::size_t>(segment)].pieces.size());
  };
  while (at->piece < 0 && at->segment > 0) at->piece += pieces(--at->segment);
  while (at->piece >= pieces(at->segment) && at->segment + 1 < static_cast<int>(segments.size())) {
    at->piece -= pieces(at->segment++);
  }
  at->piece = std::clamp(at->piece, 0, std::max(0, pieces(at->segment) - 1));
  return at;
}

void MapCanvas::keyPressEvent(QKeyEvent* event) {
  if (picture_ == nullptr || picture_->map.segments.empty()) {
    QWidget::keyPressEvent(event);
    return;
  }
  std::optional<MapHit> next;
  switch (event->key()) {
    case Qt::Key_Left:
      next = Neighbour(-1);
      break;
    case Qt::Key_Right:
      next = Neighbour(1);
      break;
    case Qt::Key_H:
      next = FindLargestHole(picture_->map);
      break;
    default:
      QWidget::keyPressEvent(event);
      return;
  }
  if (next.has_value()) Choose(*next);
}

void MapCanvas::mouseMoveEvent(QMouseEvent* event) {
  if (picture_ == nullptr) return;
  hover_ = HitTest(picture_->map, layout_of_map(), event->position());
  update();
}

void MapCanvas::wheelEvent(QWheelEvent* event) {
  if (!event->modifiers().testFlag(Qt::ControlModifier)) {
    QWidget::wheelEvent(event);
    return;
  }
  zoom_ = std::clamp(zoom_ * std::pow(1.25, event->angleDelta().y() / 120.0), 1.0, 64.0);
  Relayout();
  event->accept();
}

void MapCanvas::leaveEvent(QEvent*) {
  hover_.reset();
  update();
}

bool MapCanvas::event(QEvent* event) {
  if (event->type() != QEvent::ToolTip || picture_ == nullptr) return QWidget::event(event);
  const auto* help = static_cast<QHelpEvent*>(event);
  const auto hit = HitTest(picture_->map, layout_of_map(), help->pos());
  if (hit.has_value()) {
    QToolTip::showText(help->globalPos(),
                       DescribePiece(*document_->session(), *picture_, hit->segment, hit->piece),
                       this);
  } else {
    QToolTip::hideText();
  }
  return true;
}

void MapCanvas::resizeEvent(QResizeEvent*) { Relayout(); }

}  // namespace memprof::viewer
