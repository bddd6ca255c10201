// The rows of the timeline's picture of all devices.
#include "viewer/models/device_rows.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "analysis/store/lifetime_walk.h"
#include "viewer/models/process_model.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::EventId;
using analysis::Layer;

// Sums up what the stacks are made of: driver memory, segments, blocks.
class RowFinder {
 public:
  explicit RowFinder(const analysis::Session& session) : session_(session) {}

  void Birth(EventId, AllocationId id) { Change(id, true); }
  void Death(EventId, AllocationId id) { Change(id, false); }
  void After(EventId) {}
  std::vector<DeviceRow> Finish() const {
    std::vector<DeviceRow> rows;
    for (const auto& [key, sums] : sums_) {
      if (sums.peak == 0) continue;
      rows.push_back({key.first, key.second, QStringLiteral("GPU %1").arg(key.second), sums.peak});
      if (session_.processes().size() > 1)
        rows.back().name.prepend(ProcessName(session_, key.first) + QStringLiteral(" · "));
    }
    return rows;
  }

 private:
  struct Sums {
    std::array<std::uint64_t, 3> bytes{};
    std::uint64_t peak = 0;
  };

  void Change(AllocationId id, bool born) {
    const analysis::AllocationRecord& a = session_.record(id);
    const int kind = a.layer == Layer::kSegment          ? 0
                     : a.layer == Layer::kBlock          ? 1
                     : analysis::OccupiesDevice(a.layer) ? 2
                                                         : -1;
    if (kind < 0 || a.device == analysis::kNoDevice) return;
    Sums& sums = sums_[{session_.ProcessOf(a.birth), a.device}];
    std::uint64_t& bytes = sums.bytes[static_cast<std::size_t>(kind)];
    bytes = born ? bytes + a.bytes : bytes - a.bytes;
    sums.peak = std::max(sums.peak, bytes);
  }

  const analysis::Session& session_;
  std::map<std::pair<std::uint32_t, int>, Sums> sums_;
};

}  // namespace

std::vector<DeviceRow> ListDeviceRows(const analysis::Session& session) {
  RowFinder finder(session);
  analysis::WalkLifetimes(session, finder);
  return finder.Finish();
}

std::shared_ptr<const TimelineBands> MakeRowBands(const analysis::TimelineStack& kinds,
                                                  const DeviceRow& row,
                                                  const analysis::TimelineQuery& query,
                                                  const SiteColorsOf& colors) {
  analysis::TimelineQuery own = query;
  if (kinds.session()->processes().size() > 1) own.process = row.process;
  return std::make_shared<const TimelineBands>(MakeBands(
      std::make_shared<const analysis::TimelineStack>(kinds, analysis::FindGroups(kinds, own)),
      query.symbols, colors));
}

double RowLayout::range() const {
  return std::max(0.0, height * static_cast<double>(rows) - shown);
}

std::size_t RowLayout::first() const {
  return std::min(rows, static_cast<std::size_t>(std::max(0.0, offset) / height));
}

std::size_t RowLayout::last() const {
  std::size_t row = first();
  while (row < rows && Top(row) < shown) ++row;
  return row;
}

int RowLayout::At(double y) const {
  if (y < 0 || y >= shown) return -1;
  const auto row = static_cast<std::size_t>((y + offset) / height);
  return row < rows ? static_cast<int>(row) : -1;
}

RowLayout LayOutRows(std::size_t rows, double shown, double offset, double least, double most) {
  RowLayout layout;
  layout.rows = rows;
  layout.shown = std::max(1.0, shown);
  if (rows > 0) layout.height = std::clamp(layout.shown / static_cast<double>(rows), least, most);
  layout.offset = std::clamp(offset, 0.0, layout.range());
  return layout;
}

}  // namespace memprof::viewer
