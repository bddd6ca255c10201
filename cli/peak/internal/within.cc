// The peak while named ranges were open, as text and as JSON.
#include "cli/peak/internal/within.h"

#include <algorithm>
#include <utility>

#include "analysis/base/units.h"
#include "analysis/peak/places.h"
#include "analysis/peak/sites.h"
#include "cli/console/lines.h"
#include "cli/console/text.h"
#include "cli/shared/instants.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::Session;
using analysis::UsePeak;

std::vector<analysis::Site> SitesAt(const Session& session, const UsePeak& peak) {
  return analysis::GroupBySite(session, analysis::InUseAfter(session, peak.device, peak.event));
}

// The first and the last step of which some was within the times; -1 for none.
std::pair<std::int64_t, std::int64_t> StepsOf(const Session& session, const Within& within) {
  if (within.times.empty()) return {-1, -1};
  return {session.StepAt(within.times.front().begin), session.StepAt(within.times.back().end)};
}

}  // namespace

absl::StatusOr<Within> FindWithin(const Session& session, const std::vector<std::string>& ranges,
                                  std::int64_t device) {
  auto times = analysis::OpenTimes(session, ranges);
  if (!times.ok()) return times.status();
  Within within{.ranges = ranges, .times = *std::move(times)};
  within.peaks = analysis::PeaksWithin(session, within.times);
  if (device != kAllDevices)
    std::erase_if(within.peaks, [device](const UsePeak& peak) { return peak.device != device; });
  std::stable_sort(within.peaks.begin(), within.peaks.end(),
                   [](const UsePeak& a, const UsePeak& b) { return a.in_use > b.in_use; });
  return within;
}

std::string WithinText(const Session& session, analysis::Symbols& symbols, const Within& within,
                       std::size_t top) {
  std::string names;
  for (const std::string& range : within.ranges)
    Append(names, names.empty() ? "" : " and ", "'", Printable(range), "'");
  std::string text =
      Heading(Cat("Within ", names, ", open ", analysis::FormatCount(within.times.size()),
                  within.times.size() == 1 ? " time" : " times"));
  if (within.peaks.empty()) text += "  No memory of a device was in use then.\n";
  for (const UsePeak& peak : within.peaks) {
    Append(text, "\n  Device ", peak.device, ": at most ", analysis::FormatBytes(peak.in_use),
           " in use", StepLabel(session, session.StepOf(peak.event)), ", after ",
           Since(session, session.events().time(peak.event.value)), " (event ", peak.event.value,
           "); ", analysis::FormatBytes(peak.driver), " from the driver\n");
    std::vector<PeakRow> rows;
    for (const analysis::Place& place :
         analysis::JoinByPlace(symbols, SitesAt(session, peak), session))
      rows.push_back({SiteLabel(symbols, place.stack), place.bytes, place.blocks});
    text += PeakTable(session, rows, false, peak.in_use, top, "site");
  }
  return text;
}

Json WithinJson(const Session& session, analysis::Symbols& symbols, const Within& within,
                std::size_t top) {
  Json peaks = Json::array();
  for (const UsePeak& peak : within.peaks) {
    std::vector<analysis::Place> places =
        analysis::JoinByPlace(symbols, SitesAt(session, peak), session);
    Json sites = Json::array();
    for (std::size_t i = 0; i < Shown(places.size(), top); ++i)
      sites.push_back({{"bytes", places[i].bytes},
                       {"blocks", places[i].blocks},
                       {"site", SiteLabel(symbols, places[i].stack)},
                       {"stack", StackJson(symbols, places[i].stack)}});
    peaks.push_back({{"device", peak.device},
                     {"in_use_bytes", peak.in_use},
                     {"driver_bytes", peak.driver},
                     {"event", peak.event.value},
                     {"time_ns", session.events().time(peak.event.value)},
                     {"step", session.StepOf(peak.event)},
                     {"sites", std::move(sites)},
                     {"sites_total", places.size()}});
  }
  const auto [first, last] = StepsOf(session, within);
  return {{"ranges", within.ranges},
          {"times", within.times.size()},
          {"first_step", first},
          {"last_step", last},
          {"peaks", std::move(peaks)}};
}

}  // namespace memprof::cli
