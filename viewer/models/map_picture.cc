// All that the address map shows at one instant.
#include "viewer/models/map_picture.h"

#include <algorithm>
#include <utility>

#include "analysis/store/private_pools.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/document.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::MapPiece;
using analysis::MapSegment;
using analysis::Session;
using analysis::StackId;

void RankMapSites(const Session& session, analysis::Symbols& symbols, SiteColors& colors,
                  MapPicture& picture) {
  std::map<StackId, std::uint64_t> bytes;
  for (const MapSegment& segment : picture.map.segments) {
    for (const MapPiece& piece : segment.pieces) {
      if (piece.hole()) continue;
      bytes[MapPicture::SiteOf(session, piece.allocation)] += piece.bytes;
      picture.largest_block = std::max(picture.largest_block, piece.bytes);
    }
  }
  std::vector<StackId> stacks;
  for (const auto& [stack, sum] : bytes) stacks.push_back(stack);
  std::vector<NamedSite> named = NameSites(symbols, stacks);
  for (std::size_t i = 0; i < stacks.size(); ++i)
    picture.sites.push_back(
        {stacks[i], named[i].name, bytes[stacks[i]], std::move(named[i].key), -1});
  std::sort(picture.sites.begin(), picture.sites.end(), [](const MapSite& a, const MapSite& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
  });
  // Stacks that differ only above or below the site are one: they share a rank and a colour.
  std::map<QString, int> by_key;
  std::vector<MapSite> merged;
  for (const MapSite& site : picture.sites) {
    const auto [at, fresh] = by_key.emplace(site.key, static_cast<int>(merged.size()));
    if (fresh) {
      merged.push_back(site);
    } else {
      merged[static_cast<std::size_t>(at->second)].bytes += site.bytes;
    }
  }
  std::sort(merged.begin(), merged.end(), [](const MapSite& a, const MapSite& b) {
    return a.bytes != b.bytes ? a.bytes > b.bytes : a.name < b.name;
  });
  std::map<QString, int> rank_of;
  for (std::size_t i = 0; i < merged.size(); ++i) rank_of[merged[i].key] = static_cast<int>(i);
  for (const MapSite& site : picture.sites) picture.rank[site.stack] = rank_of[site.key];
  QStringList keys;
  for (const MapSite& site : merged) keys << site.key;
  const std::vector<int> shown = colors.Of(keys);
  for (std::size_t i = 0; i < merged.size(); ++i) merged[i].color = shown[i];
  picture.sites = std::move(merged);
}

void FindPins(const analysis::FragmentationHistory& history, MapPicture& picture) {
  const Session& session = history.session();
  const std::vector<analysis::PoolFragmentation> pools =
      history.At(picture.map.device, picture.map.time);
  const analysis::Pin* worst = nullptr;
  for (const analysis::PoolFragmentation& pool : pools) {
    for (const analysis::Pin& pin : pool.pins) {
      picture.pins.emplace(pin.block, pin);
      if (picture.Pins(pin.block) && (worst == nullptr || pin.frees_bytes > worst->frees_bytes)) {
        worst = &pin;
      }
    }
  }
  if (worst == nullptr || worst->frees_bytes == 0) return;
  picture.worst_pin = worst->block;
  const QString tensor = TensorAt(session, worst->block, picture.map.time);
  const auto site = picture.rank.find(MapPicture::SiteOf(session, worst->block));
  const QString who = !tensor.isEmpty() ? tensor
                      : site != picture.rank.end()
                          ? picture.sites[static_cast<std::size_t>(site->second)].name
                          : QStringLiteral("a block");
  picture.pinned_by =
      (worst->empties_segment
           ? QStringLiteral("worst pin: %1 (%2) alone keeps a segment with %3 free around it")
           : QStringLiteral("worst pin: %1 (%2) lies between %3 of free memory"))
          .arg(who, FormatBytes(worst->bytes), FormatBytes(worst->frees_bytes));
}

// The failure of the device that is nearest in time, among those with a known size.
void FindRequest(std::span<const analysis::FailedRequest> failures, MapPicture& picture) {
  const auto distance = [&picture](const analysis::FailedRequest& failure) {
    return failure.time > picture.map.time ? failure.time - picture.map.time
                                           : picture.map.time - failure.time;
  };
  for (const analysis::FailedRequest& failure : failures) {
    if (failure.device != picture.map.device || failure.bytes == 0) continue;
    if (!picture.request.has_value() || distance(failure) < distance(*picture.request))
      picture.request = failure;
  }
  if (!picture.request.has_value()) return;
  const std::uint64_t needed = picture.request->bytes, hole = picture.map.largest_hole;
  QString text = picture.request->step >= 0
                     ? QStringLiteral("failed in step %1: needed %2, ")
                           .arg(picture.request->step)
                           .arg(FormatBytes(needed))
                     : QStringLiteral("failed: needed %1, ").arg(FormatBytes(needed));
  if (hole == 0) {
    text += QStringLiteral("there is no hole here");
  } else if (hole < needed) {
    text += QStringLiteral("the largest hole here is %1, %2 too small")
                .arg(FormatBytes(hole), FormatBytes(needed - hole));
  } else {
    text += QStringLiteral("the largest hole here is %1 and would hold it, if its pool may use it")
                .arg(FormatBytes(hole));
  }
  picture.request_text = text;
}

