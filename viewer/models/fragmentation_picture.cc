// The content of the page on holes.
#include "viewer/models/fragmentation_picture.h"

#include <algorithm>

#include "analysis/store/private_pools.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::Hole;
using analysis::Pin;
using analysis::PoolFragmentation;
using analysis::Session;
using analysis::TimeNs;

constexpr std::size_t kMaxPoints = 400;
constexpr std::size_t kMaxGroups = 1 << 14;  // 64 KiB changes kept of each curve

QString PrivateName(std::uint64_t pool) {
  return pool == 0 ? QString()
                   : QStringLiteral(", ") + QString::fromStdString(analysis::PrivatePoolName(pool));
}

QString StreamName(std::uint64_t stream) {
  return stream == 0 ? QString() : QObject::tr(", stream %1").arg(FormatAddress(stream));
}

QString SizeClass(bool small) {
  return small ? QObject::tr("small blocks") : QObject::tr("large blocks");
}

// A time as text: the step, if there are steps.
FactCell When(const Session& session, TimeNs time, TimeNs start) {
  const TimeNs since = time - std::min(time, start);
  const std::int64_t step = session.StepAt(time);
  FactCell cell =
      FactCell::Number(step >= 0 ? QObject::tr("step %1").arg(step) : FormatDuration(since),
                       static_cast<double>(since) * 1e-9);
  cell.tip = QObject::tr("%1 after the start of the log").arg(FormatDuration(since));
  return cell;
}

QString SiteOf(const Session& session, analysis::Symbols& symbols, AllocationId id) {
  if (!id.valid()) return QObject::tr("(end of the segment)");
  return SiteName(symbols, session.record(id).stack);
}

QString TensorText(const Session& session, analysis::TensorId id) {
  const analysis::TensorInfo* tensor = session.tensor(id);
  if (tensor == nullptr) return {};
  return tensor->name.empty() ? QObject::tr("a tensor") : ToQString(tensor->name);
}

FactRow PinRow(const Session& session, analysis::Symbols& symbols, const Pin& pin,
               const QString& pool, TimeNs start) {
  FactRow row;
  row.allocation = pin.block;
  row.site = session.record(pin.block).stack;
  FactCell joins = FactCell::Bytes(pin.frees_bytes);
  joins.tip = QObject::tr("Free bytes that would be one piece if this block were freed");
  QString tensor = TensorText(session, pin.tensor);
  if (pin.empties_segment)
    tensor += tensor.isEmpty() ? QObject::tr("alone in its segment")
                               : QObject::tr(", alone in its segment");
  const TimeNs birth = session.events().time(session.record(pin.block).birth.value);
  row.cells = {joins,
               FactCell::Bytes(pin.bytes),
               When(session, birth, start),
               When(session, pin.unused_since, start),
               SiteOf(session, symbols, pin.block),
               tensor,
               pool};
  return row;
}

// The smaller neighbour, which is easier to free or move; none if the hole is the whole segment.
AllocationId Cheaper(const Session& session, const Hole& hole) {
  if (!hole.before.valid() || !hole.after.valid())
    return hole.before.valid() ? hole.before : hole.after;
  return session.record(hole.after).bytes < session.record(hole.before).bytes ? hole.after
                                                                              : hole.before;
}

FactRow HoleRow(const Session& session, analysis::Symbols& symbols, const Hole& hole,
                const QString& pool, TimeNs start) {
  const auto neighbour = [&](AllocationId id) {
    FactCell cell(SiteOf(session, symbols, id));
    if (id.valid())
      cell.tip = QObject::tr("%1 at %2, %3")
                     .arg(FormatBytes(session.record(id).bytes),
                          FormatAddress(session.record(id).address), cell.text);
    return cell;
  };
  FactRow row;
  row.allocation = Cheaper(session, hole);
  if (row.allocation.valid()) row.site = session.record(row.allocation).stack;
  FactCell address =
      FactCell::Number(FormatAddress(hole.address), static_cast<double>(hole.address));
  address.raw = FormatAddress(hole.address);
  row.cells = {FactCell::Bytes(hole.bytes),
               When(session, hole.since, start),
               neighbour(hole.before),
               neighbour(hole.after),
               address,
               pool};
  return row;
}

}  // namespace

QString PoolName(const analysis::PoolSeries& pool) {
  if (pool.kind == analysis::PoolKind::kStreamOrdered)
    return QObject::tr("driver pool %1").arg(FormatAddress(pool.pool));
  return SizeClass(pool.small_blocks) + PrivateName(pool.pool) + StreamName(pool.stream);
}

QString PoolName(const PoolFragmentation& pool) {
  return SizeClass(pool.small_blocks) + PrivateName(pool.private_pool) + StreamName(pool.stream);
}

