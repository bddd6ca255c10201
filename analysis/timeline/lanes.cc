// A place for every allocation in a picture of time along and bytes upwards.
#include "analysis/timeline/lanes.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>
#include <utility>

#include "absl/container/btree_map.h"
#include "analysis/base/first_fit.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kMinUnit = 256;
// First fit may need more space than the peak; programs need less than this many times the peak.
constexpr std::uint64_t kSlack = 8;
constexpr std::uint64_t kMaxLaneUnits = FirstFit::kEnd - 1;
// Gaps that are a smaller part of the whole than 1/kShownGap are shown.
constexpr std::uint64_t kShownGap = 500;

constexpr std::uint32_t kLaneLayers = LayerBit(Layer::kLinear) | LayerBit(Layer::kPitched) |
                                      LayerBit(Layer::kManaged) | LayerBit(Layer::kStreamOrdered) |
                                      LayerBit(Layer::kGraph) | LayerBit(Layer::kPinned) |
                                      LayerBit(Layer::kRegistered) | LayerBit(Layer::kBlock);

// Keeps the sum of live bytes.
struct PeakOfLayers {
  const Session& session;
  int device;
  std::uint64_t now = 0, peak = 0;

  bool Counts(AllocationId id) const {
    const AllocationRecord& a = session.record(id);
    return a.device == device && !IsFrameworkLayer(a.layer);
  }
  void Birth(EventId, AllocationId id) {
    if (Counts(id)) now += session.record(id).bytes;
    peak = std::max(peak, now);
  }
  void Death(EventId, AllocationId id) {
    if (Counts(id)) now -= session.record(id).bytes;
  }
  void After(EventId) {}
};

std::uint64_t UnitFor(std::uint64_t bytes) {
  return std::bit_ceil(std::max<std::uint64_t>(1, bytes / kMaxLaneUnits + 1));
}

std::uint64_t ChooseUnit(const Session& session, int device, const std::vector<AllocationId>& ids) {
  std::uint64_t sum = 0;
  for (const AllocationId id : ids) sum = EndAddress(sum, session.record(id).bytes);
  if (sum / kMinUnit + ids.size() < kMaxLaneUnits) return kMinUnit;
  PeakOfLayers peak{session, device};
  WalkLifetimes(session, peak);
  const std::uint64_t room = peak.peak > std::numeric_limits<std::uint64_t>::max() / kSlack
                                 ? std::numeric_limits<std::uint64_t>::max()
                                 : peak.peak * kSlack;
  return std::max(kMinUnit, UnitFor(room));
}

// Serves births and deaths in order of events.
class Packer {
 public:
  Packer(const Session& session, Lanes& lanes) : session_(session), lanes_(lanes) {
    row_of_.assign(session.records().size(), EventId::kNone);
    for (std::size_t i = 0; i < lanes.ids.size(); ++i)
      row_of_[lanes.ids[i].value] = static_cast<std::uint32_t>(i);
    lanes.low.assign(lanes.ids.size(), 0);
    lanes.high.assign(lanes.ids.size(), 0);
  }

  void Birth(EventId, AllocationId id) {
    const std::uint32_t row = row_of_[id.value];
    if (row == EventId::kNone) return;
    const std::uint64_t bytes = session_.record(id).bytes;
    const auto size = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>((bytes - 1) / lanes_.unit + 1, 1, kMaxLaneUnits));
    const std::uint32_t low = fit_.Take(size);
    // Only a damaged log has sizes that fit nowhere.
    if (low == FirstFit::kEnd) return;
    lanes_.low[row] = low;
    lanes_.high[row] = low + size;
  }
  void Death(EventId, AllocationId id) {
    const std::uint32_t row = row_of_[id.value];
    if (row == EventId::kNone || lanes_.high[row] == 0) return;
    fit_.Give(lanes_.low[row], lanes_.high[row] - lanes_.low[row]);
  }
  void After(EventId) {}

  std::uint32_t height() const { return fit_.height(); }

 private:
  const Session& session_;
  Lanes& lanes_;
  std::vector<std::uint32_t> row_of_;  // of each allocation: its row in lanes_
  FirstFit fit_;
};

// The union of ranges of addresses, by process.
class Mapped {
 public:
  void Add(std::uint32_t process, std::uint64_t begin, std::uint64_t end) {
    auto at = ranges_.upper_bound({process, begin});
    if (at != ranges_.begin()) {
      const auto before = std::prev(at);
      if (before->first.first == process && before->second >= begin) {
        if (before->second >= end) return;
        begin = before->first.second;
        at = ranges_.erase(before);
      }
    }
    while (at != ranges_.end() && at->first.first == process && at->first.second <= end) {
      end = std::max(end, at->second);
      at = ranges_.erase(at);
    }
    ranges_.emplace(std::pair(process, begin), end);
  }

  // In order, without the large gaps.
  std::vector<AddressSpan> Spans() const {
    std::uint64_t all = 0;
    for (const auto& [begin, end] : ranges_) all = EndAddress(all, end - begin.second);
    std::vector<AddressSpan> spans;
    std::uint64_t offset = 0;
    for (const auto& [begin, end] : ranges_) {
      const auto& [process, address] = begin;
      if (!spans.empty() && spans.back().process == process &&
          address - (spans.back().address + spans.back().bytes) <= all / kShownGap) {
        offset = spans.back().offset;
        spans.back().bytes = end - spans.back().address;
      } else {
        spans.push_back({process, address, end - address, offset});
      }
      offset = EndAddress(offset, spans.back().bytes);
    }
    return spans;
  }

 private:
  absl::btree_map<std::pair<std::uint32_t, std::uint64_t>, std::uint64_t> ranges_;
};

