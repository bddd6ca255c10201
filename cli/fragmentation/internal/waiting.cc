#include "cli/fragmentation/internal/waiting.h"

#include <algorithm>
#include <map>
#include <vector>

#include "analysis/base/units.h"
#include "analysis/fragmentation/waiting.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fragmentation/internal/largest.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::StreamUseSite;
using analysis::WaitingMemory;

constexpr std::size_t kSites = 5;

// The sites of all devices by their label, most bytes first.
std::vector<std::pair<std::string, StreamUseSite>> ByLabel(
    analysis::Symbols& symbols, const std::vector<WaitingMemory>& devices) {
  std::map<std::string, StreamUseSite> sums;
  for (const WaitingMemory& device : devices) {
    for (const StreamUseSite& site : device.sites) {
      StreamUseSite& sum = sums[SiteLabel(symbols, site.stack)];
      sum.blocks += site.blocks;
      sum.bytes += site.bytes;
    }
  }
  std::vector<std::pair<std::string, StreamUseSite>> sites(sums.begin(), sums.end());
  std::stable_sort(sites.begin(), sites.end(),
                   [](const auto& a, const auto& b) { return a.second.bytes > b.second.bytes; });
  return sites;
}

std::string SitesText(analysis::Symbols& symbols, const std::vector<WaitingMemory>& devices) {
  const auto sites = ByLabel(symbols, devices);
  if (sites.empty()) return "";
  Table table({Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"blocks", "bytes", "given to another stream at"});
  const std::size_t shown = std::min(sites.size(), kSites);
  for (std::size_t i = 0; i < shown; ++i)
    table.Row(
        {FormatCount(sites[i].second.blocks), FormatBytes(sites[i].second.bytes), sites[i].first});
  return Cat("\n", table.Text(kWidth), MoreLine(shown, sites.size()));
}

}  // namespace

std::string WaitingText(const analysis::Session& session, analysis::Symbols& symbols) {
  const std::vector<WaitingMemory> devices = analysis::FindWaitingMemory(session);
  if (devices.empty()) return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"device", "at most", "blocks", "of reserved", "when"});
  const auto listed = Largest(devices, [](const auto& one) { return one.most_bytes; });
  for (const WaitingMemory* one : listed)
    table.Row({Cat("device ", one->device), FormatBytes(one->most_bytes),
               FormatCount(one->most_blocks),
               one->reserved_bytes == 0 ? "-"
                                        : Percent(static_cast<double>(one->most_bytes),
                                                  static_cast<double>(one->reserved_bytes)),
               one->most.valid() ? InstantLabel(session, one->most) : "never seen"});
  const bool sampled = std::ranges::any_of(devices, [](const auto& d) { return !d.exact; });
  return Cat("\n  Freed, but kept until other streams have used it (record_stream):\n",
             table.Text(kWidth), MoreLine(listed.size(), devices.size()),
             sampled ? Paragraph("Sampled where blocks are given to other streams, after steps "
                                 "and at the end: more may have waited in between.")
                     : "",
             SitesText(symbols, devices));
}

Json WaitingJson(const analysis::Session& session, analysis::Symbols& symbols) {
  const std::vector<WaitingMemory> devices = analysis::FindWaitingMemory(session);
  Json json = Json::array();
  for (const WaitingMemory* one : Largest(devices, [](const auto& d) { return d.most_bytes; })) {
    Json sites = Json::array();
    for (const StreamUseSite* site : Largest(one->sites, [](const auto& s) { return s.bytes; }))
      sites.push_back({{"blocks", site->blocks},
                       {"bytes", site->bytes},
                       {"site", SiteLabel(symbols, site->stack)},
                       {"stack", StackJson(symbols, site->stack)}});
    json.push_back({{"device", one->device},
                    {"exact", one->exact},
                    {"most_bytes", one->most_bytes},
                    {"most_blocks", one->most_blocks},
                    {"time_ns", one->most.valid() ? session.events().time(one->most.value) : 0},
                    {"step", one->most.valid() ? session.StepOf(one->most) : -1},
                    {"reserved_bytes", one->reserved_bytes},
                    {"peak_active_bytes", one->peak_active_bytes},
                    {"used_blocks", one->used_blocks},
                    {"used_bytes", one->used_bytes},
                    {"sites", std::move(sites)}});
  }
  return json;
}

}  // namespace memprof::cli
