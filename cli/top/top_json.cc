// The page as JSON (docs/json.md).
#include "cli/top/internal/page.h"

namespace memprof::cli {
namespace {

Json Known(double value) { return value < 0 ? Json() : Number(value); }

Json PartsJson(const std::vector<LivePart>& parts) {
  Json json = Json::object();
  for (const LivePart& part : parts) json[part.key] = part.bytes;
  return json;
}

Json LiveDeviceJson(const LiveDevice& device) {
  return {{"device", device.device},
          {"name", device.name},
          {"total_bytes", device.capacity},
          {"used_bytes", device.used},
          {"allocated_bytes", device.allocated},
          {"reserved_bytes", device.reserved},
          {"peak_bytes", device.peak},
          {"headroom_bytes", Known(device.headroom)},
          {"growth_bytes", Number(device.growth)},
          {"growth_tier", device.growth_tier},
          {"steps_to_oom", Known(device.steps_to_oom)},
          {"seconds_to_oom", Known(device.seconds_to_oom)},
          {"by_category", PartsJson(device.categories)},
          {"by_layer", PartsJson(device.layers)}};
}

Json RequestJson(const LiveFailure& failure) {
  return {{"device", failure.device}, {"bytes", failure.bytes}, {"time_ns", failure.time},
          {"step", failure.step},     {"site", failure.site},   {"recovered", failure.recovered}};
}

Json ProcessJson(const LiveProcess& process, std::uint64_t now_unix_ns) {
  Json devices = Json::array(), leaks = Json::array(), losses = Json::object();
  for (const LiveDevice& device : process.devices) devices.push_back(LiveDeviceJson(device));
  for (const LiveLeak& leak : process.leaks)
    leaks.push_back({{"tier", leak.tier},
                     {"device", leak.device},
                     {"in_use", leak.in_use},
                     {"growth_bytes", Number(leak.growth)},
                     {"bytes", leak.bytes},
                     {"site", leak.site}});
  for (const auto& [name, count] : process.losses) losses[name] = count;
  Json json = {{"log", process.path},
               {"command", process.command},
               {"pid", process.pid},
               {"host", process.host},
               {"rank", process.rank},
               {"simulated", process.simulated},
               {"state", LiveStateName(process.state)},
               {"end_reason", process.end_reason},
               {"elapsed_ns", process.Elapsed(now_unix_ns)},
               {"last_event_ns", process.last_event},
               {"step", process.step},
               {"steps_completed", process.steps},
               {"steps_per_second", Number(process.steps_per_second)},
               {"growth_per", process.by_time ? "second" : "step"},
               {"too_early_to_judge", process.too_short},
               {"losses", std::move(losses)},
               {"devices", std::move(devices)},
               {"leaks", std::move(leaks)},
               {"failed_requests", process.failures},
               {"last_failed_request", process.failure ? RequestJson(*process.failure) : Json()}};
  if (!process.sampling.empty()) json["always_on"] = process.sampling;
  return json;
}

}  // namespace

Json TopJson(const TopPage& page) {
  Json processes = Json::array();
  for (const LiveProcess& process : page.processes)
    processes.push_back(ProcessJson(process, page.now_unix_ns));
  return {{"schema", "memprof.top/1"},
          {"now_unix_ns", page.now_unix_ns},
          {"processes", std::move(processes)},
          {"errors", page.errors}};
}

}  // namespace memprof::cli
