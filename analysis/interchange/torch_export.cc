// From lifetimes to the actions of an allocator.
#include "analysis/interchange/torch_export.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "analysis/interchange/internal/torch_exporter.h"

namespace memprof::analysis {
namespace torch {

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
  // A block without a shown segment is a segment itself.
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

// The label that the program gave to a block, or the tensor in it.
std::string_view Exporter::Metadata(Id id) const {
  const EventTable& events = session_.events();
  const AllocationRecord& a = session_.record(id);
  if (a.layer == Layer::kBlock) {
    const std::string_view recorded = session_.string(StringId(events.label(a.birth.value)));
    if (!recorded.empty()) return recorded;
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
    Entry("alloc", event, a.address, a.requested(), stream, Metadata(id));
}

void Exporter::WriteFree(Id id, EventId event) {
  const AllocationRecord& a = session_.record(id);
  const std::uint64_t stream = StreamOf(id);
  if (pending_.erase(id.value) == 0)
    Entry("free_requested", event, a.address, a.requested(), stream);
  Entry("free_completed", event, a.address, a.requested(), stream);
}

// Blocks are freed before the memory that contains them.
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
      Entry("free_requested", event, a.address, a.requested(), StreamOf(block->second));
  }
  out_.EndList();
}

// Writes the begins and ends of steps, which are named as in PyTorch's profiler, and of ranges.
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

}  // namespace torch

bool ExportTorchSnapshot(const Session& session, Symbols& symbols,
                         const std::function<bool(std::string_view)>& sink,
                         TorchExportSummary* summary) {
  return torch::Exporter(session, symbols, sink, summary).Run();
}

}  // namespace memprof::analysis
