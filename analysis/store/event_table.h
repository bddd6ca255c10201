// Events and lifetimes as a session stores them: small, because there are tens of millions.
//
// The part that many events share (op, thread, stream, …) is one row of a table of kinds. A time is
// the difference to its block's first. For an allocation, and for a matched free, the record of the
// lifetime has the other fields; every other event has a row of details:
//
//   event    | kind 4 | time 4 | ref 4 |            ref: a record, or 2^31 + a row of details
//   record   | address 8 | bytes 8 | extra 8 |      one for two events
//            | birth 4 | death 4 | stack 4 | parent 4 | device 2 | layer, end, import 3 |
//   details  | address, bytes, aux0, aux1 8 each | stack, label, result, allocation 4 each |
//
// Built once, then read by any thread. A look-up costs two or three loads.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "analysis/base/types.h"

namespace memprof::analysis {

// Why a lifetime ended.
enum class EndReason : std::uint8_t {
  kAlive = 0,  // it has not ended: live at the end of the log
  kFreed = 1,
  kContextDestroyed = 2,
  kDeviceReset = 3,
  kAddressReused = 4,  // its free was missed; ended when the address was allocated again
  kSegmentFreed = 5,   // the memory below it was freed
};

// The part of an event that many others share.
struct EventKind {
  Op op = Op::kUnspecified;
  Layer layer = Layer::kUnspecified;
  std::int16_t device = kNoDevice;
  std::uint32_t thread = EventId::kNone;
  std::uint32_t context = EventId::kNone;
  StringId api;
  std::uint64_t stream = 0;

  bool operator==(const EventKind&) const = default;
  template <typename H>
  friend H AbslHashValue(H h, const EventKind& k) {
    return H::combine(std::move(h), k.op, k.layer, k.device, k.thread, k.context, k.api.value,
                      k.stream);
  }
};

// The rows of the kinds that were looked up lately, before a table of all of them: to hash a kind
// takes far longer than to compare it.
class RecentKinds {
 public:
  static constexpr std::uint32_t kNone = EventId::kNone;

  // The row of `kind`; kNone if it is to be looked up, and the result written there.
  std::uint32_t& Of(const EventKind& kind) {
    Entry& entry = entries_[(static_cast<std::size_t>(kind.op) + kind.thread * 5 +
                             kind.api.value * 11 + (kind.stream >> 4) * 17) %
                            kEntries];
    if (!(entry.kind == kind)) entry = {kind, kNone};
    return entry.row;
  }

 private:
  static constexpr std::size_t kEntries = 64;
  struct Entry {
    EventKind kind;
    std::uint32_t row = kNone;
  };
  std::array<Entry, kEntries> entries_;
};

// One event with all its fields; as EventTable's functions of the same names.
struct Event : EventKind {
  TimeNs time = 0;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t aux0 = 0;
  std::uint64_t aux1 = 0;
  StackId stack;
  std::uint32_t label = EventId::kNone;
  std::uint32_t result = 0;
  AllocationId allocation;
};

// The compact form of a lifetime; Allocation (session.h) has all fields.
struct AllocationRecord {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint64_t extra = 0;  // its meaning depends on the layer: see pool() … tensor()
  EventId birth, death;
  StackId stack;
  AllocationId parent;
  std::int16_t device = kNoDevice;
  Layer layer = Layer::kUnspecified;
  EndReason end_reason = EndReason::kAlive;
  ImportKind import_kind = ImportKind::kUnknown;

  bool alive() const { return end_reason == EndReason::kAlive; }
  // The pool of stream-ordered memory; the private pool of a segment (private_pools.h). 0 = none.
  std::uint64_t pool() const {
    return layer == Layer::kStreamOrdered || layer == Layer::kSegment ? extra : 0;
  }
  // Whether the log has the size that was requested of a block, before the allocator rounded it.
  bool has_requested() const { return layer == Layer::kBlock && extra != 0; }
  // The requested bytes; `bytes` if they are not known, or of another layer.
  std::uint64_t requested() const { return has_requested() ? extra : bytes; }
  // The same, but of a module the size of its file image; `bytes` is what it takes on the device.
  std::uint64_t requested_or_image() const { return layer == Layer::kModule ? extra : requested(); }
  // The tensor of a record of that layer; of others none.
  TensorId tensor() const {
    return layer == Layer::kTensor ? TensorId(static_cast<std::uint32_t>(extra)) : TensorId();
  }
};
static_assert(sizeof(AllocationRecord) == 48);

// All events in order of time; for equal times, in the order of their thread, and frees before
// allocations across threads. A matched free has the layer, the device and the bytes of what it
// freed. Events of unknown kinds have op kUnspecified.
class EventTable {
 public:
  std::size_t size() const { return kind_.size(); }
  bool empty() const { return kind_.empty(); }
  Event operator[](std::size_t i) const;

