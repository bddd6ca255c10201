// Writes a session as a PyTorch snapshot.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/interchange/import.h"
#include "analysis/interchange/internal/constants.h"
#include "analysis/interchange/internal/pickle_writer.h"
#include "analysis/interchange/torch_export.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis::torch {

// The role of a lifetime in a caching allocator.
enum class Role : std::uint8_t {
  kNone,     // not shown: host memory, tensors, what only lies below segments
  kSegment,  // holds blocks
  kWhole,    // a segment that is one block: memory that the program took from the driver itself
  kBlock,
};

class Exporter {
 public:
  Exporter(const Session& session, Symbols& symbols,
           const std::function<bool(std::string_view)>& sink, TorchExportSummary* summary)
      : session_(session), symbols_(symbols), out_(sink), summary_(*summary) {
    const RunInfo& run = session.run();
    if (run.start_unix_ns != 0) epoch_ns_ = run.start_unix_ns - run.start_time;
    for (const SnapshotInfo& snapshot : session.snapshots())
      if (snapshot.label == kTraceBegins) trace_begins_ = snapshot.event.value + 1;
    FindRoles();
  }

  bool Run() {
    const std::vector<int> devices = DeviceOrdinals(session_);
    out_.BeginDict();
    out_.Key("device_traces");
    out_.BeginList();
    for (int device = 0; !devices.empty() && device <= devices.back(); ++device) {
      out_.Item();
      WriteTrace(device);
    }
    out_.EndList();
    out_.Key("segments");
    out_.BeginList();
    for (const int device : devices) WriteSegments(device);
    out_.EndList();
    out_.Key("allocator_settings");
    WriteSettings();
    out_.Key("external_annotations");
    WriteAnnotations();
    out_.EndDict();
    return out_.Finish();
  }

 private:
  using Id = AllocationId;

  void FindRoles();
  static Role RoleOf(const AllocationRecord& a);
  Role role(Id id) const { return roles_[id.value]; }
  // Pages of an expandable segment.
  bool Mapped(const AllocationRecord& a) const {
    return a.parent.valid() && session_.record(a.parent).layer == Layer::kVmmPhysical;
  }

  void WriteTrace(int device);
  void WriteDeaths(std::span<const Id> deaths, EventId event, int device);
  void WriteBirth(Id id, EventId event);
  void WriteOther(EventId event, int device);
  void WriteFree(Id id, EventId event);
  void BeginEntry(std::string_view action, EventId event);
  void Field(std::string_view key, std::uint64_t value) {
    out_.Key(key);
    out_.Integer(value);
  }
  void Entry(std::string_view action, EventId event, std::uint64_t address, std::uint64_t bytes,
             std::uint64_t stream, std::string_view metadata = {});
  void WriteStack(StackId stack);
  void WriteFrame(FrameId frame);
  std::uint64_t TimeUs(TimeNs time) const { return (time + epoch_ns_) / kNsPerUs; }
  std::uint64_t StreamOf(Id id) const {
    return session_.events().stream(session_.record(id).birth.value);
  }
  std::string_view Metadata(Id id) const;

  void WriteSegments(int device);
  void WriteSegment(int device, std::span<const Id> pieces, std::vector<Id> blocks);
  void WriteBlock(std::uint64_t address, std::uint64_t bytes, Id block);
  void WriteSettings();
  void WriteAnnotations();

  const Session& session_;
  Symbols& symbols_;
  PickleWriter out_;
  TorchExportSummary& summary_;
  std::uint64_t epoch_ns_ = 0;  // converts the log's times to the calendar's
  std::uint32_t trace_begins_ = 0;
  std::vector<Role> roles_;                     // of records
  absl::flat_hash_set<std::uint32_t> pending_;  // blocks freed by the program and not yet free
  absl::flat_hash_map<std::uint32_t, std::uint32_t> stacks_, frames_;  // slots
  bool free_memory_known_ = false;
  std::uint64_t free_memory_ = 0;  // free memory of the device at the last failed call
};

}  // namespace memprof::analysis::torch