std::vector<std::size_t> PoolsPicture::Of(int device) const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < pools.size(); ++i)
    if (pools[i].pool.device == device) found.push_back(i);
  return found;
}

bool PoolsPicture::HasSegments(int device) const {
  const std::vector<std::size_t> own = Of(device);
  return std::any_of(own.begin(), own.end(), [this](std::size_t i) {
    return pools[i].pool.kind == analysis::PoolKind::kSegments;
  });
}

const analysis::FragmentationPoint* PoolsPicture::Worst(int device) const {
  const analysis::FragmentationPoint* worst = nullptr;
  for (const std::size_t i : Of(device)) {
    const analysis::FragmentationPoint& point = pools[i].pool.worst;
    if (worst == nullptr || point.state.pinned > worst->state.pinned) worst = &point;
  }
  return worst;
}

std::shared_ptr<const PoolsPicture> MakePoolsPicture(const Session& session,
                                                     const std::function<void(double)>& progress,
                                                     const std::stop_token& stop) {
  auto picture = std::make_shared<PoolsPicture>();
  picture->pools = analysis::BuildPoolTimelines(session, kMaxPoints, kMaxGroups, [&](double share) {
    if (progress) progress(share);
    return !stop.stop_requested();
  });
  return stop.stop_requested() ? nullptr : picture;
}

PoolColumns MakePoolColumns(const analysis::PoolTimeline& pool, const TimeScale& scale,
                            int columns) {
  PoolColumns made;
  TimelineColumns& stack = made.stack;
  stack.window = scale.window;
  stack.clock = scale.clock;
  stack.columns = columns;
  stack.low.resize(2);
  stack.high.resize(2);
  const std::vector<TimeNs> edges = ColumnEdges(scale, columns);
  for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
    const auto sample = [&](const analysis::Series& series) {
      return series.Between(edges[i], edges[i + 1]);
    };
    const analysis::Series::Sample in_use = sample(pool.allocated);
    stack.low[PoolColumns::kInUse].push_back(in_use.min);
    stack.high[PoolColumns::kInUse].push_back(in_use.max);
    stack.high[PoolColumns::kReserved].push_back(sample(pool.reserved).max);
    made.largest_hole.push_back(sample(pool.largest_hole).max);
    made.share.push_back(sample(pool.share).max);
  }
  stack.low[PoolColumns::kReserved] = stack.high[PoolColumns::kReserved];
  return made;
}

std::vector<FactColumn> PinColumns() {
  return {{QObject::tr("Joins"), true,
           QObject::tr("Free bytes that would be one piece if the block were freed")},
          {QObject::tr("Block"), true, QObject::tr("Its own bytes")},
          {QObject::tr("Born"), true, {}},
          {QObject::tr("Holes since"), true,
           QObject::tr("Since when the holes beside it have been free")},
          {QObject::tr("Call site"), false, {}, true},
          {QObject::tr("Holds"), false, QObject::tr("The largest tensor in it")},
          {QObject::tr("Pool"), false, {}}};
}

std::vector<FactColumn> HoleColumns() {
  return {{QObject::tr("Hole"), true, {}},
          {QObject::tr("Unused since"), true, QObject::tr("Since when no byte of it was in use")},
          {QObject::tr("Block before it"), false, {}, true},
          {QObject::tr("Block after it"), false, {}, true},
          {QObject::tr("Address"), true, {}},
          {QObject::tr("Pool"), false, {}}};
}

std::shared_ptr<const HolesPicture> MakeHolesPicture(const analysis::FragmentationHistory& history,
                                                     analysis::Symbols& symbols, int device,
                                                     TimeNs time) {
  const Session& session = history.session();
  auto picture = std::make_shared<HolesPicture>();
  picture->device = device;
  picture->time = time;
  picture->step = session.StepAt(time);
  const TimeNs start = std::min(session.run().start_time, session.events().first_time());
  for (const PoolFragmentation& pool : history.At(device, time)) {
    picture->free_bytes += pool.free_bytes;
    picture->pinned += pool.pinned_bytes;
    picture->releasable += pool.releasable_bytes;
    picture->holes += pool.hole_count;
    picture->largest_hole = std::max(picture->largest_hole, pool.largest_hole);
    const QString name = PoolName(pool);
    for (const Pin& pin : pool.pins)
      picture->pin_rows.push_back(PinRow(session, symbols, pin, name, start));
    for (const Hole& hole : pool.holes)
      picture->hole_rows.push_back(HoleRow(session, symbols, hole, name, start));
  }
  const auto larger = [](const FactRow& a, const FactRow& b) {
    return a.cells[0].sort > b.cells[0].sort;
  };
  std::stable_sort(picture->pin_rows.begin(), picture->pin_rows.end(), larger);
  std::stable_sort(picture->hole_rows.begin(), picture->hole_rows.end(), larger);
  return picture;
}

}  // namespace memprof::viewer
