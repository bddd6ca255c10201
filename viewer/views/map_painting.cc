// How the address map is painted: segments as bars, blocks in them, holes hatched.
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "analysis/store/private_pools.h"
#include "viewer/geometry/units.h"
#include "viewer/views/map_canvas.h"
#include "viewer/views/text.h"

namespace memprof::viewer {

using analysis::MapPiece;
using analysis::MapSegment;

QColor MapCanvas::PieceColor(const MapPiece& piece, const Theme& theme) const {
  if (piece.hole()) return theme.hole;
  if (!Passes(document_->passing().get(), piece.allocation)) return theme.border;
  const analysis::Session& session = *document_->session();
  const analysis::AllocationRecord& allocation = session.record(piece.allocation);
  switch (coloring_) {
    case Coloring::kSite: {
      const auto rank = picture_->rank.find(allocation.stack);
      return theme.Categorical(rank != picture_->rank.end()
                                   ? picture_->sites[static_cast<std::size_t>(rank->second)].color
                                   : -1);
    }
    case Coloring::kAge: {
      // Logarithmic: from this moment to the whole recording.
      const analysis::TimeNs birth = session.events().time(allocation.birth.value);
      const double age =
          static_cast<double>(picture_->map.time - std::min(picture_->map.time, birth));
      const double whole =
          std::max(1.0, static_cast<double>(picture_->map.time - document_->bounds().begin));
      return theme.Ramp(age < 1 ? 0 : 1 + std::log10(age / whole) / 4);
    }
    case Coloring::kSize:
      return theme.Ramp(std::log2(1.0 + static_cast<double>(piece.bytes)) /
                        std::log2(1.0 + static_cast<double>(picture_->largest_block)));
  }
  return theme.muted;
}

void MapCanvas::paintEvent(QPaintEvent* event) {
  QPainter painter(this);
  const Theme theme = Theme::From(palette());
  painter.fillRect(event->rect(), theme.surface);
  painter.setFont(SmallFont(font()));
  if (picture_ == nullptr || picture_->map.segments.empty()) {
    painter.setPen(theme.muted);
    painter.drawText(rect().adjusted(0, 3 * kSpace, 0, 0), Qt::AlignHCenter | Qt::AlignTop,
                     picture_ == nullptr ? tr("Laying out memory …")
                                         : tr("This device holds nothing at this instant."));
    return;
  }
  for (const MapBar& bar : layout_of_map().bars) {
    if (!bar.rect.adjusted(-width(), -1, 1, 1).intersects(event->rect())) continue;
    PaintBar(painter, bar, theme);
    if (bar.first) PaintLabel(painter, bar, theme);
  }
  PaintFrames(painter, theme);
}

void MapCanvas::PaintLabel(QPainter& painter, const MapBar& bar, const Theme& theme) {
  // Only the first segment of a line has space on its left.
  const auto first = layout_.line_begin[static_cast<std::size_t>(bar.line)];
  if (&layout_.bars[first] != &bar) return;
  painter.setPen(theme.muted);
  const MapSegment& segment = picture_->map.segments[static_cast<std::size_t>(bar.segment)];
  DrawElided(painter, QRectF(0, bar.rect.top(), LabelWidth() - kSpace, bar.rect.height()),
             Qt::AlignRight | Qt::AlignVCenter, FormatAddress(segment.address), Qt::ElideLeft);
}

void MapCanvas::PaintBar(QPainter& painter, const MapBar& bar, const Theme& theme) {
  const MapSegment& segment = picture_->map.segments[static_cast<std::size_t>(bar.segment)];
  painter.fillRect(bar.rect, theme.hole);
  // Begins with the piece that contains the bar's first byte.
  auto piece =
      std::upper_bound(segment.pieces.begin(), segment.pieces.end(), segment.address + bar.offset,
                       [](std::uint64_t a, const MapPiece& p) { return a < p.address; });
  if (piece != segment.pieces.begin()) --piece;
  double painted_to = -1;  // pieces thinner than a pixel: at most one is painted per pixel
  for (; piece != segment.pieces.end(); ++piece) {
    const auto rect = PieceRect(bar, segment, *piece);
    if (!rect.has_value()) {
      if (piece->address >= segment.address + bar.offset + bar.bytes) break;
      continue;
    }
    if (rect->width() < 0.5 && rect->right() < painted_to) continue;
    PaintPiece(painter, *rect, *piece, theme);
    painted_to = std::max(painted_to, std::floor(rect->right()) + (rect->width() < 1 ? 1 : 0));
  }
  // A private pool is a line below its segments: their memory serves nothing else.
  const auto pool =
      picture_->pools.find(analysis::PrivatePoolOf(*document_->session(), segment.allocation));
  if (pool != picture_->pools.end()) {
    constexpr double kLine = 3;
    painter.fillRect(QRectF(bar.rect.left(), bar.rect.bottom() - kLine, bar.rect.width(), kLine),
                     theme.Categorical(pool->second));
  }
  painter.setPen(theme.border);
  painter.setBrush(Qt::NoBrush);
  painter.drawRect(bar.rect.adjusted(0, 0, 0, 0));
}

void MapCanvas::PaintPiece(QPainter& painter, const QRectF& rect, const MapPiece& piece,
                           const Theme& theme) {
  if (piece.hole()) {
    painter.fillRect(
        rect, QBrush(theme.dark ? theme.border.lighter(120) : theme.border, Qt::BDiagPattern));
    return;
  }
  const QColor fill = PieceColor(piece, theme);
  const double gap = rect.width() > 3 ? 1 : 0;
  painter.fillRect(rect.adjusted(0, 0, -gap, 0), fill);
  const bool pins = picture_->Pins(piece.allocation);
  const double mark = std::max(rect.left() + rect.width() / 2, rect.right() - 9);
  if (pins && rect.width() >= 2) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.surface, 1));
    painter.setBrush(theme.danger);
    painter.drawEllipse(QPointF(mark, rect.center().y()), 4, 4);
    painter.setRenderHint(QPainter::Antialiasing, false);
  }
  if (rect.width() < 48) return;
  const QRectF room = rect.adjusted(5, 0, pins ? -16 : -5, 0);
  QString label = TensorAt(*document_->session(), piece.allocation, picture_->map.time);
  // Without space for name and shape, only the end of the name.
  if (TextWidth(painter.font(), label) > room.width()) {
    label = label.left(label.indexOf(QStringLiteral("  ")));
  }
  // A few letters name nothing.
  constexpr int kFewest = 9;
  if (TextWidth(painter.font(), label) > room.width() &&
      room.width() < kFewest * QFontMetricsF(painter.font()).averageCharWidth())
    label.clear();
  painter.setPen(Theme::TextOn(fill));
  constexpr int kPlace = Qt::AlignLeft | Qt::AlignVCenter;
  if (!label.isEmpty()) {
    DrawElided(painter, room, kPlace, label, Qt::ElideLeft);
    return;
  }
  // A size is never cut at its left, because without its first digits it would be wrong. There are
  // a thousand in a large window: each is measured once only.
  label = FormatBytes(piece.bytes);
  if (TextWidth(painter.font(), label) <= room.width())
    painter.drawText(room, kPlace | Qt::TextSingleLine, label);
}