// "h.0.attn.weight (7.00 MiB)": the tensor of a block, else its site.
QString NameBlock(const Session& session, const MapPicture& picture, const MapPiece& piece) {
  QString name = TensorAt(session, piece.allocation, picture.map.time);
  name = name.left(name.indexOf(QStringLiteral("  ")));
  const auto site = picture.rank.find(MapPicture::SiteOf(session, piece.allocation));
  if (name.isEmpty() && site != picture.rank.end())
    name = picture.sites[static_cast<std::size_t>(site->second)].name;
  return QStringLiteral("%1 (%2)").arg(name, FormatBytes(piece.bytes));
}

QString Row(const QString& name, const QString& value) {
  return QStringLiteral("<tr><td style='padding-right:10px'>%1</td><td>%2</td></tr>")
      .arg(name, value.toHtmlEscaped());
}

}  // namespace

StackId MapPicture::SiteOf(const Session& session, AllocationId id) {
  return id.valid() ? session.record(id).stack : StackId();
}

MapTotals TotalsOf(const analysis::AddressMap& map) {
  MapTotals totals;
  for (const analysis::MapSegment& segment : map.segments) {
    if (!segment.framework) continue;
    totals.reserved += segment.bytes;
    totals.in_use += segment.bytes - segment.free_bytes;
  }
  if (totals.reserved == 0) return {map.allocated_bytes, map.reserved_bytes, 0};
  totals.other = map.reserved_bytes - totals.reserved;
  return totals;
}

std::shared_ptr<const MapPicture> MakeMapPicture(const analysis::FragmentationHistory& history,
                                                 analysis::Symbols& symbols, int device,
                                                 analysis::TimeNs time,
                                                 std::span<const analysis::FailedRequest> failures,
                                                 SiteColors* colors) {
  const Session& session = history.session();
  auto picture = std::make_shared<MapPicture>();
  picture->map = analysis::BuildAddressMap(session, device, time);
  picture->step = session.StepAt(time);
  SiteColors by_rank;
  RankMapSites(session, symbols, colors != nullptr ? *colors : by_rank, *picture);
  FindPins(history, *picture);
  FindRequest(failures, *picture);
  for (const MapSegment& segment : picture->map.segments)
    if (const std::uint64_t pool = analysis::PrivatePoolOf(session, segment.allocation); pool != 0)
      picture->pools.try_emplace(pool, static_cast<int>(picture->pools.size()));
  return picture;
}

HoleStory DescribeHole(const Session& session, const MapPicture& picture, int segment, int piece) {
  const MapSegment& in = picture.map.segments[static_cast<std::size_t>(segment)];
  const std::vector<MapPiece>& pieces = in.pieces;
  const auto at = static_cast<std::ptrdiff_t>(piece);
  const MapPiece& hole = pieces[static_cast<std::size_t>(piece)];
  HoleStory story;
  const QString title = QStringLiteral("Hole of %1 in a segment of %2")
                            .arg(FormatBytes(hole.bytes), FormatBytes(in.bytes));
  const auto blocks = static_cast<std::uint64_t>(std::count_if(
      pieces.begin(), pieces.end(), [](const MapPiece& other) { return !other.hole(); }));
  if (const std::uint64_t pool = analysis::PrivatePoolOf(session, in.allocation);
      blocks == 0 && pool != 0) {
    story.text = title + QStringLiteral(
                             ": the whole segment is free; the %1 keeps it, and nothing else may "
                             "use it until what owns the pool has gone.")
                             .arg(ToQString(analysis::PrivatePoolName(pool)));
    return story;
  }
  if (blocks == 0) {
    story.text = title + QStringLiteral(
                             ": the whole segment is free; its allocator keeps it, and could "
                             "release it to the driver.");
    return story;
  }
  // The size of the hole without the block on one side.
  const auto without = [&](std::ptrdiff_t side) -> std::uint64_t {
    const std::ptrdiff_t block = at + side, beyond = at + 2 * side;
    if (block < 0 || block >= static_cast<std::ptrdiff_t>(pieces.size())) return 0;
    std::uint64_t bytes = hole.bytes + pieces[static_cast<std::size_t>(block)].bytes;
    if (beyond >= 0 && beyond < static_cast<std::ptrdiff_t>(pieces.size()) &&
        pieces[static_cast<std::size_t>(beyond)].hole()) {
      bytes += pieces[static_cast<std::size_t>(beyond)].bytes;
    }
    return bytes;
  };
  const auto block = [&](std::ptrdiff_t side) -> const MapPiece& {
    return pieces[static_cast<std::size_t>(at + side)];
  };
  const std::uint64_t before = without(-1), after = without(1);
  const bool first =
      before > after || (before == after && before > 0 && block(-1).bytes <= block(1).bytes);
  const std::ptrdiff_t side = first ? -1 : 1;
  story.pin = block(side).allocation;
  story.text = title + QStringLiteral(" with %1, pinned by %2")
                           .arg(FormatPlural(blocks, QStringLiteral("block")),
                                NameBlock(session, picture, block(side)));
  if (std::min(before, after) > 0) {
    story.text += QStringLiteral(" and %1").arg(NameBlock(session, picture, block(-side)));
  }
  story.text += blocks == 1 ? QStringLiteral(". Without it the segment would be empty.")
                            : QStringLiteral(". Without the %1 it would be %2.")
                                  .arg(std::min(before, after) > 0 ? QStringLiteral("first")
                                                                   : QStringLiteral("block"),
                                       FormatBytes(std::max(before, after)));
  return story;
}

