// memprof export --to=perfetto: a trace for ui.perfetto.dev and trace_processor: counters of every
// device and layer, slices of steps, ranges and the largest allocations, and marks of failures.
//
// The numbers in the enumerations below are the field numbers of Perfetto's trace format.
#include <algorithm>
#include <map>
#include <protozero/pbf_builder.hpp>
#include <queue>
#include <vector>

#include "analysis/base/units.h"
#include "analysis/log/wire.h"
#include "analysis/peak/peak.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/timeline.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"
#include "cli/shared/event_view.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::AllocationId;
using analysis::Layer;
using analysis::Session;
using analysis::TimeNs;

enum class Trace : protozero::pbf_tag_type { kPacket = 1 };
enum class Packet : protozero::pbf_tag_type {
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kTrackDescriptor = 60,
};
enum class Track : protozero::pbf_tag_type {
  kUuid = 1,
  kName = 2,
  kProcess = 3,
  kThread = 4,
  kParent = 5,
  kCounter = 8,
};
enum class Process : protozero::pbf_tag_type { kPid = 1, kCommandLine = 2, kName = 6 };
enum class Thread : protozero::pbf_tag_type { kPid = 1, kTid = 2, kName = 5 };
enum class Counter : protozero::pbf_tag_type { kUnit = 3 };
enum class TrackEvent : protozero::pbf_tag_type {
  kAnnotation = 4,
  kType = 9,
  kTrack = 11,
  kCategory = 22,
  kName = 23,
  kCounterValue = 30,
};
enum class Annotation : protozero::pbf_tag_type { kUint = 3, kString = 6, kName = 10 };
enum EventType { kSliceBegin = 1, kSliceEnd = 2, kInstant = 3, kCounterEvent = 4 };

constexpr int kUnitBytes = 3;
constexpr std::size_t kFlushBytes = 1 << 18;
// The largest allocations are slices of their own. More of them than this, and a viewer shows lines
// where there should be names.
constexpr std::size_t kMostSlices = 2000;

// What is said about an event beyond its name.
struct Note {
  std::string_view name;
  std::string text;  // empty = `number`
  std::uint64_t number = 0;
};

// Packets, one after the other. Not thread-safe.
class TraceWriter {
 public:
  explicit TraceWriter(OutputFile& output) : output_(output) {}

  // Declares a track below `parent` (0 = none), which `describe` adds to, and returns its id.
  template <typename Describe>
  std::uint64_t AddTrack(std::uint64_t parent, std::string_view name, Describe describe) {
    const std::uint64_t uuid = ++last_track_;
    Write([&](protozero::pbf_builder<Packet>& packet) {
      protozero::pbf_builder<Track> track(packet, Packet::kTrackDescriptor);
      track.add_uint64(Track::kUuid, uuid);
      if (parent != 0) track.add_uint64(Track::kParent, parent);
      if (!name.empty()) track.add_string(Track::kName, analysis::ValidUtf8(name));
      describe(track);
    });
    return uuid;
  }
  std::uint64_t AddTrack(std::uint64_t parent, std::string_view name) {
    return AddTrack(parent, name, [](protozero::pbf_builder<Track>&) {});
  }

  void Begin(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
             const std::vector<Note>& notes = {}) {
    Named(kSliceBegin, track, time, category, name, notes);
  }
  void End(std::uint64_t track, TimeNs time) {
    Event(track, time, kSliceEnd, [](protozero::pbf_builder<TrackEvent>&) {});
  }
  void Instant(std::uint64_t track, TimeNs time, std::string_view category, std::string_view name,
               const std::vector<Note>& notes = {}) {
    Named(kInstant, track, time, category, name, notes);
  }
  void Count(std::uint64_t track, TimeNs time, std::uint64_t value) {
    Event(track, time, kCounterEvent, [value](protozero::pbf_builder<TrackEvent>& event) {
      event.add_int64(TrackEvent::kCounterValue,
                      static_cast<std::int64_t>(std::min(value, ~std::uint64_t{0} >> 1)));
    });
  }
  bool Finish() {
    if (written_) written_ = output_.Write(bytes_);
    return written_;
  }

