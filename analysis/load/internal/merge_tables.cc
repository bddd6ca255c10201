// Rows that mean the same in several logs become one.
#include "analysis/load/internal/merge_tables.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/load/internal/merge.h"

namespace memprof::analysis {
namespace {

// When a log's monotonic clock was zero, as a wall clock; 0 = unknown.
std::uint64_t ClockZero(const RunInfo& run) {
  return run.start_unix_ns > run.start_time ? run.start_unix_ns - run.start_time : 0;
}

// On one host, clocks that were zero within so many nanoseconds of each other are one clock: its
// wall clock is set and slewed while it runs, and to boot takes longer.
constexpr std::uint64_t kSameBoot = 10'000'000'000;

class TableMerger {
 public:
  TableMerger(std::vector<MergePart>* parts, SessionData* to) : parts_(*parts), data_(*to) {}

  void Merge() {
    AlignClocks();
    for (Part& part : parts_) MergeDevices(part, true);
    for (Part& part : parts_) MergeDevices(part, false);
    for (Part& part : parts_) {
      MergeTables(part);
      MergeStacks(part);
    }
    MergeRuns();
    std::sort(data_.devices.begin(), data_.devices.end(),
              [](const DeviceInfo& a, const DeviceInfo& b) { return a.id < b.id; });
  }

 private:
  using Part = MergePart;

  // Shifts are to the clock that was zero first, so that no time becomes negative.
  void AlignClocks() {
    std::vector<std::pair<std::string, std::uint64_t>> clocks;
    std::uint64_t first = std::numeric_limits<std::uint64_t>::max();
    for (Part& part : parts_) {
      const RunInfo& run = part.session->run();
      const std::uint64_t zero = ClockZero(run);
      const auto same = std::find_if(clocks.begin(), clocks.end(), [&](const auto& clock) {
        const std::uint64_t apart = clock.second > zero ? clock.second - zero : zero - clock.second;
        return clock.first == run.hostname && apart < kSameBoot;
      });
      part.shift = same == clocks.end() ? zero : same->second;
      if (same == clocks.end()) clocks.emplace_back(run.hostname, zero);
      if (zero != 0) first = std::min(first, part.shift);
    }
    for (Part& part : parts_) part.shift -= part.shift == 0 ? 0 : first;
  }

  // First the devices with a UUID, then those identified by their ordinal: a log has no UUID of a
  // device that its process only touched.
  void MergeDevices(Part& part, bool with_uuid) {
    const std::string& host = part.session->run().hostname;
    for (const DeviceInfo& device : part.session->devices()) {
      if (device.uuid.empty() == with_uuid) continue;
      const std::string ordinal = absl::StrCat("#", device.id);
      const std::string identity = with_uuid ? absl::StrCat("=", device.uuid) : ordinal;
      const auto [at, fresh] = devices_.try_emplace(std::pair(host, identity), 0);
      if (fresh) {
        at->second = FreeOrdinal(device.id);
        data_.devices.push_back(device);
        data_.devices.back().id = at->second;
      }
      const int merged = at->second;
      if (with_uuid) devices_.try_emplace(std::pair(host, ordinal), merged);
      for (DeviceInfo& known : data_.devices)
        if (known.id == merged && known.capacity_bytes == 0)
          known.capacity_bytes = device.capacity_bytes;
      part.devices[device.id] = merged;
    }
  }

  int FreeOrdinal(int wish) const {
    const auto taken = [this](int id) {
      return std::any_of(data_.devices.begin(), data_.devices.end(),
                         [id](const DeviceInfo& device) { return device.id == id; });
    };
    if (!taken(wish)) return wish;
    int id = 0;
    while (taken(id)) ++id;
    return id;
  }

  void MergeTables(Part& part) {
    const SessionData& from = part.session->data();
    SessionData& to = data_;
    part.threads = static_cast<std::uint32_t>(to.threads.size());
    part.contexts = static_cast<std::uint32_t>(to.contexts.size());
    part.tensors = static_cast<std::uint32_t>(to.tensors.size());
    for (ThreadInfo thread : from.threads) {
      thread.process = static_cast<std::uint32_t>(&part - parts_.data());
      to.threads.push_back(std::move(thread));
    }
    for (ContextInfo context : from.contexts) {
      context.device = part.DeviceOf(context.device);
      to.contexts.push_back(context);
    }
    for (PoolInfo pool : from.pools) {
      pool.handle = part.Tagged(pool.handle);
      pool.device = part.DeviceOf(pool.device);
      to.pools.push_back(pool);
    }
    to.tensors.insert(to.tensors.end(), from.tensors.begin(), from.tensors.end());
    for (const std::string& text : from.strings) {
      const auto [at, fresh] =
          strings_.try_emplace(text, static_cast<std::uint32_t>(to.strings.size()));
      if (fresh) to.strings.push_back(text);
      part.strings.push_back(at->second);
    }
    for (const ModuleInfo& module : from.modules) {
      const auto [at, fresh] = modules_.try_emplace(
          std::tuple(module.path, module.build_id, module.end_address - module.first_address),
          static_cast<std::uint32_t>(to.modules.size()));
      if (fresh) to.modules.push_back(module);
      part.modules.push_back(at->second);
    }
  }

