// memprof export --to=perfetto: a trace for ui.perfetto.dev and trace_processor: counters of every
// device and layer, slices of steps, ranges and the largest allocations, and marks of failures.
#include <algorithm>
#include <map>
#include <queue>
#include <vector>

#include "analysis/base/units.h"
#include "analysis/peak/peak.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/timeline.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"
#include "cli/export/internal/perfetto_trace.h"
#include "cli/shared/event_view.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::AllocationId;
using analysis::Layer;
using analysis::Session;
using analysis::TimeNs;

// The largest allocations are slices. With more slices than this, viewers show lines without names.
constexpr std::size_t kMaxSlices = 2000;

class SessionTrace {
 public:
  SessionTrace(const Session& session, analysis::Symbols& symbols, OutputFile& output)
      : session_(session), stacks_(session, symbols), trace_(output) {}

  bool Write() {
    for (const analysis::ProcessInfo& process : session_.processes())
      processes_.push_back(AddProcess(process.run));
    // Tracks that belong to all processes are below none of them.
    top_ = processes_.size() == 1 ? processes_[0] : 0;
    WriteSteps();
    WriteRanges();
    WriteDevices();
    WriteMarks();
    return trace_.Finish();
  }

 private:
  std::uint64_t AddProcess(const analysis::RunInfo& run) {
    perfetto::TrackDescriptor track;
    perfetto::ProcessDescriptor& process = *track.mutable_process();
    process.set_pid(static_cast<std::int32_t>(run.pid));
    for (const std::string& argument : run.arguments) process.add_cmdline(argument);
    process.set_process_name(run.executable.substr(run.executable.rfind('/') + 1));
    return trace_.AddTrack(0, "", std::move(track));
  }

  void WriteSteps() {
    std::vector<PerfettoSlice> steps;
    for (const analysis::StepInfo& step : session_.steps()) {
      steps.push_back({step.begin, step.end, 0, Cat("step ", step.number)});
    }
    if (!steps.empty()) {
      trace_.AddNested(trace_.AddTrack(top_, "steps"), "step", std::move(steps));
    }
  }

  void WriteRanges() {
    std::map<std::uint32_t, std::vector<PerfettoSlice>> by_thread;
    for (const analysis::RangeInfo& range : session_.ranges()) {
      by_thread[range.thread].push_back(
          {range.begin, range.end, range.depth, std::string(session_.string(range.name))});
    }
    for (auto& [thread, slices] : by_thread) {
      const analysis::ThreadInfo info =
          thread < session_.threads().size() ? session_.threads()[thread] : analysis::ThreadInfo();
      const std::size_t process = info.process < processes_.size() ? info.process : 0;
      const std::uint32_t pid = session_.processes()[process].run.pid;
      perfetto::TrackDescriptor descriptor;
      perfetto::ThreadDescriptor& described = *descriptor.mutable_thread();
      described.set_pid(static_cast<std::int32_t>(pid));
      described.set_tid(static_cast<std::int32_t>(info.tid));
      if (!info.name.empty()) described.set_thread_name(info.name);
      trace_.AddNested(trace_.AddTrack(processes_[process], "", std::move(descriptor)), "range",
                       std::move(slices));
    }
  }

  void WriteDevices() {
    std::map<int, std::vector<AllocationId>> slices = LargestAllocations();
    const auto timelines = analysis::TimelinesOf(session_);
    for (const analysis::DeviceTimeline& device : *timelines) {
      const std::uint64_t track = trace_.AddTrack(top_, DeviceName(device.device));
      trace_.AddCounter(track, "driver memory", device.total);
      trace_.AddCounter(track, "driver memory and pools", device.reserved);
      trace_.AddCounter(track, "allocator: segments", device.framework_reserved);
      trace_.AddCounter(track, "allocator: blocks", device.framework_allocated);
      trace_.AddCounter(track, "tensors", device.tensors);
      for (int i = 0; i < analysis::kLayerCount; ++i) {
        const auto layer = static_cast<Layer>(i);
        if (analysis::IsFrameworkLayer(layer)) continue;  // the three above
        trace_.AddCounter(track, analysis::LayerName(layer), device.layer[i]);
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

  // For every device, in order of birth: tensors; and blocks and driver memory without tensors.
  std::map<int, std::vector<AllocationId>> LargestAllocations() {
    std::vector<AllocationId> largest;
    const auto records = session_.records();
    for (std::uint32_t i = 0; i < records.size(); ++i) {
      const Layer layer = records[i].layer;
      const bool memory = analysis::OccupiesDevice(layer) || analysis::OccupiesHost(layer) ||
                          layer == Layer::kBlock || layer == Layer::kTensor;
      if (memory && session_.Children(AllocationId(i)).empty()) largest.push_back(AllocationId(i));
    }
    slices_cut_ = largest.size() > kMaxSlices;
    if (slices_cut_) {
      std::nth_element(largest.begin(), largest.begin() + kMaxSlices, largest.end(),
                       [&records](AllocationId a, AllocationId b) {
                         const std::uint64_t left = records[a.value].bytes,
                                             right = records[b.value].bytes;
                         return left != right ? left > right : a < b;
                       });
      largest.resize(kMaxSlices);
    }
    std::sort(largest.begin(), largest.end());
    std::map<int, std::vector<AllocationId>> by_device;
    for (const AllocationId id : largest) by_device[records[id.value].device].push_back(id);
    return by_device;
  }

  // Each allocation goes to the first free one of several tracks with one name, which viewers show
  // as one.
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

  // Marks of single instants: snapshots, failures, peaks.
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
  PerfettoTrace trace_;
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