 private:
  void Named(EventType type, std::uint64_t track, TimeNs time, std::string_view category,
             std::string_view name, const std::vector<Note>& notes) {
    Event(track, time, type, [&](protozero::pbf_builder<TrackEvent>& event) {
      event.add_string(TrackEvent::kCategory, std::string(category));
      event.add_string(TrackEvent::kName, analysis::ValidUtf8(name));
      for (const Note& note : notes) {
        protozero::pbf_builder<Annotation> annotation(event, TrackEvent::kAnnotation);
        annotation.add_string(Annotation::kName, std::string(note.name));
        note.text.empty()
            ? annotation.add_uint64(Annotation::kUint, note.number)
            : annotation.add_string(Annotation::kString, analysis::ValidUtf8(note.text));
      }
    });
  }
  template <typename Fill>
  void Event(std::uint64_t track, TimeNs time, EventType type, Fill fill) {
    Write([&](protozero::pbf_builder<Packet>& packet) {
      packet.add_uint64(Packet::kTimestamp, time);
      protozero::pbf_builder<TrackEvent> event(packet, Packet::kTrackEvent);
      event.add_enum(TrackEvent::kType, type);
      event.add_uint64(TrackEvent::kTrack, track);
      fill(event);
    });
  }
  template <typename Fill>
  void Write(Fill fill) {
    {
      protozero::pbf_builder<Trace> trace(bytes_);
      protozero::pbf_builder<Packet> packet(trace, Trace::kPacket);
      packet.add_uint32(Packet::kSequenceId, 1);
      fill(packet);
    }
    if (bytes_.size() < kFlushBytes) return;
    if (written_) written_ = output_.Write(bytes_);
    bytes_.clear();
  }

  OutputFile& output_;
  std::string bytes_;
  bool written_ = true;
  std::uint64_t last_track_ = 0;
};

struct Slice {
  TimeNs begin = 0, end = 0;
  int depth = 0;
  std::string name;
};

// Slices of one track, of which one may lie in the other. Begins and ends are written in order, so
// that those of one instant keep it.
void WriteNested(TraceWriter& trace, std::uint64_t track, std::string_view category,
                 std::vector<Slice> slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.depth < b.depth;
  });
  std::vector<TimeNs> open;
  for (const Slice& slice : slices) {
    for (; !open.empty() && open.back() <= slice.begin; open.pop_back())
      trace.End(track, open.back());
    trace.Begin(track, slice.begin, category, slice.name);
    const TimeNs end = std::max(slice.begin, slice.end);
    open.push_back(open.empty() ? end : std::min(end, open.back()));
  }
  for (; !open.empty(); open.pop_back()) trace.End(track, open.back());
}

void WriteCounter(TraceWriter& trace, std::uint64_t parent, std::string_view name,
                  const analysis::Series& series) {
  if (series.empty()) return;
  const std::uint64_t track =
      trace.AddTrack(parent, name, [](protozero::pbf_builder<Track>& descriptor) {
        protozero::pbf_builder<Counter> counter(descriptor, Track::kCounter);
        counter.add_enum(Counter::kUnit, kUnitBytes);
      });
  const auto times = series.times();
  const auto values = series.values();
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (i + 1 < times.size() && times[i + 1] == times[i]) continue;  // only what holds after it
    trace.Count(track, times[i], values[i]);
  }
}

class SessionTrace {
 public:
  SessionTrace(const Session& session, analysis::Symbols& symbols, OutputFile& output)
      : session_(session), stacks_(session, symbols), trace_(output) {}

  bool Write() {
    for (const analysis::ProcessInfo& process : session_.processes())
      processes_.push_back(AddProcess(process.run));
    // What belongs to all processes lies under none of them.
    top_ = processes_.size() == 1 ? processes_[0] : 0;
    WriteSteps();
    WriteRanges();
    WriteDevices();
    WriteMarks();
    return trace_.Finish();
  }

