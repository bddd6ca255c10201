// A log, loaded: columns of events, the lifetime of every allocation, and the tables that they
// refer to. Everything that the CLI and the viewer show is a question to a Session.
//
// A Session never changes once loaded; all const member functions are thread-safe. Cost of
// loading: one pass over the chunks, one sort of nearly sorted events, one replay.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/event_table.h"
#include "analysis/types.h"
#include "proto/anomalies.h"

namespace memprof::analysis {

// One lifetime of one piece of memory, of any layer.
struct Allocation {
  Layer layer = Layer::kUnspecified;
  EndReason end_reason = EndReason::kAlive;
  ImportKind import_kind = ImportKind::kUnknown;  // of imported memory
  std::int16_t device = kNoDevice;
  std::uint32_t thread = EventId::kNone;  // index into threads()
  EventId birth;
  EventId death;  // none while alive
  TimeNs birth_time = 0;
  TimeNs death_time = kForever;
  std::int64_t birth_step = -1;  // -1 = before the first step mark
  std::int64_t death_step = -1;  // -1 = alive, or before the first step mark
  std::uint64_t address = 0;
  // As requested of that layer (blocks: the block's size; modules: what the device's free memory
  // fell by as they were loaded, 0 = unknown).
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // blocks: what the program asked for; modules: image; else bytes
  std::uint64_t stream = 0;
  // Stream-ordered: pool handle. Segments: the private pool of CUDA graphs that they serve alone,
  // as numbered by private_pools.h; 0 = none.
  std::uint64_t pool = 0;
  StackId stack;
  StringId api;
  AllocationId parent;  // what it lies in: tensor → block → segment → driver allocation
  TensorId tensor;      // of LAYER_TENSOR

  bool alive() const { return end_reason == EndReason::kAlive; }
  bool AliveAt(TimeNs t) const { return birth_time <= t && t < death_time; }
};

struct DeviceInfo {
  int id = 0;
  std::string name;
  std::string uuid;  // 16 raw bytes; "" = unknown
  std::uint64_t capacity_bytes = 0;
  bool simulated = false;
  std::uint32_t driver_version = 0;
  std::uint64_t free_at_start_bytes = 0;
};

struct ThreadInfo {
  std::uint32_t tid = 0;
  std::string name;
  std::uint32_t process = 0;  // row of processes()
};
struct ContextInfo {
  std::uint64_t handle = 0;
  int device = kNoDevice;
  bool primary = false;
};
struct PoolInfo {
  std::uint64_t handle = 0;
  int device = kNoDevice;
  bool is_default = false;
};
struct TensorInfo {
  std::string name;
  std::string dtype;
  std::vector<std::uint64_t> shape;
};
struct ModuleInfo {
  std::string path;
  std::string build_id;  // raw bytes
  std::uint64_t load_bias = 0, first_address = 0, end_address = 0;
};
struct SourceInfo {
  std::string name;
  int state = 0;
  std::string detail;
  TimeNs time = 0;
};  // last state of each

// One training step: [begin, end) by marks; the last ends with the log.
struct StepInfo {
  std::int64_t number = 0;
  TimeNs begin = 0;
  TimeNs end = 0;
  EventId event;
};
// Where a session's steps come from.
enum class StepSource : std::uint8_t { kNone, kMarks, kRanges, kPattern };
struct StepOrigin {
  StepSource source = StepSource::kNone;
  double confidence = 0;           // in [0, 1]; 1 of marks
  std::int64_t warm_up_steps = 0;  // before the first step that later ones repeat
  std::string why;                 // in words with figures
};
struct FoundSteps {
  StepOrigin origin;
  std::vector<StepInfo> steps;  // in order of time; the last one ends with the log
};

// A named range of one thread.
struct RangeInfo {
  StringId name;
  std::uint32_t thread = 0;
  TimeNs begin = 0;
  TimeNs end = 0;
  int depth = 0;
};
struct SnapshotInfo {
  std::string label;
  TimeNs time = 0;
  EventId event;
};

struct AnomalyCount {
  log::Anomaly anomaly;
  std::uint64_t count = 0;
};

struct RunInfo {
  std::string executable;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;
  std::string working_directory, hostname, recorder_version;
  std::uint32_t pid = 0;
  TimeNs start_time = 0;  // of the log
  TimeNs end_time = 0;    // last event or trailer
  std::uint64_t start_unix_ns = 0;
  bool complete = false;  // the trailer is there: a clean end
  bool growing = false;   // the process still runs and the log may grow
  std::string end_reason;
};

// One log of a session.
struct ProcessInfo {
  std::string path;
  RunInfo run;  // as that log says, in its own clock
  // Added to that log's times and never negative; see session_merge.h.
  std::uint64_t clock_shift_ns = 0;
  int rank = -1;  // as launchers say in the environment; -1 = they do not
  // Logs that overlap in time, directly or through others, are one run: 0 is the first. Rows of two
  // runs have nothing to do with each other but that somebody named them together.
  std::uint32_t run_number = 0;
};

struct SelfAccounting {
  std::uint64_t events = 0, events_written = 0, bytes_written = 0, hook_time_ns = 0,
                writer_cpu_ns = 0, resident_bytes = 0, stacks = 0;
};

// One frame of a stack before symbolisation.
struct Frame {
  bool python = false;
  std::uint64_t address = 0;              // native: absolute address inside the call instruction
  std::uint32_t module = EventId::kNone;  // index into modules()
  StringId function, file;                // python
  std::uint32_t line = 0;                 // python
};

// Called from time to time on the loading thread with the share done in [0, 1]; returning false
// cancels the load (Status kCancelled).
using ProgressFunction = std::function<bool(double)>;

class Session;
using StepFinder = std::function<FoundSteps(const Session&)>;

struct LoadOptions {
  ProgressFunction progress;
  // Asked for the steps where the program marked none (analysis/steps_found.h); may be empty.
  StepFinder step_finder;
  bool recover_ring = true;      // after an unclean end, also read what was not yet drained
  std::uint64_t max_events = 0;  // 0 = all
};

// All lifetimes in order of birth, put together as they are asked for.
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
  // Reads a log, also one that is cut or still growing. Errors: kNotFound, kPermissionDenied,
  // kInvalidArgument (not a memprof log, empty, a future version), kDataLoss (damaged so that
  // nothing can be read), kCancelled. Messages are one line and name the file.
  static absl::StatusOr<std::shared_ptr<const Session>> Load(const std::string& path,
                                                             const LoadOptions& options = {});

