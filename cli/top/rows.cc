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

double GrowthOf(const TopRow& row) { return row.device == nullptr ? -1 : row.device->growth; }

// The soonest first, then those that never run out.
double Urgency(const TopRow& row) {
  if (row.device == nullptr) return -2;
  const double left =
      row.device->seconds_to_oom >= 0 ? row.device->seconds_to_oom : row.device->steps_to_oom;
  return left < 0 ? -1 : 1 / (1 + left);
}

}  // namespace

std::string_view TopSortName(TopSort sort) {
  constexpr std::string_view kNames[] = {"rank", "used", "growth", "oom"};
  return kNames[static_cast<std::size_t>(sort)];
}

std::string TopRow::key() const {
  return Cat(device == nullptr ? analysis::kNoDevice : device->device, " ", process->path);
}

std::vector<TopRow> RowsOf(const TopPage& page) {
  std::vector<TopRow> rows;
  for (const LiveProcess& process : page.processes) {
    for (const LiveDevice& device : process.devices) rows.push_back({&process, &device});
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
  if (page.sort == TopSort::kGrowth) largest_first(GrowthOf);
  if (page.sort == TopSort::kOom) largest_first(Urgency);
  return rows;
}

}  // namespace memprof::cli