 private:
  std::uint64_t AddProcess(const analysis::RunInfo& run) {
    return trace_.AddTrack(0, "", [&run](protozero::pbf_builder<Track>& track) {
      protozero::pbf_builder<Process> process(track, Track::kProcess);
      process.add_int32(Process::kPid, static_cast<std::int32_t>(run.pid));
      for (const std::string& argument : run.arguments)
        process.add_string(Process::kCommandLine, argument);
      process.add_string(Process::kName, run.executable.substr(run.executable.rfind('/') + 1));
    });
  }

  void WriteSteps() {
    std::vector<Slice> steps;
    for (const analysis::StepInfo& step : session_.steps()) {
      steps.push_back({step.begin, step.end, 0, Cat("step ", step.number)});
    }
    if (!steps.empty()) {
      WriteNested(trace_, trace_.AddTrack(top_, "steps"), "step", std::move(steps));
    }
  }

  void WriteRanges() {
    std::map<std::uint32_t, std::vector<Slice>> by_thread;
    for (const analysis::RangeInfo& range : session_.ranges()) {
      by_thread[range.thread].push_back(
          {range.begin, range.end, range.depth, std::string(session_.string(range.name))});
    }
    for (auto& [thread, slices] : by_thread) {
      const analysis::ThreadInfo info =
          thread < session_.threads().size() ? session_.threads()[thread] : analysis::ThreadInfo();
      const std::size_t process = info.process < processes_.size() ? info.process : 0;
      const std::uint32_t pid = session_.processes()[process].run.pid;
      const std::uint64_t track =
          trace_.AddTrack(processes_[process], "", [&](protozero::pbf_builder<Track>& descriptor) {
            protozero::pbf_builder<Thread> described(descriptor, Track::kThread);
            described.add_int32(Thread::kPid, static_cast<std::int32_t>(pid));
            described.add_int32(Thread::kTid, static_cast<std::int32_t>(info.tid));
            if (!info.name.empty()) described.add_string(Thread::kName, info.name);
          });
      WriteNested(trace_, track, "range", std::move(slices));
    }
  }

  void WriteDevices() {
    std::map<int, std::vector<AllocationId>> slices = LargestAllocations();
    const auto timelines = analysis::TimelinesOf(session_);
    for (const analysis::DeviceTimeline& device : *timelines) {
      const std::uint64_t track = trace_.AddTrack(top_, DeviceName(device.device));
      WriteCounter(trace_, track, "driver memory", device.total);
      WriteCounter(trace_, track, "driver memory and pools", device.reserved);
      WriteCounter(trace_, track, "allocator: segments", device.framework_reserved);
      WriteCounter(trace_, track, "allocator: blocks", device.framework_allocated);
      WriteCounter(trace_, track, "tensors", device.tensors);
      for (int i = 0; i < analysis::kLayerCount; ++i) {
        const auto layer = static_cast<Layer>(i);
        if (analysis::IsFrameworkLayer(layer)) continue;  // the three above
        WriteCounter(trace_, track, analysis::LayerName(layer), device.layer[i]);
      }
      WriteAllocations(track, slices[device.device]);
    }
  }
  std::string DeviceName(int device) const {
    if (device == analysis::kNoDevice) return "host memory";
    for (const analysis::DeviceInfo& info : session_.devices()) {
      if (info.id == device && !info.name.empty()) return Cat("device ", device, ": ", info.name);
    }
    return Cat("device ", device);
  }