  // Several logs as one: the processes of a job, on one machine or on many. Devices that are the
  // same are one, clocks are aligned, sites of the same code are one; session_merge.h says how.
  // Errors as Load, and kInvalidArgument for no log, the same log twice, or more than 255.
  static absl::StatusOr<std::shared_ptr<const Session>> LoadTogether(
      const std::vector<std::string>& paths, const LoadOptions& options = {});

  // Of several logs: "FIRST and N more".
  const std::string& path() const { return path_; }
  const RunInfo& run() const { return run_; }
  const SelfAccounting& self() const { return self_; }
  const EventTable& events() const { return events_; }
  AllocationList allocations() const { return AllocationList(this); }
  Allocation allocation(AllocationId id) const;
  // The same in their compact form: for loops over everything.
  std::span<const AllocationRecord> records() const { return events_.records(); }
  const AllocationRecord& record(AllocationId id) const { return events_.records()[id.value]; }
  // What ended with an event that is not its own free: with its context, its device, the memory
  // below it, or because its address was handed out anew. In order of events, then of birth.
  std::span<const AllocationId> other_deaths() const { return other_deaths_; }

  std::span<const ProcessInfo> processes() const { return processes_; }  // at least one
  // The process that an event is of: a row of processes().
  std::uint32_t ProcessOf(EventId event) const {
    const std::uint32_t thread = events_.thread(event.value);
    return thread < threads_.size() ? threads_[thread].process : 0;
  }
  std::span<const DeviceInfo> devices() const { return devices_; }
  std::span<const ThreadInfo> threads() const { return threads_; }
  std::span<const ContextInfo> contexts() const { return contexts_; }
  std::span<const PoolInfo> pools() const { return pools_; }
  std::span<const ModuleInfo> modules() const { return modules_; }
  std::span<const SourceInfo> sources() const { return sources_; }
  // Of several logs: those of the job, for an axis of time that all share; see session_merge.h.
  // What is computed from steps is computed from StepsOf.
  std::span<const StepInfo> steps() const { return steps_; }
  // The steps by which events of a process go (a row of processes()): its own, or where it has none
  // those of its run. Of a single log these are steps().
  std::span<const StepInfo> StepsOf(std::uint32_t process) const {
    return process < process_steps_.size() ? process_steps_[process].steps : steps_;
  }
  const StepOrigin& StepOriginOf(std::uint32_t process) const {
    return process < process_steps_.size() ? process_steps_[process].origin : step_origin_;
  }
  // The steps are the program's marks unless LoadOptions::step_finder found them.
  const StepOrigin& step_origin() const { return step_origin_; }
  std::span<const RangeInfo> ranges() const { return ranges_; }
  std::span<const SnapshotInfo> snapshots() const { return snapshots_; }
  std::span<const AnomalyCount> anomalies() const { return anomalies_; }  // non-zero ones

