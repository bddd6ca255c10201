// From lifetimes to the actions of an allocator, and to its state at the end.
#include "analysis/interchange/torch_export.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "analysis/base/sizes.h"
#include "analysis/interchange/import.h"
#include "analysis/interchange/internal/constants.h"
#include "analysis/interchange/internal/pickle_writer.h"
#include "analysis/store/lifetime_walk.h"

namespace memprof::analysis {
namespace {

constexpr std::string_view kConfiguration = "PYTORCH_CUDA_ALLOC_CONF=";

// What a lifetime is to a caching allocator.
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
  static std::uint64_t Requested(const AllocationRecord& a) {
    return a.layer == Layer::kBlock && a.second != 0 ? a.second : a.bytes;
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
  std::uint64_t epoch_ns_ = 0;  // what turns the log's times into the calendar's
  std::uint32_t trace_begins_ = 0;
  std::vector<Role> roles_;                     // of records
  absl::flat_hash_set<std::uint32_t> pending_;  // blocks given up and not yet free
  absl::flat_hash_map<std::uint32_t, std::uint32_t> stacks_, frames_;  // slots
  bool free_memory_known_ = false;
  std::uint64_t free_memory_ = 0;  // what the last failed call found free on the device
};

void Exporter::FindRoles() {
  const auto records = session_.records();
  roles_.reserve(records.size());
  for (const AllocationRecord& a : records) roles_.push_back(RoleOf(a));
  for (std::size_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (!a.parent.valid()) continue;
    Role& parent = roles_[a.parent.value];
    if (parent == Role::kNone) continue;
    if (a.layer == Layer::kSegment) parent = Role::kNone;  // shown as its segments
    if (a.layer == Layer::kBlock && parent == Role::kWhole) parent = Role::kSegment;
  }
  // A block that lies in nothing that is shown is a segment of its own.
  for (std::size_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (a.layer == Layer::kBlock && (!a.parent.valid() || roles_[a.parent.value] != Role::kSegment))
      roles_[i] = Role::kWhole;
    if (OccupiesDevice(a.layer) && (a.layer == Layer::kArray || a.layer == Layer::kVmmPhysical) &&
        session_.Children(Id(static_cast<std::uint32_t>(i))).empty())
      ++summary_.left_out;
  }
}

Role Exporter::RoleOf(const AllocationRecord& a) {
  switch (a.layer) {
    case Layer::kSegment:
      return Role::kSegment;
    case Layer::kBlock:
      return Role::kBlock;
    case Layer::kLinear:
    case Layer::kPitched:
    case Layer::kManaged:
    case Layer::kStreamOrdered:
    case Layer::kGraph:
      return Role::kWhole;
    default:
      return Role::kNone;
  }
}

void Exporter::WriteFrame(FrameId frame) {
  for (const SourceFrame& source : symbols_.Resolve(frame)) {
    out_.Item();
    // Several functions may be inlined at one place, but nearly all frames are one.
    const auto [at, fresh] = frames_.try_emplace(frame.value, 0);
    if (!fresh && !source.inlined && symbols_.Resolve(frame).size() == 1) {
      out_.Get(at->second);
      continue;
    }
    out_.BeginDict();
    at->second = out_.Memoize();
    out_.Key("name");
    out_.Text(source.function);
    out_.Key("filename");
    out_.Text(source.file.empty() ? "??" : source.file);
    Field("line", static_cast<std::uint64_t>(std::max(source.line, 0)));
    out_.EndDict();
  }
}

void Exporter::WriteStack(StackId stack) {
  const auto [at, fresh] = stacks_.try_emplace(stack.value, 0);
  if (!fresh) return out_.Get(at->second);
  out_.BeginList();
  at->second = out_.Memoize();
  if (stack.valid())
    for (const FrameId frame : session_.StackFrames(stack)) WriteFrame(frame);
  out_.EndList();
}

void Exporter::BeginEntry(std::string_view action, EventId event) {
  ++summary_.actions;
  out_.Item();
  out_.BeginDict();
  out_.Key("action");
  out_.Text(action);
  Field("time_us", TimeUs(session_.events().time(event.value)));
  out_.Key("frames");
  WriteStack(session_.events().stack(event.value));
}

void Exporter::Entry(std::string_view action, EventId event, std::uint64_t address,
                     std::uint64_t bytes, std::uint64_t stream, std::string_view metadata) {
  if (event.value < trace_begins_) return;
  BeginEntry(action, event);
  Field("addr", address);
  Field("size", bytes);
  Field("stream", stream);
  if (!metadata.empty()) {
    out_.Key("user_metadata");
    out_.Text(metadata);
  }
  out_.EndDict();
}

// What the program said about a block, or the tensor that it was for.
std::string_view Exporter::Metadata(Id id) const {
  const EventTable& events = session_.events();
  const AllocationRecord& a = session_.record(id);
  if (a.layer == Layer::kBlock) {
    const std::string_view said = session_.string(StringId(events.label(a.birth.value)));
    if (!said.empty()) return said;
  }
  for (const Id child : session_.Children(id)) {
    const TensorInfo* tensor = session_.tensor(session_.allocation(child).tensor);
    if (tensor != nullptr) return tensor->name;
  }
  return {};
}

void Exporter::WriteBirth(Id id, EventId event) {
  const AllocationRecord& a = session_.record(id);
  const std::uint64_t stream = StreamOf(id);
  if (role(id) == Role::kSegment || role(id) == Role::kWhole)
    Entry(Mapped(a) ? "segment_map" : "segment_alloc", event, a.address, a.bytes, stream);
  if (role(id) == Role::kBlock || role(id) == Role::kWhole)
    Entry("alloc", event, a.address, Requested(a), stream, Metadata(id));
}

void Exporter::WriteFree(Id id, EventId event) {
  const AllocationRecord& a = session_.record(id);
  const std::uint64_t stream = StreamOf(id);
  if (pending_.erase(id.value) == 0)
    Entry("free_requested", event, a.address, Requested(a), stream);
  Entry("free_completed", event, a.address, Requested(a), stream);
}

// Blocks go before what they lie in.
void Exporter::WriteDeaths(std::span<const Id> deaths, EventId event, int device) {
  for (const Id id : deaths)
    if (session_.record(id).device == device &&
        (role(id) == Role::kBlock || role(id) == Role::kWhole))
      WriteFree(id, event);
  for (const Id id : deaths) {
    const AllocationRecord& a = session_.record(id);
    if (a.device == device && (role(id) == Role::kSegment || role(id) == Role::kWhole))
      Entry(Mapped(a) ? "segment_unmap" : "segment_free", event, a.address, a.bytes, StreamOf(id));
  }
}

void Exporter::WriteOther(EventId event, int device) {
  const EventTable& events = session_.events();
  const std::size_t i = event.value;
  if (events.op(i) == Op::kSnapshot && event.value >= trace_begins_) {
    Entry("snapshot", event, 0, 0, 0);
    return;
  }
  if (events.device(i) != device) return;
  if (events.op(i) == Op::kAllocFailed) {
    free_memory_ = events.aux0(i);
    free_memory_known_ = true;
  } else if (events.op(i) == Op::kFrameworkOom && event.value >= trace_begins_) {
    BeginEntry("oom", event);
    Field("device_free", free_memory_known_ ? free_memory_ : 0);
    Field("size", events.bytes(i));
    Field("stream", events.stream(i));
    out_.EndDict();
  }
}

void Exporter::WriteTrace(int device) {
  out_.BeginList();
  Deaths deaths(session_);
  const std::span<const AllocationRecord> records = session_.records();
  const EventTable& events = session_.events();
  // Blocks by address, for requests to free them.
  absl::flat_hash_map<std::uint64_t, Id> live;
  std::uint32_t next = 0;
  free_memory_known_ = false;
  for (std::uint32_t e = 0; e < events.size(); ++e) {
    const EventId event(e);
    WriteDeaths(deaths.At(event), event, device);
    for (; next < records.size() && records[next].birth == event; ++next) {
      if (records[next].device != device || roles_[next] == Role::kNone) continue;
      if (records[next].layer == Layer::kBlock) live[records[next].address] = Id(next);
      WriteBirth(Id(next), event);
    }
    if (events.op(e) != Op::kFreeRequested) {
      WriteOther(event, device);
      continue;
    }
    const auto block = live.find(events.address(e));
    if (events.device(e) != device || block == live.end()) continue;
    const AllocationRecord& a = session_.record(block->second);
    if ((a.alive() || a.death > event) && pending_.insert(block->second.value).second)
      Entry("free_requested", event, a.address, Requested(a), StreamOf(block->second));
  }
  out_.EndList();
}

// What is there at the end; adjoining pages of expandable segments are one.
void Exporter::WriteSegments(int device) {
  const std::span<const AllocationRecord> records = session_.records();
  std::vector<Id> segments;
  std::map<Id, std::vector<Id>> blocks;  // by segment
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationRecord& a = records[i];
    if (!a.alive() || a.device != device) continue;
    if (roles_[i] == Role::kSegment || roles_[i] == Role::kWhole) segments.emplace_back(i);
    if (roles_[i] == Role::kWhole) blocks[Id(i)].emplace_back(i);
    if (roles_[i] == Role::kBlock) blocks[a.parent].emplace_back(i);
  }
  std::stable_sort(segments.begin(), segments.end(), [&](Id a, Id b) {
    return session_.record(a).address < session_.record(b).address;
  });
  for (std::size_t begin = 0; begin < segments.size();) {
    std::size_t end = begin + 1;
    const auto joins = [&](const AllocationRecord& a, const AllocationRecord& b, std::size_t at) {
      return Mapped(a) && Mapped(b) && EndAddress(a.address, a.bytes) == b.address &&
             a.second == b.second && StreamOf(segments[at - 1]) == StreamOf(segments[at]);
    };
    while (end < segments.size() &&
           joins(session_.record(segments[end - 1]), session_.record(segments[end]), end))
      ++end;
    std::vector<Id> inside;
    for (std::size_t i = begin; i < end; ++i)
      inside.insert(inside.end(), blocks[segments[i]].begin(), blocks[segments[i]].end());
    WriteSegment(device, std::span(segments).subspan(begin, end - begin), std::move(inside));
    begin = end;
  }
}

void Exporter::WriteSegment(int device, std::span<const Id> pieces, std::vector<Id> blocks) {
  std::sort(blocks.begin(), blocks.end(),
            [&](Id a, Id b) { return session_.record(a).address < session_.record(b).address; });
  const AllocationRecord& first = session_.record(pieces.front());
  const AllocationRecord& last = session_.record(pieces.back());
  const std::uint64_t end = EndAddress(last.address, last.bytes);
  std::uint64_t allocated = 0, active = 0, requested = 0;
  for (const Id id : blocks) {
    const AllocationRecord& a = session_.record(id);
    active += a.bytes;
    if (pending_.contains(id.value)) continue;
    allocated += a.bytes;
    requested += Requested(a);
  }
  out_.Item();
  out_.BeginDict();
  Field("device", static_cast<std::uint64_t>(device));
  Field("address", first.address);
  Field("total_size", end - first.address);
  Field("allocated_size", allocated);
  Field("active_size", active);
  Field("requested_size", requested);
  Field("stream", StreamOf(pieces.front()));
  out_.Key("segment_type");
  out_.Text(first.bytes <= kSmallSegmentBytes ? "small" : "large");
  const std::uint64_t pool = first.layer == Layer::kSegment ? first.second : 0;
  out_.Key("segment_pool_id");
  out_.Pair(pool >> 32, pool & UINT32_MAX);
  out_.Key("is_expandable");
  out_.Bool(Mapped(first));
  out_.Key("frames");
  WriteStack(first.stack);
  out_.Key("blocks");
  out_.BeginList();
  std::uint64_t cursor = first.address;
  for (const Id id : blocks) {  // the viewer adds their sizes up: they must tile the segment
    const AllocationRecord& a = session_.record(id);
    const std::uint64_t begin = std::max(a.address, cursor);
    const std::uint64_t block_end = std::min(EndAddress(a.address, a.bytes), end);
    if (block_end <= begin) continue;
    if (begin > cursor) WriteBlock(cursor, begin - cursor, Id());
    WriteBlock(begin, block_end - begin, id);
    cursor = block_end;
  }
  if (cursor < end) WriteBlock(cursor, end - cursor, Id());
  out_.EndList();
  out_.EndDict();
}

// A block in use, or, without one, a hole.
void Exporter::WriteBlock(std::uint64_t address, std::uint64_t bytes, Id block) {
  out_.Item();
  out_.BeginDict();
  Field("address", address);
  Field("size", bytes);
  Field("requested_size", block.valid() ? Requested(session_.record(block)) : 0);
  out_.Key("state");
  out_.Text(!block.valid()                   ? "inactive"
            : pending_.contains(block.value) ? "active_pending_free"
                                             : "active_allocated");
  out_.Key("frames");
  WriteStack(block.valid() ? session_.record(block).stack : StackId());
  out_.EndDict();
}

void Exporter::WriteSettings() {
  std::string_view configuration;
  for (const std::string& variable : session_.run().environment)
    if (variable.starts_with(kConfiguration))
      configuration = std::string_view(variable).substr(kConfiguration.size());
  constexpr std::string_view kMaxSplit = "max_split_size_mb:";
  std::int64_t max_split = -1;
  if (const std::size_t at = configuration.find(kMaxSplit); at != std::string_view::npos) {
    const std::string_view rest = configuration.substr(at + kMaxSplit.size());
    std::int64_t mib = 0;
    const std::string_view number = rest.substr(0, rest.find(','));
    if (absl::SimpleAtoi(absl::string_view(number.data(), number.size()), &mib) && mib > 0 &&
        mib < 1 << 24)
      max_split = mib << 20;
  }
  out_.BeginDict();
  out_.Key("PYTORCH_CUDA_ALLOC_CONF");
  out_.Text(configuration);
  out_.Key("max_split_size");
  out_.Negative(max_split);
  out_.Key("garbage_collection_threshold");
  out_.Float(0);
  out_.Key("expandable_segments");
  out_.Bool(configuration.find("expandable_segments:True") != std::string_view::npos);
  out_.EndDict();
}

// Steps as PyTorch's profiler names them, and ranges.
void Exporter::WriteAnnotations() {
  struct Mark {
    TimeNs time;
    bool start;
    std::string name;
  };
  std::vector<Mark> marks;
  const auto add = [&marks](std::string name, TimeNs begin, TimeNs end) {
    marks.push_back({begin, true, name});
    marks.push_back({end, false, std::move(name)});
  };
  for (const StepInfo& step : session_.steps())
    add(absl::StrCat("ProfilerStep#", step.number), step.begin, step.end);
  for (const RangeInfo& range : session_.ranges())
    add(std::string(session_.string(range.name)), range.begin, range.end);
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.time < b.time; });
  out_.BeginList();
  for (const Mark& mark : marks) {
    out_.Item();
    out_.BeginDict();
    out_.Key("name");
    out_.Text(mark.name);
    out_.Key("stage");
    out_.Text(mark.start ? "START" : "END");
    Field("device", 0);
    Field("time_us", TimeUs(mark.time));
    out_.EndDict();
  }
  out_.EndList();
}

}  // namespace

bool ExportTorchSnapshot(const Session& session, Symbols& symbols,
                         const std::function<bool(std::string_view)>& sink,
                         TorchExportSummary* summary) {
  return Exporter(session, symbols, sink, summary).Run();
}

}  // namespace memprof::analysis