void MapCanvas::PaintFrames(QPainter& painter, const Theme& theme) {
  const auto frame = [&](const MapHit& hit, const QColor& color, double width) {
    const MapSegment& segment = picture_->map.segments[static_cast<std::size_t>(hit.segment)];
    for (const MapBar& bar : layout_.bars) {
      if (bar.segment != hit.segment) continue;
      const auto rect =
          hit.piece < 0
              ? std::optional<QRectF>(bar.rect)
              : PieceRect(bar, segment, segment.pieces[static_cast<std::size_t>(hit.piece)]);
      if (!rect.has_value()) continue;
      painter.setPen(QPen(color, width));
      painter.setBrush(Qt::NoBrush);
      painter.drawRect(rect->adjusted(0, 0, 0, 0));
    }
  };
  if (const auto hole = FindLargestHole(picture_->map)) {
    frame(*hole, theme.accent, 2);
    if (const auto rect = WidestRectOf(*hole)) {
      const QString text = tr("largest hole %1").arg(FormatBytes(picture_->map.largest_hole));
      const double text_width = TextWidth(painter.font(), text) + kSpace;
      if (text_width + kSpace < rect->width()) {
        const QRectF box(rect->center().x() - text_width / 2, rect->top() + 3, text_width,
                         rect->height() - 6);
        painter.fillRect(box, theme.surface);
        painter.setPen(theme.accent);
        painter.drawText(box, Qt::AlignCenter, text);
      }
    }
  }
  PaintRequest(painter, theme);
  // All blocks of the selected site, and the selected one itself.
  if (selection_->site().valid()) {
    for (std::size_t s = 0; s < picture_->map.segments.size(); ++s) {
      const std::vector<MapPiece>& pieces = picture_->map.segments[s].pieces;
      for (std::size_t p = 0; p < pieces.size(); ++p) {
        if (pieces[p].hole() ||
            MapPicture::SiteOf(*document_->session(), pieces[p].allocation) != selection_->site()) {
          continue;
        }
        frame({static_cast<int>(s), static_cast<int>(p)}, theme.text, 1);
      }
    }
  }
  if (const auto hit = FindAllocation(picture_->map, selection_->allocation())) {
    frame(*hit, theme.text, 2.5);
  }
  // A chosen block becomes the selection; a hole cannot be selected.
  if (chosen_.has_value() && chosen_->piece >= 0 &&
      picture_->map.segments[static_cast<std::size_t>(chosen_->segment)]
          .pieces[static_cast<std::size_t>(chosen_->piece)]
          .hole()) {
    frame(*chosen_, theme.text, 1.5);
  }
  if (hover_.has_value()) frame(*hover_, theme.accent, 2);
}

void MapCanvas::PaintRequest(QPainter& painter, const Theme& theme) {
  const auto bar = RequestRect();
  if (!bar.has_value()) return;
  painter.fillRect(bar->adjusted(0, -1, 0, 0), theme.surface);
  painter.fillRect(*bar, theme.danger);
  const double needed =
      static_cast<double>(picture_->request->bytes) / layout_of_map().bytes_per_pixel;
  QString text = tr("needed %1").arg(FormatBytes(picture_->request->bytes));
  if (needed > bar->width() + 1) text += QStringLiteral(" →");  // continues beyond the line
  const double text_width = TextWidth(painter.font(), text) + kSpace;
  const double height = QFontMetricsF(painter.font()).height();
  const double top = bar->top() - 1 - height;
  const double left = std::clamp(bar->right() - text_width, LabelWidth(), width() - text_width);
  const QRectF box(left, top, text_width, height);
  painter.fillRect(box, theme.surface);
  painter.setPen(theme.danger);
  painter.drawText(box, Qt::AlignCenter, text);
}

}  // namespace memprof::viewer