  // Of the first and the last event; 0 without events.
  TimeNs first_time() const { return empty() ? 0 : time(0); }
  TimeNs last_time() const { return empty() ? 0 : time(size() - 1); }

  Op op(std::size_t i) const { return Kind(i).op; }
  TimeNs time(std::size_t i) const {
    const Block& block = blocks_[i / kBlock];
    if (block.wide != kNarrow) return wide_times_[block.wide + i % kBlock];
    return block.base + time_[i];
  }
  Layer layer(std::size_t i) const {
    return FreesARecord(i) ? records_[ref_[i]].layer : Kind(i).layer;
  }
  std::int16_t device(std::size_t i) const {  // ordinal or kNoDevice
    return FreesARecord(i) ? records_[ref_[i]].device : Kind(i).device;
  }
  // Rows of Session::threads() and contexts(); kNone = unknown.
  std::uint32_t thread(std::size_t i) const { return Kind(i).thread; }
  std::uint32_t context(std::size_t i) const { return Kind(i).context; }
  StringId api(std::size_t i) const { return Kind(i).api; }
  std::uint64_t stream(std::size_t i) const { return Kind(i).stream; }
  std::uint64_t address(std::size_t i) const {
    return IsPlain(i) ? records_[ref_[i]].address : DetailOf(i).address;
  }
  std::uint64_t bytes(std::size_t i) const {
    return IsPlain(i) ? records_[ref_[i]].bytes : DetailOf(i).bytes;
  }
  StackId stack(std::size_t i) const;
  // StringId or TensorId by op and layer; kNone = none.
  std::uint32_t label(std::size_t i) const;
  std::uint32_t result(std::size_t i) const { return IsPlain(i) ? 0 : DetailOf(i).result; }
  std::uint64_t aux0(std::size_t i) const;
  std::uint64_t aux1(std::size_t i) const;
  // The lifetime that this event begins, ends or marks; none if there is none.
  AllocationId allocation(std::size_t i) const {
    return IsPlain(i) ? AllocationId(ref_[i]) : DetailOf(i).allocation;
  }

  // All lifetimes in order of birth: for loops over everything.
  const std::vector<AllocationRecord>& records() const { return records_; }
  // The memory of the table.
  std::size_t memory_bytes() const;
  // Whether there are such events; O(kinds).
  bool Has(Op op) const {
    return std::ranges::any_of(kinds_, [op](const EventKind& kind) { return kind.op == op; });
  }

  // Building: reserves the exact numbers, so that nothing is moved.
  void Reserve(std::size_t events, std::size_t allocations);
  // Appends the next event in order. The record of an allocation must exist already; only its death
  // and parent may change later.
  void Append(const Event& event);
  std::vector<AllocationRecord>* mutable_records() { return &records_; }
  // Call after the last event.
  void Finish();

  // The maximum number of events, and of lifetimes.
  static constexpr std::uint32_t kMax = 0x7fffffff;

 private:
  static constexpr std::uint32_t kBlock = 1024;
  static constexpr std::uint32_t kNarrow = EventId::kNone;
  static constexpr std::uint32_t kDetail = 0x80000000;

  // Times of kBlock events. If they span more than 2^32 ns, they are in wide_times_ from `wide`.
  struct Block {
    TimeNs base = 0;
    std::uint32_t wide = kNarrow;
  };
  struct Detail {
    std::uint64_t address = 0, bytes = 0, aux0 = 0, aux1 = 0;
    StackId stack;
    std::uint32_t label = EventId::kNone, result = 0;
    AllocationId allocation;

    bool operator==(const Detail&) const = default;
  };

  const EventKind& Kind(std::size_t i) const { return kinds_[kind_[i]]; }
  bool IsPlain(std::size_t i) const { return ref_[i] < kDetail; }
  bool FreesARecord(std::size_t i) const { return Kind(i).op == Op::kFree && IsPlain(i); }
  const Detail& DetailOf(std::size_t i) const { return details_[ref_[i] - kDetail]; }
  Detail PlainDetail(Op op, AllocationId id) const;
  std::uint32_t InternKind(const EventKind& kind);
  void AppendTime(TimeNs time);

  std::vector<EventKind> kinds_;
  std::vector<std::uint32_t> kind_, time_, ref_;
  std::vector<Block> blocks_;
  std::vector<TimeNs> wide_times_;
  std::vector<Detail> details_;
  std::vector<AllocationRecord> records_;
  // Building only.
  struct Interner;
  struct DropInterner {
    void operator()(Interner* interner) const;
  };
  std::unique_ptr<Interner, DropInterner> interner_;
};

}  // namespace memprof::analysis
