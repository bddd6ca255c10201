// Which events used which memory: kernels, by the pointers among their arguments, copies and
// memsets.
//
// A pointer among a kernel's arguments shows that the kernel may use the memory, not that it does;
// a pointer that is itself in device memory is not seen. So the first and last uses found here are
// bounds: memory that counts as used may be idle, and "never used" is only as reliable as the known
// arguments.
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
  // The used part of the allocation; a kernel may use any part.
  std::uint64_t offset = 0, bytes = 0;

  bool writes() const { return use == Use::kCopyTo || use == Use::kMemset; }
};

// The evidence of uses in a log.
struct AccessEvidence {
  std::uint64_t launches = 0;
  std::uint64_t known_launches = 0;  // with pointers; other launches may have used anything
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
  // Of the process of `a`.
  const AccessEvidence& EvidenceFor(const AllocationRecord& a) const {
    return of_process_[session_.ProcessOf(a.birth)];
  }
  // Uses of `id` in order. Memory that an allocator divides has none if its blocks have them; uses
  // of layers without addresses (arrays, VMM handles) are not known.
  std::span<const Access> Of(AllocationId id) const;

  // Launches strictly between two events that could use `a`: of its process, on its device; and
  // those among them without known pointers.
  std::uint64_t LaunchesBetween(const AllocationRecord& a, EventId after, EventId before) const;
  std::uint64_t UnknownLaunchesBetween(const AllocationRecord& a, EventId after,
                                       EventId before) const;
  // The allocations at the two ends of a copy; none where no recorded memory is.
  struct Ends {
    AllocationId source, destination;
    std::uint64_t source_offset = 0, destination_offset = 0;
  };
  // Every copy, in order of events.
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
      begin_;  // of each allocation, allocations + 1 entries; empty without accesses
  // Events, by process and device.
  std::map<std::pair<std::uint32_t, int>, std::vector<std::uint32_t>> launches_, unknown_launches_;
  std::vector<Copy> copies_;
};

// Whether memory of this layer is used by its address, so that uses can be seen.
bool HasAddress(Layer layer);

}  // namespace memprof::analysis
