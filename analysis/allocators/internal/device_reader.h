// Collects the requests of one process on one device as a trace.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analysis/allocators/recorded.h"
#include "analysis/store/session.h"

namespace memprof::analysis::allocators {

inline bool IsDriverRequest(Layer layer) {
  return layer == Layer::kLinear || layer == Layer::kPitched || layer == Layer::kManaged;
}

// What counts as the requests of a device; decided before they are read.
struct Plan {
  std::uint64_t blocks = 0, segments = 0;        // numbers
  std::uint64_t stream_ordered = 0, driver = 0;  // bytes
  // Numbers of stream-ordered and of driver allocations.
  std::uint64_t stream_ordered_requests = 0, driver_requests = 0;
  RequestSource source = RequestSource::kBlocks;
  bool vmm_below = false;  // segments are mapped from physical memory

  std::uint64_t requests() const {
    if (source == RequestSource::kBlocks) return blocks;
    return source == RequestSource::kDriver ? driver_requests : stream_ordered_requests;
  }
};

inline constexpr std::uint32_t kNoNumber = ~std::uint32_t{0};

// Takes births, deaths and other events of the device in order; Finish() when there are no more.
// Not thread-safe.
class DeviceReader {
 public:
  // `numbers` has an entry for every allocation, and is shared by all readers.
  DeviceReader(const Session& session, const Plan& plan, int device, std::uint32_t process,
               const RecordedOptions& options, std::vector<std::uint32_t>* numbers);
  void Birth(AllocationId id, bool container);
  void Death(AllocationId id, bool container);
  // An event other than a birth or death.
  void Other(std::size_t event);
  // Sets the event of all that was added since the last call.
  void Stamp(EventId event);
  RecordedRun Finish();

 private:
  // A private pool of PyTorch's allocator; number 0 stands for its default pools.
  struct PrivatePool {
    bool is_default = false;
    std::uint64_t idle_segments = 0;
    std::vector<StreamNumber> streams;
    std::vector<TraceRange> releases;  // since the last request
  };
  // Reserved addresses.
  struct Reservation {
    std::uint64_t bytes = 0;
    bool used = false;  // by segments
  };
  // A segment, or a page of an expandable one.
  struct Segment {
    std::uint64_t end = 0;  // address
    std::uint64_t blocks = 0;
    PrivatePool* pool = nullptr;
  };
  bool IsRequest(const AllocationRecord& record) const;
  void Add(TraceOp op, std::uint32_t number) { run_.trace.events.push_back({op, number}); }

  // Whether this driver memory contains the allocator's memory, unlike other memory of the program.
  bool IsBelow(const AllocationRecord& record, bool container) const;
  void AddDriver(std::uint64_t bytes, bool below, int sign);
  void Reserve(std::uint64_t bytes, int sign);
  void AddSegment(AllocationId id);
  void EndSegment(AllocationId id);
  // Adds the segments that were released since the last request: as one kEmptyCache if these were
  // all cached ones of their pools and the driver had refused nothing, else one by one.
  void FlushReleases();
  void FlushReleases(PrivatePool* pool);
  // Adds the reserved addresses that contain the segment, the first time.
  void NoteRange(std::uint64_t segment);
  // Counts the block in its segment, or in all pages of an expandable one that it lies in.
  void CountBlock(const AllocationRecord& block, int sign);
  void AddRequest(AllocationId id);
  // Whether the allocation existed before the recorded part of a trace whose beginning is missing:
  // such memory appears at its first instant.
  bool WasThere(const AllocationRecord& record) const;
  void AddHeld(const AllocationRecord& record, std::uint32_t number, std::uint64_t requested,
               StreamNumber stream);
  void EndRequest(AllocationId id);
  void NoteSizes(std::uint64_t requested, std::uint64_t bytes);

  // The reserved memory of a pool, which is at least its live memory.
  struct Pool {
    std::uint64_t sampled = 0, live = 0;
    std::uint64_t reserved() const { return std::max(sampled, live); }
  };
  void ChangePool(std::uint64_t handle, std::uint64_t bytes, int sign);
  void SamplePool(std::uint64_t handle, std::uint64_t reserved, Layer layer);
  // A request that failed. Its stream is not known.
  void Refuse(std::size_t event);
  void Sample(std::uint64_t free, std::uint64_t total);
  void Synchronize();
  // For logs without synchronisations: adds one per step, because programs wait for the device at
  // least that often, to read the loss.
  void SynchronizeAtSteps();

  const Session& session_;
  const Plan& plan_;
  const bool over_time_, keeps_requests_;
  RecordedRun run_;
  ReservedCurve curve_;
  std::uint32_t last_ = 0;
  std::uint64_t used_ = 0, outside_ = 0;
  bool short_of_memory_ = false;  // a call of the driver failed since the last request
  bool truncated_ = false;
  std::unordered_map<std::uint32_t, std::uint32_t> held_;  // rows of trace.held, by segment
  std::vector<std::uint64_t> held_addresses_;              // by row
  bool grown_ = false;     // as TraceBlock::grown, for the next request
  bool released_ = false;  // since the last request
  std::map<std::uint64_t, PrivatePool> private_pools_;  // by number
  std::map<std::uint64_t, Reservation> reservations_;   // by address
  std::map<std::uint64_t, Segment> segments_;           // live ones, by address
  std::uint64_t pages_ = 0;                             // segments visited by CountBlock
  std::vector<std::uint32_t>& numbers_;                 // of requests by allocation
  // By private pool and stream: neither shares free memory with any other.
  std::map<std::pair<std::uint64_t, std::uint64_t>, StreamNumber> streams_;
  std::map<std::uint64_t, Pool> pools_;
  std::vector<std::size_t> step_marks_;  // how many events came before
};

}  // namespace memprof::analysis::allocators
