// Walks the memory of each process from sample to sample.
#include "analysis/timeline/contexts.h"

#include <algorithm>
#include <cstdint>

#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

class ContextFinder {
 public:
  ContextFinder(const Session& session, std::vector<std::vector<MemorySample>>* by_device)
      : session_(session) {
    for (std::vector<MemorySample>& samples : *by_device)
      places_.push_back({&samples, std::vector<OfProcess>(session.processes().size())});
  }

  void Birth(EventId, AllocationId id) { Change(id, true); }
  void Death(EventId, AllocationId id) { Change(id, false); }
  void After(EventId event) {
    const EventTable& events = session_.events();
    for (Place& place : places_) {
      if (place.next < place.samples->size() && (*place.samples)[place.next].event == event)
        Explain(place, &(*place.samples)[place.next++]);
    }
    const Op op = events.op(event.value);
    const auto device = static_cast<std::size_t>(events.device(event.value));
    if ((op == Op::kContextDestroy || op == Op::kDeviceReset) && device < places_.size())
      places_[device].processes[session_.ProcessOf(event)].rest = 0;
  }

 private:
  struct OfProcess {
    std::uint64_t known = 0;
    std::uint64_t rest = 0;  // beyond that, at its last sample
  };
  struct Place {
    std::vector<MemorySample>* samples;
    std::vector<OfProcess> processes;
    std::size_t next = 0;  // sample
  };

  void Change(AllocationId id, bool born) {
    const AllocationRecord& a = session_.record(id);
    const auto device = static_cast<std::size_t>(a.device);
    if ((!OccupiesDevice(a.layer) && a.layer != Layer::kModule) || device >= places_.size()) return;
    std::uint64_t& known = places_[device].processes[session_.ProcessOf(a.birth)].known;
    known = born ? known + a.bytes : known - a.bytes;
  }

  void Explain(Place& place, MemorySample* sample) const {
    const std::uint32_t own = session_.ProcessOf(sample->event);
    for (std::uint32_t process = 0; process < place.processes.size(); ++process)
      if (process != own && !HasEnded(process, sample->time))
        sample->contexts_of_others += place.processes[process].rest;
    if (!sample->others_bytes) return;
    const std::uint64_t explained = *sample->others_bytes + place.processes[own].known;
    place.processes[own].rest = sample->used_bytes() - std::min(sample->used_bytes(), explained);
  }
  bool HasEnded(std::uint32_t process, TimeNs time) const {
    const ProcessInfo& info = session_.processes()[process];
    return info.run.end_time + info.clock_shift_ns < time;
  }

  const Session& session_;
  std::vector<Place> places_;  // by device
};

}  // namespace

void FindContextsOfOthers(const Session& session,
                          std::vector<std::vector<MemorySample>>* by_device) {
  if (session.processes().size() < 2) return;
  ContextFinder finder(session, by_device);
  WalkLifetimes(session, finder);
}

}  // namespace memprof::analysis
