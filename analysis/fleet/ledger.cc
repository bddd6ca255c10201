// Where each byte of a device was.
#include "analysis/timeline/ledger.h"

#include <algorithm>

#include "analysis/fleet/internal/tables.h"
#include "analysis/timeline/timeline.h"

namespace memprof::analysis::fleet {
namespace {

using ByLayer = std::array<std::uint64_t, kLayerCount>;

// The driver memory that allocators divide, at an instant.
ByLayer DividedAt(const Session& session, int device, TimeNs time) {
  ByLayer divided{};
  for (const AllocationId id : session.LiveAt(time, kDeviceLayers)) {
    const AllocationRecord& a = session.record(id);
    if (a.device == device && session.IsSuballocated(id))
      divided[static_cast<std::size_t>(a.layer)] += a.bytes;
  }
  return divided;
}

// What the log knows without a sample of the device.
LedgerEntry KnownAt(const DeviceTimeline& curves, TimeNs time) {
  LedgerEntry entry;
  entry.sample.time = time;
  for (std::size_t i = 0; i < kLayerCount; ++i)
    if (OccupiesDevice(static_cast<Layer>(i)) || static_cast<Layer>(i) == Layer::kModule)
      entry.by_layer[i] = curves.layer[i].At(time);
  entry.pools_bytes = curves.reserved.At(time) - curves.total.At(time);
  return entry;
}

class Writer {
 public:
  Writer(int device, std::string moment, std::vector<LedgerRow>* rows)
      : device_(device), moment_(std::move(moment)), rows_(rows) {}

  void Add(std::string_view kind, std::uint64_t size) {
    if (size > 0) rows_->push_back({device_, moment_, std::string(kind), size});
  }

 private:
  const int device_;
  const std::string moment_;
  std::vector<LedgerRow>* rows_;
};

void AddEntry(const Session& session, const DeviceTimeline& curves, const LedgerEntry& entry,
              Writer writer) {
  const TimeNs time = entry.sample.time;
  const ByLayer divided = DividedAt(session, curves.device, time);
  std::uint64_t of_allocators = 0;
  for (std::size_t i = 0; i < kLayerCount; ++i) {
    const std::uint64_t part = std::min(divided[i], entry.by_layer[i]);
    of_allocators += part;
    writer.Add(LayerName(static_cast<Layer>(i)), entry.by_layer[i] - part);
  }
  const std::uint64_t blocks = std::min(of_allocators, curves.framework_allocated.At(time));
  writer.Add("blocks", blocks);
  writer.Add("cached", of_allocators - blocks);
  writer.Add("pools", entry.pools_bytes);
  writer.Add("others", entry.sample.others_bytes.value_or(0));
  writer.Add("untracked", entry.untracked_bytes);
  writer.Add("elsewhere", entry.elsewhere_bytes);
  writer.Add("free", entry.sample.free_bytes);
}

}  // namespace

std::vector<LedgerRow> LedgerOf(const Source& source) {
  std::vector<LedgerRow> rows;
  for (const DeviceTimeline& curves : *TimelinesOf(source.session)) {
    for (const DeviceFigures& device : source.report.devices) {
      if (device.info.id != curves.device || !WasUsed(device)) continue;
      const DeviceLedger& ledger = device.ledger;
      AddEntry(source.session, curves,
               ledger.highest ? *ledger.highest : KnownAt(curves, curves.reserved.time_of_max()),
               Writer(curves.device, "peak", &rows));
      AddEntry(source.session, curves,
               ledger.last ? *ledger.last : KnownAt(curves, source.session.events().last_time()),
               Writer(curves.device, "end", &rows));
    }
  }
  return rows;
}

}  // namespace memprof::analysis::fleet