  // A native frame has the address that it has in the first process which loaded its module.
  Frame FrameOf(const Part& part, Frame frame) const {
    if (frame.python) {
      frame.function = StringId(RowIn(part.strings, frame.function.value));
      frame.file = StringId(RowIn(part.strings, frame.file.value));
      return frame;
    }
    if (frame.module >= part.modules.size()) return frame;
    const ModuleInfo& old = part.session->modules()[frame.module];
    frame.module = part.modules[frame.module];
    frame.address += data_.modules[frame.module].load_bias - old.load_bias;
    return frame;
  }

  void MergeStacks(Part& part) {
    const SessionData& from = part.session->data();
    SessionData& to = data_;
    for (const Frame& old : from.frames) {
      const Frame frame = FrameOf(part, old);
      // Code of an unknown module belongs to its process only.
      const bool homeless = !frame.python && frame.module == EventId::kNone;
      const auto [at, fresh] = frames_.try_emplace(
          std::tuple(frame.python, homeless ? part.Tagged(frame.address) : frame.address,
                     frame.module, frame.function.value, frame.file.value, frame.line),
          static_cast<std::uint32_t>(to.frames.size()));
      if (fresh) to.frames.push_back(frame);
      part.frames.push_back(at->second);
    }
    for (std::uint32_t row = 0; row < from.stack_parent.size(); ++row) {
      // A caller has a lower row than what it calls.
      const StackId parent(RowIn(part.stacks, from.stack_parent[row].value));
      const FrameId frame(RowIn(part.frames, from.stack_frame[row].value));
      const auto [at, fresh] = stacks_.try_emplace(
          std::pair(parent.value, frame.value), static_cast<std::uint32_t>(to.stack_parent.size()));
      if (fresh) {
        to.stack_parent.push_back(parent);
        to.stack_frame.push_back(frame);
      }
      part.stacks.push_back(at->second);
    }
  }

  void MergeRuns() {
    SessionData& to = data_;
    const Session& first = *parts_[0].session;
    to.path = parts_.size() == 1 ? first.path()
                                 : absl::StrCat(first.path(), " and ", parts_.size() - 1, " more");
    to.run = first.run();
    to.run.start_time = kForever;
    to.run.end_time = 0;
    for (const Part& part : parts_) {
      const RunInfo& run = part.session->run();
      to.run.start_time = std::min(to.run.start_time, run.start_time + part.shift);
      to.run.end_time = std::max(to.run.end_time, run.end_time + part.shift);
      // The earliest of the logs that have it.
      std::uint64_t& unix_ns = to.run.start_unix_ns;
      if (run.start_unix_ns != 0 && (unix_ns == 0 || run.start_unix_ns < unix_ns))
        unix_ns = run.start_unix_ns;
      to.run.complete = to.run.complete && run.complete;
      to.run.growing = to.run.growing || run.growing;
      to.processes.push_back({part.session->path(), run, part.shift, RankOf(run)});
      AddSelf(part.session->self());
      AddCounts(part.session->data());
    }
  }

  void AddSelf(const SelfAccounting& self) {
    SelfAccounting& sum = data_.self;
    sum.events += self.events;
    sum.events_written += self.events_written;
    sum.bytes_written += self.bytes_written;
    sum.hook_time_ns += self.hook_time_ns;
    sum.writer_cpu_ns += self.writer_cpu_ns;
    sum.resident_bytes += self.resident_bytes;
    sum.stacks += self.stacks;
  }

  // Anomalies are added up; sources that differ are listed once each.
  void AddCounts(const SessionData& from) {
    for (const AnomalyCount& anomaly : from.anomalies) {
      const auto known =
          std::find_if(data_.anomalies.begin(), data_.anomalies.end(),
                       [&](const AnomalyCount& other) { return other.anomaly == anomaly.anomaly; });
      if (known == data_.anomalies.end())
        data_.anomalies.push_back(anomaly);
      else
        known->count += anomaly.count;
    }
    for (const SourceInfo& source : from.sources) {
      const bool known =
          std::any_of(data_.sources.begin(), data_.sources.end(), [&](const SourceInfo& other) {
            return other.name == source.name && other.state == source.state &&
                   other.detail == source.detail;
          });
      if (!known) data_.sources.push_back(source);
    }
  }

  std::vector<Part>& parts_;
  SessionData& data_;
  absl::flat_hash_map<std::pair<std::string, std::string>, int> devices_;  // host, identity
  absl::flat_hash_map<std::string, std::uint32_t> strings_;
  absl::flat_hash_map<std::tuple<std::string, std::string, std::uint64_t>, std::uint32_t> modules_;
  absl::flat_hash_map<
      std::tuple<bool, std::uint64_t, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>,
      std::uint32_t>
      frames_;
  absl::flat_hash_map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> stacks_;
};

}  // namespace

void MergeTables(std::vector<MergePart>* parts, SessionData* to) { TableMerger(parts, to).Merge(); }

}  // namespace memprof::analysis
