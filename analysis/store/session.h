// A loaded log: columns of events, the lifetime of every allocation, and the tables that they refer
// to. Everything that the CLI and the viewer show is computed from a Session.
//
// A Session never changes once loaded; all const member functions are thread-safe. Loading costs
// one pass over the chunks, one sort of nearly sorted events, and one walk that finds lifetimes.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/store/facts.h"
#include "analysis/store/session_data.h"

namespace memprof::analysis {

class Session;

// All lifetimes in order of birth; each is put together when it is read.
class AllocationList {
 public:
  class Iterator {
   public:
    using iterator_category = std::random_access_iterator_tag;
    using value_type = Allocation;
    using difference_type = std::ptrdiff_t;
    using pointer = const Allocation*;
    using reference = Allocation;

    Iterator() = default;
    Iterator(const Session* session, std::uint32_t row) : session_(session), row_(row) {}
    Allocation operator*() const;
    Iterator& operator++() { return *this += 1; }
    Iterator operator++(int) { return std::exchange(*this, *this + 1); }
    Iterator& operator--() { return *this += -1; }
    Iterator& operator+=(difference_type n) {
      row_ = static_cast<std::uint32_t>(row_ + n);
      return *this;
    }
    friend Iterator operator+(Iterator at, difference_type n) { return at += n; }
    friend Iterator operator-(Iterator at, difference_type n) { return at += -n; }
    friend difference_type operator-(const Iterator& a, const Iterator& b) {
      return difference_type{a.row_} - difference_type{b.row_};
    }
    auto operator<=>(const Iterator& other) const { return row_ <=> other.row_; }
    bool operator==(const Iterator& other) const { return row_ == other.row_; }

   private:
    const Session* session_ = nullptr;
    std::uint32_t row_ = 0;
  };

  explicit AllocationList(const Session* session) : session_(session) {}
  std::size_t size() const;
  bool empty() const { return size() == 0; }
  Allocation operator[](std::size_t row) const;
  Iterator begin() const { return {session_, 0}; }
  Iterator end() const { return {session_, static_cast<std::uint32_t>(size())}; }

 private:
  const Session* session_;
};

class Session {
 public:
  // `data` has everything but the indices, which are built here: O(events + allocations), and a
  // sort of marks and of other deaths.
  explicit Session(SessionData data);
  // For loaders, which find steps by querying the session; others have a const session.
  void SetSteps(FoundSteps steps);
  // The cache of derived facts: see FindPeaks, TimelinesOf and the like. Thread-safe.
  FactCache& facts() const { return *facts_; }
  // All tables, for code that copies them.
  const SessionData& data() const { return data_; }

  // For several logs: "FIRST and N more".
  const std::string& path() const { return data_.path; }
  const RunInfo& run() const { return data_.run; }
  const SelfAccounting& self() const { return data_.self; }
  const EventTable& events() const { return data_.events; }
  AllocationList allocations() const { return AllocationList(this); }
  Allocation allocation(AllocationId id) const;
  // The same in their compact form: for loops over everything.
  std::span<const AllocationRecord> records() const { return data_.events.records(); }
  const AllocationRecord& record(AllocationId id) const { return data_.events.records()[id.value]; }
  // Allocations whose end is not an event of their own: they ended with their context, their device
  // or the memory below, or because their address was allocated again. In order of events, then of
  // birth.
  std::span<const AllocationId> other_deaths() const { return data_.other_deaths; }

  std::span<const ProcessInfo> processes() const { return data_.processes; }  // at least one
  // The process of an event: a row of processes().
  std::uint32_t ProcessOf(EventId event) const {
    const std::uint32_t thread = data_.events.thread(event.value);
    return thread < data_.threads.size() ? data_.threads[thread].process : 0;
  }
  std::span<const DeviceInfo> devices() const { return data_.devices; }
  std::span<const ThreadInfo> threads() const { return data_.threads; }
  std::span<const ContextInfo> contexts() const { return data_.contexts; }
  std::span<const PoolInfo> pools() const { return data_.pools; }
  std::span<const ModuleInfo> modules() const { return data_.modules; }
  std::span<const SourceInfo> sources() const { return data_.sources; }
  // For several logs, the steps of the job, for a common axis of time; see load/internal/merge.h.
  // Computations use StepsOf.
  std::span<const StepInfo> steps() const { return data_.steps; }
  // The steps of a process (a row of processes()): its own, or if it has none, those of its run.
  // For a single log these are steps().
  std::span<const StepInfo> StepsOf(std::uint32_t process) const {
    return process < data_.process_steps.size() ? data_.process_steps[process].steps : data_.steps;
  }
  const StepOrigin& StepOriginOf(std::uint32_t process) const {
    return process < data_.process_steps.size() ? data_.process_steps[process].origin
                                                : data_.step_origin;
  }
  // Where the steps are from: the program's marks, or found (analysis/steps/found.h).
  const StepOrigin& step_origin() const { return data_.step_origin; }
  std::span<const RangeInfo> ranges() const { return data_.ranges; }
  std::span<const SnapshotInfo> snapshots() const { return data_.snapshots; }
  std::span<const AnomalyCount> anomalies() const { return data_.anomalies; }  // non-zero ones