  // Of every device, in order of birth: tensors; blocks and driver memory in which none lies.
  std::map<int, std::vector<AllocationId>> LargestAllocations() {
    std::vector<AllocationId> largest;
    const auto records = session_.records();
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      const Layer layer = records[i].layer;
      const bool memory = analysis::OccupiesDevice(layer) || analysis::OccupiesHost(layer) ||
                          layer == Layer::kBlock || layer == Layer::kTensor;
      if (memory && session_.Children(AllocationId(i)).empty()) largest.push_back(AllocationId(i));
    }
    slices_cut_ = largest.size() > kMostSlices;
    if (slices_cut_) {
      std::nth_element(largest.begin(), largest.begin() + kMostSlices, largest.end(),
                       [&records](AllocationId a, AllocationId b) {
                         const std::uint64_t left = records[a.value].bytes,
                                             right = records[b.value].bytes;
                         return left != right ? left > right : a < b;
                       });
      largest.resize(kMostSlices);
    }
    std::sort(largest.begin(), largest.end());
    std::map<int, std::vector<AllocationId>> by_device;
    for (const AllocationId id : largest) by_device[records[id.value].device].push_back(id);
    return by_device;
  }

  // Each on the first of a row of tracks of one name, which viewers show as one, that is free.
  void WriteAllocations(std::uint64_t device, const std::vector<AllocationId>& ids) {
    struct Lane {
      TimeNs free_at = 0;
      std::uint64_t track = 0;
      bool operator>(const Lane& other) const {
        return free_at != other.free_at ? free_at > other.free_at : track > other.track;
      }
    };
    std::priority_queue<Lane, std::vector<Lane>, std::greater<>> lanes;
    const std::string name = slices_cut_ ? "largest allocations" : "allocations";
    for (const AllocationId id : ids) {
      const analysis::Allocation a = session_.allocation(id);
      const TimeNs end = a.alive() ? std::max(a.birth_time, session_.run().end_time) : a.death_time;
      Lane lane;
      if (!lanes.empty() && lanes.top().free_at <= a.birth_time) {
        lane = lanes.top();
        lanes.pop();
      } else {
        lane.track = trace_.AddTrack(device, name);
      }
      const analysis::TensorInfo* tensor = session_.tensor(a.tensor);
      const std::string& site = stacks_.Site(a.stack);
      trace_.Begin(lane.track, a.birth_time, "allocation", tensor == nullptr ? site : tensor->name,
                   {{"bytes", "", a.bytes},
                    {"site", site},
                    {"layer", std::string(analysis::LayerName(a.layer))},
                    {"address", Hex(a.address)},
                    {"allocation", "", id.value},
                    {"end", std::string(EndReasonName(a.end_reason))}});
      trace_.End(lane.track, end);
      lane.free_at = end;
      lanes.push(lane);
    }
  }

  // What happened at one instant: snapshots, failures, peaks.
  void WriteMarks() {
    const std::uint64_t track = trace_.AddTrack(top_, "marks");
    for (const analysis::SnapshotInfo& snapshot : session_.snapshots()) {
      trace_.Instant(track, snapshot.time, "snapshot", Cat("snapshot ", snapshot.label));
    }
    for (const analysis::Peak& peak : analysis::FindPeaks(session_)) {
      trace_.Instant(track, peak.time, "peak",
                     Cat("peak of device ", peak.device, ": ", analysis::FormatBytes(peak.bytes)),
                     {{"bytes", "", peak.bytes}});
    }
    const analysis::EventTable& events = session_.events();
    for (std::uint32_t e = 0; e < events.size(); ++e) {
      const analysis::Op op = events.op(e);
      if (op != analysis::Op::kAllocFailed && op != analysis::Op::kFrameworkOom) continue;
      trace_.Instant(track, events.time(e), "failure",
                     Cat(op == analysis::Op::kAllocFailed ? "failed: " : "out of memory: ",
                         analysis::FormatBytes(events.bytes(e))),
                     {{"bytes", "", events.bytes(e)},
                      {"device", Cat(static_cast<int>(events.device(e)))},
                      {"api", Cat(session_.string(events.api(e)), "")},
                      {"result", "", events.result(e)},
                      {"site", stacks_.Site(events.stack(e))}});
    }
  }

  const Session& session_;
  StackTexts stacks_;
  TraceWriter trace_;
  std::vector<std::uint64_t> processes_;  // their tracks
  std::uint64_t top_ = 0;
  bool slices_cut_ = false;
};

}  // namespace

bool ExportPerfetto(const ExportInput& input, OutputFile& output) {
  analysis::Symbols symbols(input.session);
  return SessionTrace(*input.session, symbols, output).Write();
}

}  // namespace memprof::cli