  std::string_view string(StringId id) const;   // "" for none or unknown
  const TensorInfo* tensor(TensorId id) const;  // null for none or unknown

  // Frames of a stack, innermost first. Empty for none.
  std::vector<FrameId> StackFrames(StackId id) const;
  StackId StackParent(StackId id) const;  // the caller's node; none at the outermost
  FrameId StackFrame(StackId id) const;
  std::size_t stack_count() const { return stack_parent_.size(); }
  std::size_t frame_count() const { return frames_.size(); }
  const Frame& frame(FrameId id) const { return frames_[id.value]; }

  // The step that contains `time`, -1 before the first mark.
  std::int64_t StepAt(TimeNs time) const;
  // The same by the steps of a process.
  std::int64_t StepAt(TimeNs time, std::uint32_t process) const;
  // The step of its own process that an event belongs to, -1 before the first mark and for none.
  std::int64_t StepOf(EventId event) const;
  // Largest event id whose time is <= `time`; none before the first event.
  EventId EventAt(TimeNs time) const;

  // Allocations alive right after event `event` (none = before the first), of layers accepted by
  // `layers` (bit i = Layer i), in order of birth. Answered from checkpoints: O(live set + 65,536),
  // but for logs that free almost everything at once; a million in 5 ms.
  std::vector<AllocationId> LiveAfter(EventId event, std::uint32_t layers = ~0u) const;
  std::vector<AllocationId> LiveAt(TimeNs time, std::uint32_t layers = ~0u) const;

  // What events, lifetimes and the indices over them take; tables of names and stacks are not in
  // it.
  std::size_t memory_bytes() const;

  // Children in the layer graph (what lies directly in `id`), in order of birth.
  std::span<const AllocationId> Children(AllocationId id) const;

  // What the program said about `id` while it lived, in order of time: prefetches, advices and
  // discards of managed memory, look-ups of a module's globals.
  std::span<const EventId> Marks(AllocationId id) const;

 private:
  friend class SessionBuilder;
  friend class SessionMerger;
  friend class SessionIndexer;
  Session() = default;

  std::string path_;
  RunInfo run_;
  SelfAccounting self_;
  EventTable events_;
  std::vector<ProcessInfo> processes_;
  std::vector<DeviceInfo> devices_;
  std::vector<ThreadInfo> threads_;
  std::vector<ContextInfo> contexts_;
  std::vector<PoolInfo> pools_;
  std::vector<ModuleInfo> modules_;
  std::vector<SourceInfo> sources_;
  std::vector<StepInfo> steps_;
  StepOrigin step_origin_;
  std::vector<FoundSteps> process_steps_;  // of several logs
  std::vector<RangeInfo> ranges_;
  std::vector<SnapshotInfo> snapshots_;
  std::vector<AnomalyCount> anomalies_;
  std::vector<std::string> strings_;
  std::vector<TensorInfo> tensors_;
  std::vector<StackId> stack_parent_;
  std::vector<FrameId> stack_frame_;
  std::vector<Frame> frames_;
  std::vector<AllocationId> children_;
  std::vector<std::uint32_t> children_begin_;  // allocations + 1 entries
  std::vector<AllocationId> other_deaths_;
  std::vector<EventId> marks_;  // by allocation, then in order of time
  struct Checkpoint {           // live right before `event`
    std::uint32_t event = 0;
    std::vector<AllocationId> live;  // in order of birth
  };
  std::vector<Checkpoint> checkpoints_;  // at some multiples of 65,536 events
  // Of each allocation what LiveAfter looks at, a tenth of its record: the event of its death, none
  // (the largest number) while alive, and its layer.
  std::vector<std::uint32_t> live_until_;
  std::vector<Layer> live_layer_;
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