  std::string_view string(StringId id) const;   // "" for none or unknown
  const TensorInfo* tensor(TensorId id) const;  // null for none or unknown

  // Deeper stacks only come from damaged logs.
  static constexpr std::size_t kMaxStackDepth = 4096;
  // Frames of a stack, innermost first. Empty for none.
  std::vector<FrameId> StackFrames(StackId id) const;
  StackId StackParent(StackId id) const;  // the caller's node; none at the outermost
  FrameId StackFrame(StackId id) const;
  std::size_t stack_count() const { return data_.stack_parent.size(); }
  std::size_t frame_count() const { return data_.frames.size(); }
  const Frame& frame(FrameId id) const { return data_.frames[id.value]; }

  // Since the log began; 0 of what is older.
  TimeNs SinceStart(TimeNs time) const { return time - std::min(time, data_.run.start_time); }
  // Whether a process's last failed request is the last that it asked for or did: no allocation and
  // no step of it follows.
  bool EndsWithFailure() const;
  // What is born with this event was there when its process's log began: its real birth is not
  // known (RunInfo::before_attach).
  bool WasThereBefore(EventId birth) const;
  // The event is an entry of the list with which a later segment of a recording always on begins:
  // it was allocated in an earlier one.
  bool IsListedAgain(EventId birth) const;
  // The step that contains `time`, -1 before the first mark.
  std::int64_t StepAt(TimeNs time) const;
  // The same in the steps of a process.
  std::int64_t StepAt(TimeNs time, std::uint32_t process) const;
  // The step, of the event's own process, that contains an event; -1 before the first mark and for
  // none.
  std::int64_t StepOf(EventId event) const;
  // Largest event id whose time is <= `time`; none before the first event.
  EventId EventAt(TimeNs time) const;

  // Allocations alive right after event `event` (none = before the first), of the layers in
  // `layers` (bit i = Layer i), in order of birth. Uses checkpoints: O(live set + 65,536), except
  // in logs that free almost everything at once; a million in 5 ms.
  std::vector<AllocationId> LiveAfter(EventId event, std::uint32_t layers = ~0u) const;
  std::vector<AllocationId> LiveAt(TimeNs time, std::uint32_t layers = ~0u) const;

  // The memory of events, lifetimes and their indices, without the tables of names and stacks.
  std::size_t memory_bytes() const;

  // Children in the layer graph (what lies directly in `id`), in order of birth.
  std::span<const AllocationId> Children(AllocationId id) const;
  // Whether an allocator divides it: one of its children is a segment or a block.
  bool IsSuballocated(AllocationId id) const;

  // Events that mark `id` during its life, in order of time: prefetches, advices and discards of
  // managed memory, look-ups of a module's globals, holders, exports.
  std::span<const EventId> Marks(AllocationId id) const;

 private:
  SessionData data_;
  std::unique_ptr<FactCache> facts_ = std::make_unique<FactCache>();
};

// Bit set of layers for LiveAfter.
constexpr std::uint32_t LayerBit(Layer layer) { return 1u << static_cast<unsigned>(layer); }
inline constexpr std::uint32_t kDeviceLayers =
    LayerBit(Layer::kLinear) | LayerBit(Layer::kPitched) | LayerBit(Layer::kArray) |
    LayerBit(Layer::kManaged) | LayerBit(Layer::kStreamOrdered) | LayerBit(Layer::kVmmPhysical) |
    LayerBit(Layer::kGraph);

inline Allocation AllocationList::Iterator::operator*() const {
  return session_->allocation(AllocationId(row_));
}
inline std::size_t AllocationList::size() const { return session_->records().size(); }
inline Allocation AllocationList::operator[](std::size_t row) const {
  return session_->allocation(AllocationId(static_cast<std::uint32_t>(row)));
}

}  // namespace memprof::analysis