class AddressLayout {
 public:
  AddressLayout(const Session& session, AddressLanes& out) : session_(session), out_(out) {}

  void Map(const std::vector<AllocationId>& ids) {
    for (const AllocationId id : ids) {
      const AllocationRecord& a = session_.record(id);
      mapped_.Add(Process(a), a.address, EndAddress(a.address, a.bytes));
    }
  }
  void Finish() {
    out_.spans = mapped_.Spans();
    const std::uint64_t all =
        out_.spans.empty() ? 0 : EndAddress(out_.spans.back().offset, out_.spans.back().bytes);
    const std::uint64_t unit = UnitFor(all);
    for (Lanes* lanes : {&out_.lanes, &out_.segments}) {
      lanes->unit = unit;
      lanes->height = static_cast<std::uint32_t>(all / unit);
      if (all % unit != 0) ++lanes->height;
    }
  }
  void Place(Lanes& lanes) {
    lanes.low.reserve(lanes.ids.size());
    lanes.high.reserve(lanes.ids.size());
    for (const AllocationId id : lanes.ids) {
      const AllocationRecord& a = session_.record(id);
      const std::uint64_t offset = OffsetOf(Process(a), a.address);
      const std::uint64_t end = offset + (EndAddress(a.address, a.bytes) - a.address);
      lanes.low.push_back(static_cast<std::uint32_t>(offset / lanes.unit));
      lanes.high.push_back(static_cast<std::uint32_t>(end / lanes.unit));
    }
  }

 private:
  std::uint32_t Process(const AllocationRecord& a) const {
    return session_.processes().size() > 1 ? session_.ProcessOf(a.birth) : 0;
  }
  std::uint64_t OffsetOf(std::uint32_t process, std::uint64_t address) {
    const auto holds = [&](const AddressSpan& span) {
      return span.process == process && span.address <= address &&
             address - span.address < span.bytes;
    };
    if (last_ < out_.spans.size() && holds(out_.spans[last_]))
      return out_.spans[last_].offset + (address - out_.spans[last_].address);
    const auto above =
        std::upper_bound(out_.spans.begin(), out_.spans.end(), std::pair(process, address),
                         [](const auto& key, const AddressSpan& s) {
                           return key < std::pair(s.process, s.address);
                         });
    last_ = static_cast<std::size_t>(above - out_.spans.begin()) - 1;
    return out_.spans[last_].offset + (address - out_.spans[last_].address);
  }

  const Session& session_;
  AddressLanes& out_;
  Mapped mapped_;
  std::size_t last_ = 0;  // span of the last look-up
};

}  // namespace

std::vector<AllocationId> ShownAllocations(const Session& session, int device) {
  constexpr std::uint32_t kHost = LayerBit(Layer::kPinned) | LayerBit(Layer::kRegistered);
  constexpr std::uint32_t kDevice = kDeviceLayers | LayerBit(Layer::kBlock);
  const std::uint32_t layers = device == kNoDevice ? kHost : kDevice;
  const std::span<const AllocationRecord> records = session.records();
  std::vector<AllocationId> ids;
  const auto shown = [&](std::size_t i) {
    const AllocationRecord& a = records[i];
    return a.device == device && a.bytes > 0 && (LayerBit(a.layer) & layers) != 0 &&
           !(OccupiesDevice(a.layer) &&
             session.IsSuballocated(AllocationId(static_cast<std::uint32_t>(i))));
  };
  std::size_t count = 0;
  for (std::size_t i = 0; i < records.size(); ++i) count += shown(i);
  ids.reserve(count);
  for (std::size_t i = 0; i < records.size(); ++i)
    if (shown(i)) ids.push_back(AllocationId(static_cast<std::uint32_t>(i)));
  return ids;
}

Lanes PackLanes(const Session& session, int device, const std::stop_token& stop) {
  Lanes lanes;
  lanes.ids = ShownAllocations(session, device);
  lanes.unit = ChooseUnit(session, device, lanes.ids);
  Packer packer(session, lanes);
  constexpr std::uint32_t kPart = 1 << 18;  // events between checks of `stop`
  const auto events = static_cast<std::uint32_t>(session.events().size());
  for (std::uint32_t begin = 0; begin < events; begin += kPart) {
    if (stop.stop_requested()) return {};
    WalkLifetimes(session, EventId(begin), EventId(std::min(events, begin + kPart)), packer);
  }
  lanes.height = packer.height();
  return lanes;
}

AddressLanes LayOutAddresses(const Session& session, int device, const std::stop_token& stop) {
  AddressLanes out;
  out.lanes.ids = ShownAllocations(session, device);
  std::erase_if(out.lanes.ids, [&session](AllocationId id) {
    return (LayerBit(session.record(id).layer) & kLaneLayers) == 0;
  });
  const std::span<const AllocationRecord> records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i)
    if (records[i].layer == Layer::kSegment && records[i].device == device && records[i].bytes > 0)
      out.segments.ids.push_back(AllocationId(i));
  AddressLayout layout(session, out);
  layout.Map(out.segments.ids);
  layout.Map(out.lanes.ids);
  if (stop.stop_requested()) return {};
  layout.Finish();
  layout.Place(out.lanes);
  layout.Place(out.segments);
  return out;
}

std::uint64_t AddressLanes::AddressAt(double offset) const {
  if (spans.empty()) return 0;
  const auto at = static_cast<std::uint64_t>(std::max(0.0, offset));
  auto above = std::upper_bound(
      spans.begin(), spans.end(), at,
      [](std::uint64_t value, const AddressSpan& span) { return value < span.offset; });
  if (above != spans.begin()) --above;
  return above->address + std::min(at - std::min(at, above->offset), above->bytes);
}

}  // namespace memprof::analysis
