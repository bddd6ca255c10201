#include "cli/watch/internal/alerts.h"

#include <algorithm>

#include "analysis/base/units.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;

constexpr std::uint64_t kMinuteNs = 60'000'000'000;
// A budget is passed again after less than this share of it was used.
constexpr double kBelow = 0.95;
// Further leaks of a log are not told.
constexpr std::size_t kMostLeaks = 1000;

std::string Where(int device) {
  return device == analysis::kNoDevice ? "in host memory" : Cat("on GPU ", device);
}

// "process 4711, rank 2, step 12".
std::string Who(const LiveProcess& process, std::int64_t step) {
  return Cat("process ", process.pid, process.rank >= 0 ? Cat(", rank ", process.rank) : "",
             step >= 0 ? Cat(", step ", step) : "");
}

Alert AlertOf(std::string kind, const LiveProcess& process, int device, std::uint64_t bytes,
              std::int64_t step, const std::string& text, const std::string& site = "") {
  return {.kind = std::move(kind),
          .text = Printable(Cat(text, " (", Who(process, step), ")")),
          .log = process.path,
          .site = Printable(site),
          .pid = process.pid,
          .rank = process.rank,
          .device = device,
          .bytes = bytes,
          .step = step};
}

}  // namespace

// Of each judgement once: between two of them, steps go on, but no leak is seen to.
void AlertRules::CheckLeaks(const LiveProcess& process, Known* known,
                            std::vector<Alert>* alerts) const {
  if (known->was_judged && known->judged == process.judged) return;
  known->was_judged = true;
  known->judged = process.judged;
  std::map<Place, std::int64_t> suspected;
  for (const LiveLeak& leak : process.leaks) {
    if (leak.tier != "suspected" && leak.tier != "definite") continue;
    const Place place(leak.device, leak.site);
    const auto before = known->suspected.find(place);
    const std::int64_t since = before == known->suspected.end() ? process.step : before->second;
    suspected.emplace(place, since);
    if ((!process.by_time && process.step - since < after_) || known->told.size() >= kMostLeaks ||
        !known->told.insert(place).second)
      continue;
    const auto growth = static_cast<std::uint64_t>(std::max(0.0, leak.growth));
    alerts->push_back(
        AlertOf("leak", process, leak.device, leak.bytes, process.step,
                Cat(leak.tier, " leak ", Where(leak.device), ": ", leak.site, " grows by ",
                    FormatBytes(growth), process.by_time ? " a second, " : " a step, ",
                    FormatBytes(leak.bytes), " so far"),
                leak.site));
  }
  known->suspected = std::move(suspected);
}

void AlertRules::CheckBudget(const LiveProcess& process, Known* known,
                             std::vector<Alert>* alerts) const {
  if (above_ == 0) return;
  for (const LiveDevice& device : process.devices) {
    const std::uint64_t bytes = std::max(device.reserved, device.allocated);
    if (static_cast<double>(bytes) < kBelow * static_cast<double>(above_))
      known->above.erase(device.device);
    if (bytes <= above_ || !known->above.insert(device.device).second) continue;
    alerts->push_back(AlertOf("budget", process, device.device, bytes, process.step,
                              Cat(FormatBytes(bytes), " reserved ", Where(device.device),
                                  ", more than the budget of ", FormatBytes(above_))));
  }
}

std::vector<Alert> AlertRules::Check(const LiveReading& reading) {
  std::vector<Alert> alerts;
  for (const LiveProcess& process : reading.processes) {
    Known& known = known_[process.path];
    CheckLeaks(process, &known, &alerts);
    CheckBudget(process, &known, &alerts);
    if (process.ooms > known.ooms && process.oom &&
        (known.oom_told_unix_ns == 0 ||
         reading.now_unix_ns >= known.oom_told_unix_ns + kMinuteNs)) {
      const LiveFailure& oom = *process.oom;
      alerts.push_back(AlertOf("oom", process, oom.device, oom.bytes, oom.step,
                               Cat("out of memory ", Where(oom.device), ": ", oom.site,
                                   " did not get ", FormatBytes(oom.bytes), "; ",
                                   process.ooms - known.ooms, " such since the last alert"),
                               oom.site));
      known.ooms = process.ooms;
      known.oom_told_unix_ns = reading.now_unix_ns;
    }
    for (const auto& [name, count] : process.losses)
      if (known.lost.insert(name).second)
        alerts.push_back(AlertOf("lost", process, analysis::kNoDevice, 0, process.step,
                                 Cat("the recorder lost data: ", name, " ", count)));
  }
  return alerts;
}

}  // namespace memprof::cli
