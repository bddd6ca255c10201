// The rows of the table, in the chosen order, and the words for them.
#include <algorithm>

#include "cli/console/text.h"
#include "cli/top/internal/page.h"

namespace memprof::cli {
namespace {

double UsedShare(const TopRow& row) {
  if (row.device == nullptr || row.device->capacity == 0) return -1;
  return static_cast<double>(row.device->used) / static_cast<double>(row.device->capacity);
}

double Growth(const TopRow& row) { return row.device == nullptr ? -1 : row.device->growth; }

// The soonest first, then those that never run out.
double Urgency(const TopRow& row) {
  if (row.device == nullptr) return -2;
  const double left =
      row.device->seconds_to_oom >= 0 ? row.device->seconds_to_oom : row.device->steps_to_oom;
  return left < 0 ? -1 : 1 / (1 + left);
}

}  // namespace

std::string_view TopStateName(TopState state) {
  return state == TopState::kRunning ? "running" : state == TopState::kEnded ? "ended" : "killed";
}

std::string_view TopSortName(TopSort sort) {
  constexpr std::string_view kNames[] = {"rank", "used", "growth", "oom"};
  return kNames[static_cast<std::size_t>(sort)];
}

double TopStepRate(const std::vector<analysis::TimeNs>& begins) {
  if (begins.size() < 2 || begins.back() <= begins.front()) return 0;
  return static_cast<double>(begins.size() - 1) * 1e9 /
         static_cast<double>(begins.back() - begins.front());
}

analysis::TimeNs TopProcess::Elapsed(std::uint64_t now_unix_ns) const {
  if (state != TopState::kRunning || start_unix_ns == 0) return last_event;
  return std::max(last_event, now_unix_ns - std::min(now_unix_ns, start_unix_ns));
}

std::string TopRow::key() const {
  return Cat(device == nullptr ? analysis::kNoDevice : device->device, " ", process->path);
}

std::vector<TopRow> RowsOf(const TopPage& page) {
  std::vector<TopRow> rows;
  for (const TopProcess& process : page.processes) {
    for (const TopDevice& device : process.devices) rows.push_back({&process, &device});
    if (process.devices.empty()) rows.push_back({&process, nullptr});
  }
  // Processes that have no rank keep their order, after the others.
  std::stable_sort(rows.begin(), rows.end(), [](const TopRow& a, const TopRow& b) {
    return static_cast<unsigned>(a.process->rank) < static_cast<unsigned>(b.process->rank);
  });
  const auto largest_first = [&rows](double (*figure)(const TopRow&)) {
    std::stable_sort(rows.begin(), rows.end(),
                     [figure](const TopRow& a, const TopRow& b) { return figure(a) > figure(b); });
  };
  if (page.sort == TopSort::kUsed) largest_first(UsedShare);
  if (page.sort == TopSort::kGrowth) largest_first(Growth);
  if (page.sort == TopSort::kOom) largest_first(Urgency);
  return rows;
}

}  // namespace memprof::cli