QString TensorAt(const Session& session, AllocationId id, analysis::TimeNs time) {
  if (!id.valid()) return {};
  if (session.record(id).layer == analysis::Layer::kTensor) return TensorLabel(session, id);
  for (const AllocationId child : session.Children(id)) {
    if (session.record(child).layer == analysis::Layer::kTensor &&
        session.allocation(child).AliveAt(time))
      return TensorLabel(session, child);
  }
  return {};
}

QString DescribePiece(const Session& session, const MapPicture& picture, int segment, int piece) {
  const MapSegment& in = picture.map.segments[static_cast<std::size_t>(segment)];
  const QString segment_text =
      QStringLiteral("%1 at %2").arg(FormatBytes(in.bytes), FormatAddress(in.address));
  if (piece < 0) return QStringLiteral("segment of ") + segment_text;
  const MapPiece& shown = in.pieces[static_cast<std::size_t>(piece)];
  QString rows = Row(QStringLiteral("Size"), FormatBytes(shown.bytes));
  QString title;
  if (shown.hole()) {
    title = shown.bytes == picture.map.largest_hole ? QStringLiteral("largest free hole")
                                                    : QStringLiteral("free hole");
  } else {
    const analysis::Allocation& allocation = session.allocation(shown.allocation);
    title = TensorAt(session, shown.allocation, picture.map.time);
    if (title.isEmpty()) title = ToQString(analysis::LayerName(allocation.layer));
    if (allocation.requested != 0 && allocation.requested != shown.bytes) {
      rows += Row(QStringLiteral("Requested"), FormatBytes(allocation.requested));
    }
    const auto rank = picture.rank.find(allocation.stack);
    if (rank != picture.rank.end()) {
      rows += Row(QStringLiteral("Allocated at"),
                  picture.sites[static_cast<std::size_t>(rank->second)].name);
    }
    QString age =
        FormatDuration(picture.map.time - std::min(picture.map.time, allocation.birth_time));
    if (picture.step >= 0 && allocation.birth_step >= 0) {
      age += QStringLiteral(", %1 (since step %2)")
                 .arg(FormatPlural(static_cast<std::uint64_t>(picture.step - allocation.birth_step),
                                   QStringLiteral("step")))
                 .arg(allocation.birth_step);
    }
    rows += Row(QStringLiteral("Age"), age);
    const auto pin = picture.pins.find(shown.allocation);
    if (pin != picture.pins.end() && pin->second.frees_bytes > 0) {
      rows += Row(
          QStringLiteral("Pins"),
          QStringLiteral("%1 of free memory around it").arg(FormatBytes(pin->second.frees_bytes)));
    }
  }
  rows += Row(QStringLiteral("Address"), FormatAddress(shown.address));
  rows += Row(QStringLiteral("Segment"), segment_text);
  if (const std::uint64_t pool = analysis::PrivatePoolOf(session, in.allocation); pool != 0)
    rows += Row(QStringLiteral("Pool"), ToQString(analysis::PrivatePoolName(pool)));
  return QStringLiteral("<b>%1</b><table>%2</table>").arg(title.toHtmlEscaped(), rows);
}

}  // namespace memprof::viewer
