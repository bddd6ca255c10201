// Which events used which memory: kernels by the pointers among their arguments, copies, memsets.
//
// A pointer among a kernel's arguments says that the kernel may use the memory, not that it does,
// and a pointer that lies in device memory is not seen. So the first and last uses found here are
// bounds: memory that the log calls used may be idle, and "never used" is as good as the arguments
// are known.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {

enum class Use : std::uint8_t { kKernel, kCopyFrom, kCopyTo, kMemset };

struct Access {
  EventId event;  // of the launch, copy or memset
  Use use = Use::kKernel;
  // The part of the allocation; a kernel may use any of it.
  std::uint64_t offset = 0, bytes = 0;

  bool writes() const { return use == Use::kCopyTo || use == Use::kMemset; }
};

// What the log has to say about uses.
struct AccessEvidence {
  std::uint64_t launches = 0;
  std::uint64_t known_launches = 0;  // with pointers; the others may have used anything
  std::uint64_t copies = 0, memsets = 0;

  bool any() const { return launches + copies + memsets > 0; }
  bool pointers() const { return known_launches > 0; }
};

// Immutable once built, hence thread-safe; the session must outlive it. Construction: one pass,
// O((events + uses) log live).
class Accesses {
 public:
  explicit Accesses(const Session& session);

  const AccessEvidence& evidence() const { return evidence_; }  // of all processes
  // Of the process that `a` is of.
  const AccessEvidence& EvidenceFor(const AllocationRecord& a) const {
    return of_process_[session_.ProcessOf(a.birth)];
  }
  // Uses of `id` in order. Memory that an allocator suballocates has none where blocks have them;
  // of layers that are no addresses (arrays, VMM handles) nothing is known.
  std::span<const Access> Of(AllocationId id) const;

  // Launches strictly between two events that could use `a`: of its process, on its device. Those
  // among them of which no pointer is known.
  std::uint64_t LaunchesBetween(const AllocationRecord& a, EventId after, EventId before) const;
  std::uint64_t UnknownLaunchesBetween(const AllocationRecord& a, EventId after,
                                       EventId before) const;
  // What a copy is about: the allocations at its two ends; none where nothing recorded is there.
  struct Ends {
    AllocationId source, destination;
    std::uint64_t source_offset = 0, destination_offset = 0;
  };
  // Of every copy, in order of events.
  struct Copy : Ends {
    EventId event;
  };
  std::span<const Copy> copies() const { return copies_; }

 private:
  class Collector;

  const Session& session_;
  AccessEvidence evidence_;
  std::vector<AccessEvidence> of_process_;
  std::vector<Access> accesses_;
  std::vector<std::uint32_t>
      begin_;  // of each allocation's, allocations + 1 entries; none without accesses
  // Events, by process and device.
  std::map<std::pair<std::uint32_t, int>, std::vector<std::uint32_t>> launches_, unknown_launches_;
  std::vector<Copy> copies_;
};

// Memory of this layer is reached by its address, so that uses of it can be seen.
bool HasAddress(Layer layer);

}  // namespace memprof::analysis
