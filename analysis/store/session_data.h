// The data of a session: the facts of a log in tables, the events, and their indices. Loaders fill
// it (analysis/load/); all other code uses Session.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "analysis/base/run_info.h"
#include "analysis/base/types.h"
#include "analysis/store/event_table.h"
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
  // As requested of that layer (blocks: the block's size; modules: by how much the device's free
  // memory fell when they were loaded, 0 = unknown).
  std::uint64_t bytes = 0;
  std::uint64_t requested = 0;  // blocks: what the program requested; modules: image; else bytes
  std::uint64_t stream = 0;
  // Stream-ordered: pool handle. Segments: their private pool of CUDA graphs, numbered by
  // private_pools.h; 0 = none.
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
  bool uses_system_memory = false;  // used memory can include the system's
  std::uint32_t multiprocessors = 0, threads_per_multiprocessor = 0;  // 0 = unknown
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
class NamesElsewhere;  // analysis/symbols/names_elsewhere.h
struct ModuleInfo {
  std::string path;
  std::string build_id;  // raw bytes
  std::uint64_t load_bias = 0, first_address = 0, end_address = 0;
  // Of a log on another machine: that machine's names. Files of this machine are not looked at.
  std::shared_ptr<const NamesElsewhere> elsewhere = nullptr;
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
  std::int64_t warm_up_steps = 0;  // before the first step that later ones resemble
  std::string why;                 // as text with figures
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

// One log of a session.
struct ProcessInfo {
  std::string path;
  RunInfo run;  // from that log, in its own clock
  // Added to that log's times; never negative; see load/internal/merge.h.
  std::uint64_t clock_shift_ns = 0;
  int rank = -1;  // from the launcher's environment variables; -1 = not set
  // Logs that overlap in time, directly or through others, are one run: 0 is the first. Different
  // runs are unrelated, except that the user opened them together.
  std::uint32_t run_number = 0;
  // The log in which the same process goes on, by row: the next segment of those that were given of
  // a recording that is always on. None for most.
  std::uint32_t next_segment = EventId::kNone;
};

// One frame of a stack before symbolisation.
struct Frame {
  bool python = false;
  std::uint64_t address = 0;              // native: absolute address inside the call instruction
  std::uint32_t module = EventId::kNone;  // index into modules()
  StringId function, file;                // python
  std::uint32_t line = 0;                 // python
};

// The allocations that are live right before `event`.
struct LiveCheckpoint {
  std::uint32_t event = 0;
  std::vector<AllocationId> live;  // in order of birth
};

struct SessionData {
  std::string path;
  RunInfo run;
  SelfAccounting self;
  EventTable events;
  std::vector<ProcessInfo> processes;
  std::vector<DeviceInfo> devices;
  std::vector<ThreadInfo> threads;
  std::vector<ContextInfo> contexts;
  std::vector<PoolInfo> pools;
  std::vector<ModuleInfo> modules;
  std::vector<SourceInfo> sources;
  std::vector<StepInfo> steps;
  StepOrigin step_origin;
  std::vector<FoundSteps> process_steps;  // of several logs
  std::vector<RangeInfo> ranges;
  std::vector<SnapshotInfo> snapshots;
  std::vector<AnomalyCount> anomalies;
  std::vector<std::string> strings;
  std::vector<TensorInfo> tensors;
  std::vector<StackId> stack_parent;
  std::vector<FrameId> stack_frame;
  std::vector<Frame> frames;
  std::vector<AllocationId> children;
  std::vector<std::uint32_t> children_begin;  // allocations + 1 entries
  std::vector<AllocationId> other_deaths;
  std::vector<EventId> marks;               // by allocation, then in order of time
  std::vector<LiveCheckpoint> checkpoints;  // at some multiples of 65,536 events
  // For each allocation what LiveAfter reads, a tenth of its record: the event of its death (the
  // largest number while alive) and its layer.
  std::vector<std::uint32_t> live_until;
  std::vector<Layer> live_layer;
};

}  // namespace memprof::analysis
