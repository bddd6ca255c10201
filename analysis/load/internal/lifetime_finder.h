// Finds lifetimes in events: the state, and the effect of each kind of event on it.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "analysis/load/internal/code_bytes.h"
#include "analysis/load/internal/lifetimes.h"
#include "analysis/load/internal/spaces.h"
#include "analysis/store/private_pools.h"

namespace memprof::analysis::lifetimes {

class LifetimeFinder {
 public:
  LifetimeFinder(RawEvents raw, const std::vector<std::uint32_t>& order,
                 const std::vector<ContextInfo>& contexts, EventTable* events,
                 AnomalyCounts* anomalies)
      : raw_(std::move(raw)),
        order_(order),
        contexts_(contexts),
        events_(*events),
        anomalies_(*anomalies),
        allocations_(*events->mutable_records()),
        context_members_(contexts_.size()) {}

  void Run() {
    Prepare();
    const std::vector<std::uint32_t> needed = LeastRowsNeeded();
    for (std::uint32_t i = 0; i < order_.size(); ++i) {
      if (i % kForgetEvery == 0) raw_.ForgetBefore(needed[i / kForgetEvery]);
      Event event = raw_.At(order_[i]);
      Take(i, &event);
      events_.Append(event);
    }
    private_pools_.AssignNumbers(&allocations_);
    events_.Finish();
  }

 private:
  static constexpr std::uint32_t kForgetEvery = 1 << 18;  // events

  void Prepare();
  void FindFailedFrees();
  std::vector<std::uint32_t> LeastRowsNeeded() const;
  void Take(std::uint32_t i, Event* event);
  void Allocate(std::uint32_t i, Layer layer, Event* event);
  AllocationRecord Fresh(std::uint32_t i, Layer layer, const Event& event) const;
  void OfModule(std::uint32_t i, Event* event);
  void Free(std::uint32_t i, Event* event);
  void Map(std::uint32_t i, Event* event);
  void Unmap(std::uint32_t i, Event* event);
  void DestroyContext(std::uint32_t i, const Event& event);
  void ResetDevice(std::uint32_t i, const Event& event);

  void FindParent(Id id);
  void NoteCapture(Id block, std::uint64_t capture);
  Id FirstPages(const AllocationRecord& block) const;
  void EndOlder(Space space, const AllocationRecord& fresh, std::uint32_t event);
  Id FindFreed(const Event& event) const;
  Id ImportAround(const Event& event);
  Id FindImport(std::uint64_t address, int device) const;
  bool FreeEndedBelow(std::uint32_t i, Event* event);
  void EndMembers(std::vector<Id>* members, std::uint32_t event, EndReason reason);
  void End(Id id, std::uint32_t event, EndReason reason);
  void EndChildren(Id id, std::uint32_t event);
  void SetDeath(Id id, std::uint32_t event, EndReason reason);
  RangeIndex* IndexOf(const AllocationRecord& allocation);
  std::vector<Id>& DeviceMembers(int device) {
    const std::size_t row = static_cast<std::size_t>(device + 1);
    if (row >= device_members_.size()) device_members_.resize(row + 1);
    return device_members_[row];
  }
  void Count(log::Anomaly anomaly) { ++anomalies_[static_cast<std::size_t>(anomaly)]; }

  RawEvents raw_;
  const std::vector<std::uint32_t>& order_;
  const std::vector<ContextInfo>& contexts_;
  EventTable& events_;
  AnomalyCounts& anomalies_;

  std::vector<AllocationRecord>& allocations_;
  std::vector<Id> first_child_, next_sibling_;  // empty if no framework layer was recorded
  bool frameworks_ = false;
  CodeBytes code_;
  std::vector<char> void_free_;  // frees that failed; empty if there were none

  PrivatePools private_pools_;
  AddressTable live_, ended_below_;
  RangeIndex driver_, segments_, blocks_;
  ManagedRanges managed_;
  Mappings mappings_;
  absl::flat_hash_map<Id, char> released_;        // VMM memory without a handle, still mapped
  std::vector<std::vector<Id>> context_members_;  // the allocations of each context
  std::vector<std::vector<Id>> device_members_;   // by device + 1: allocations that a reset ends
};

}  // namespace memprof::analysis::lifetimes
