#include "cli/watch/internal/metrics.h"

#include <algorithm>
#include <map>

#include "cli/console/json.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using Labels = std::vector<std::pair<std::string_view, std::string>>;

enum Index {
  kUp,
  kAllocated,
  kReserved,
  kUsed,
  kPeak,
  kCapacity,
  kHole,
  kHeadroom,
  kGrowthStep,
  kGrowthTime,
  kLeakStep,
  kLeakTime,
  kStep,
  kStepRate,
  kFailed,
  kOoms,
  kLost,
  kOwnMemory,
  kOwnTime,
  kCount
};

std::vector<MetricFamily> AllMetrics() {
  std::vector<MetricFamily> all(kCount);
  const auto gauge = [&all](Index at, std::string_view name, std::string_view unit,
                            std::string_view help) {
    all[at] = {name, unit, help, false, {}};
  };
  const auto counter = [&all](Index at, std::string_view name, std::string_view unit,
                              std::string_view help) {
    all[at] = {name, unit, help, true, {}};
  };
  gauge(kUp, "memprof_up", "", "Whether the program that writes the log runs.");
  gauge(kAllocated, "memprof_allocated_bytes", "bytes",
        "Memory in use: of the framework's allocator, else of the driver.");
  gauge(kReserved, "memprof_reserved_bytes", "bytes", "Memory that the program has of the driver.");
  gauge(kUsed, "memprof_used_bytes", "bytes",
        "Memory of the device in use by anybody, as the driver last told the program.");
  gauge(kPeak, "memprof_peak_bytes", "bytes", "The most that was allocated at once.");
  gauge(kCapacity, "memprof_capacity_bytes", "bytes", "The device's memory.");
  gauge(kHole, "memprof_largest_hole_bytes", "bytes",
        "The largest free piece in the allocator's segments.");
  gauge(kHeadroom, "memprof_headroom_bytes", "bytes", "What leaks could still take.");
  gauge(kGrowthStep, "memprof_growth_bytes_per_step", "",
        "The sum of what grows with the steps, in any tier.");
  gauge(kGrowthTime, "memprof_growth_bytes_per_second", "",
        "The sum of what grows, of a program without steps, in any tier.");
  gauge(kLeakStep, "memprof_leak_bytes_per_step", "",
        "What a place leaks with each step; device is host for host memory.");
  gauge(kLeakTime, "memprof_leak_bytes_per_second", "",
        "What a place leaks in a second, of a program without steps.");
  gauge(kStep, "memprof_step", "", "The number of the step that runs.");
  gauge(kStepRate, "memprof_steps_per_second", "", "The rate of the last 20 steps.");
  counter(kFailed, "memprof_failed_requests", "", "Requests for memory that failed.");
  counter(kOoms, "memprof_out_of_memory", "",
          "Failed requests after which the program did not get the memory.");
  counter(kLost, "memprof_recorder_losses", "", "What the recorder lost, by its counter.");
  gauge(kOwnMemory, "memprof_recorder_memory_bytes", "bytes",
        "Memory that the recorder holds in the program.");
  counter(kOwnTime, "memprof_recorder_cpu_seconds", "seconds",
          "Processor time of the recorder: its hooks and its writer.");
  return all;
}

// Labels are short for those who store them.
constexpr std::size_t kMostLabelColumns = 200;

// Names come from a log: what is no UTF-8, or a control character, must not get out.
std::string Clean(const std::string& text) {
  const std::string quoted = Json(CutMiddle(Printable(text), kMostLabelColumns))
                                 .dump(-1, ' ', false, Json::error_handler_t::replace);
  return Json::parse(quoted).get<std::string>();
}

std::string DeviceLabel(int device) { return device == analysis::kNoDevice ? "host" : Cat(device); }

class Collector {
 public:
  explicit Collector(std::size_t sites) : sites_(sites), all_(AllMetrics()) {}

  void Add(const LiveProcess& process) {
    labels_ = {{"pid", Cat(process.pid)}};
    if (process.rank >= 0) labels_.emplace_back("rank", Cat(process.rank));
    start_ = process.start_unix_ns;
    const bool runs = process.state == LiveState::kRunning;
    Set(kUp, runs ? 1 : 0);
    if (process.step >= 0) Set(kStep, static_cast<double>(process.step));
    if (runs && process.steps_per_second > 0) Set(kStepRate, process.steps_per_second);
    Set(kFailed, static_cast<double>(process.failures));
    Set(kOoms, static_cast<double>(process.ooms));
    std::map<std::string, std::uint64_t> losses = {{"events_lost", 0}};
    for (const auto& [name, count] : process.losses) losses[name] += count;
    for (const auto& [name, count] : losses)
      Set(kLost, static_cast<double>(count), {{"counter", name}});
    Set(kOwnMemory, static_cast<double>(process.recorder_bytes));
    Set(kOwnTime, static_cast<double>(process.recorder_cpu_ns) / 1e9);
    for (const LiveDevice& device : process.devices) AddDevice(process, device);
    AddLeaks(process);
  }

  std::vector<MetricFamily> Take() {
    std::erase_if(all_, [](const MetricFamily& metric) { return metric.samples.empty(); });
    return std::move(all_);
  }

 private:
  void Set(Index at, double value, const Labels& more = {}) {
    Labels labels = labels_;
    labels.insert(labels.end(), more.begin(), more.end());
    all_[at].samples.push_back({std::move(labels), value, start_});
  }

  void AddDevice(const LiveProcess& process, const LiveDevice& device) {
    const Labels of = {{"device", DeviceLabel(device.device)}};
    const auto bytes = [&](Index at, std::uint64_t value) {
      Set(at, static_cast<double>(value), of);
    };
    bytes(kAllocated, device.allocated);
    bytes(kReserved, device.reserved);
    bytes(kUsed, device.used);
    bytes(kPeak, device.peak);
    if (device.capacity > 0) bytes(kCapacity, device.capacity);
    if (device.framework) bytes(kHole, device.largest_hole);
    if (device.headroom >= 0) Set(kHeadroom, device.headroom, of);
    Set(process.by_time ? kGrowthTime : kGrowthStep, device.growth, of);
  }

  // The worst come first. Equal labels would be two samples of one name.
  void AddLeaks(const LiveProcess& process) {
    std::map<Labels, double> sums;
    std::vector<Labels> order;
    std::size_t places = 0;
    for (const LiveLeak& leak : process.leaks) {
      const bool named = places++ < sites_;
      Labels of = {{"device", named ? DeviceLabel(leak.device) : "any"},
                   {"site", named ? Clean(leak.site) : "other"},
                   {"tier", named ? leak.tier : "any"}};
      const auto [sum, fresh] = sums.try_emplace(of, 0);
      sum->second += leak.growth;
      if (fresh) order.push_back(std::move(of));
    }
    for (const Labels& of : order) Set(process.by_time ? kLeakTime : kLeakStep, sums[of], of);
  }

  const std::size_t sites_;
  std::vector<MetricFamily> all_;
  Labels labels_;
  std::uint64_t start_ = 0;
};

}  // namespace

std::vector<MetricFamily> MetricsOf(const LiveReading& reading, std::size_t sites) {
  std::vector<const LiveProcess*> processes;
  for (const LiveProcess& process : reading.processes) processes.push_back(&process);
  std::stable_partition(processes.begin(), processes.end(), [](const LiveProcess* process) {
    return process->state == LiveState::kRunning;
  });
  processes.resize(std::min(processes.size(), kMostWatchedLogs));
  Collector collector(sites);
  for (const LiveProcess* process : processes) collector.Add(*process);
  return collector.Take();
}

}  // namespace memprof::cli
