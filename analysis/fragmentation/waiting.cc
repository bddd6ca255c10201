// Follows what waits, event by event.
#include "analysis/fragmentation/waiting.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

class Waiting {
 public:
  explicit Waiting(const Session& session) : session_(session), events_(session.events()) {}

  void Birth(EventId, AllocationId id) { Reserve(id, +1); }
  void Death(EventId, AllocationId id) {
    Reserve(id, -1);
    const AllocationRecord& a = session_.record(id);
    if (a.layer != Layer::kBlock || waiting_.erase(id.value) == 0) return;
    Device& device = devices_[a.device];
    device.now.bytes -= a.bytes;
    --device.now.blocks;
  }
  void After(EventId event) {
    const std::uint32_t e = event.value;
    const AllocationId id = events_.allocation(e);
    switch (events_.op(e)) {
      case Op::kFreeRequested:
        if (id.valid() && waiting_.insert(id.value).second) Wait(event, session_.record(id));
        return;
      case Op::kWaiting:
        return Sample(event);
      case Op::kStreamUse:
        if (id.valid()) Use(e, id);
        return;
      default:
        return;
    }
  }

  std::vector<WaitingMemory> Finish() {
    std::vector<WaitingMemory> found;
    for (auto& [ordinal, device] : devices_) {
      WaitingMemory& one = device.found;
      if (!device.seen) continue;
      one.device = ordinal;
      for (const auto& [stack, site] : device.sites) one.sites.push_back(site);
      std::sort(one.sites.begin(), one.sites.end(),
                [](const StreamUseSite& a, const StreamUseSite& b) {
                  return a.bytes != b.bytes ? a.bytes > b.bytes : a.stack < b.stack;
                });
      found.push_back(std::move(one));
    }
    return found;
  }

 private:
  struct Amount {
    std::uint64_t bytes = 0, blocks = 0;
  };
  struct Device {
    bool seen = false;
    Amount now;
    std::uint64_t reserved = 0;
    std::map<std::uint32_t, Amount> samples;  // the last of each process
    absl::flat_hash_map<std::uint32_t, StreamUseSite> sites;
    WaitingMemory found;
  };

  void Reserve(AllocationId id, int sign) {
    const AllocationRecord& a = session_.record(id);
    if (a.layer == Layer::kSegment) devices_[a.device].reserved += sign > 0 ? a.bytes : 0 - a.bytes;
  }

  void Wait(EventId event, const AllocationRecord& block) {
    Device& device = devices_[block.device];
    device.found.exact = true;
    device.now.bytes += block.bytes;
    ++device.now.blocks;
    Note(event, &device);
  }

  void Sample(EventId event) {
    const std::uint32_t e = event.value;
    Device& device = devices_[events_.device(e)];
    Amount& last = device.samples[session_.ProcessOf(event)];
    device.now.bytes += events_.bytes(e) - last.bytes;
    device.now.blocks += events_.aux0(e) - last.blocks;
    last = {events_.bytes(e), events_.aux0(e)};
    std::uint64_t& peak = device.found.peak_active_bytes;
    peak = std::max(peak, events_.aux1(e));
    Note(event, &device);
  }

  static void Note(EventId event, Device* device) {
    device->seen = true;
    WaitingMemory& found = device->found;
    if (device->now.bytes <= found.most_bytes) return;
    found.most = event;
    found.most_bytes = device->now.bytes;
    found.most_blocks = device->now.blocks;
    found.reserved_bytes = device->reserved;
  }

  // A use on the block's own stream does not delay its end.
  void Use(std::uint32_t e, AllocationId id) {
    const AllocationRecord& block = session_.record(id);
    if (events_.stream(block.birth.value) == events_.stream(e) || !used_.insert(id.value).second)
      return;
    Device& device = devices_[block.device];
    device.seen = true;
    ++device.found.used_blocks;
    device.found.used_bytes += block.bytes;
    StreamUseSite& site = device.sites[events_.stack(e).value];
    site.stack = events_.stack(e);
    ++site.blocks;
    site.bytes += block.bytes;
  }

  const Session& session_;
  const EventTable& events_;
  std::map<int, Device> devices_;
  absl::flat_hash_set<std::uint32_t> waiting_, used_;  // allocations
};

}  // namespace

std::vector<WaitingMemory> FindWaitingMemory(const Session& session) {
  const EventTable& events = session.events();
  bool any = false;
  for (std::uint32_t e = 0; e < events.size() && !any; ++e) {
    const Op op = events.op(e);
    any = op == Op::kFreeRequested || op == Op::kWaiting || op == Op::kStreamUse;
  }
  if (!any) return {};
  Waiting waiting(session);
  WalkLifetimes(session, waiting);
  return waiting.Finish();
}

}  // namespace memprof::analysis
