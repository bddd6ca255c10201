// Groups of what was live at a peak.
#include "cli/shared/peak_groups.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/base/units.h"
#include "analysis/symbols/site_choice.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/places.h"

namespace memprof::cli {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::kNoGroup;
using analysis::PeakLayer;
using analysis::PeakSaving;
using analysis::Session;

const std::string& SiteLabels::Of(analysis::StackId stack) {
  const auto at = labels_.find(stack.value);
  if (at != labels_.end()) return at->second;
  return labels_.emplace(stack.value, SiteLabel(symbols_, stack)).first->second;
}

const std::string& SiteLabels::KeyOf(analysis::StackId stack) {
  const auto at = keys_.find(stack.value);
  if (at != keys_.end()) return at->second;
  return keys_.emplace(stack.value, SiteKey(symbols_, stack)).first->second;
}

bool SiteLabels::NamedByAgent(analysis::StackId stack) {
  constexpr std::size_t kItsFrames = 24;  // are inner ones
  const auto [known, fresh] = by_agent_.try_emplace(stack.value, false);
  if (!fresh || !stack.valid()) return known->second;
  const std::vector<analysis::SourceFrame> frames = symbols_.ResolveStack(stack);
  for (std::size_t i = 0; i < std::min(frames.size(), kItsFrames); ++i)
    known->second |= frames[i].python && analysis::IsAgentFile(frames[i].file);
  return known->second;
}

const std::string& SiteLabels::OfTensor(const Session& session, const AllocationRecord& tensor) {
  const bool below = tensor.parent.valid() && NamedByAgent(tensor.stack);
  return Of(below ? session.record(tensor.parent).stack : tensor.stack);
}

namespace {

using TensorKey = std::tuple<std::string, std::string, std::string>;

TensorKey KeyOf(const Session& session, SiteLabels& labels, const AllocationRecord& a) {
  const analysis::TensorInfo* tensor =
      session.tensor(analysis::TensorId(static_cast<std::uint32_t>(a.second)));
  return {TensorName(tensor), TensorShape(tensor), labels.OfTensor(session, a)};
}

}  // namespace

std::vector<TensorGroup> GroupTensors(const Session& session, SiteLabels& labels,
                                      const std::vector<AllocationId>& tensors) {
  std::vector<TensorGroup> groups;
  std::map<TensorKey, std::size_t> index;
  for (const AllocationId id : tensors) {
    const AllocationRecord& a = session.record(id);
    const std::int64_t step = session.StepOf(a.birth);
    const auto [it, fresh] = index.try_emplace(KeyOf(session, labels, a), groups.size());
    if (fresh) {
      const auto& [name, shape, site] = it->first;
      groups.push_back({name, shape, site, 0, 0, step, step});
    }
    TensorGroup& group = groups[it->second];
    group.bytes += a.bytes;
    ++group.count;
    group.first_step = std::min(group.first_step, step);
    group.last_step = std::max(group.last_step, step);
  }
  std::stable_sort(groups.begin(), groups.end(),
                   [](const TensorGroup& a, const TensorGroup& b) { return a.bytes > b.bytes; });
  return groups;
}

std::vector<analysis::Site> BlockSites(const Session& session,
                                       const std::vector<AllocationId>& blocks) {
  std::map<std::uint32_t, analysis::Site> by_stack;
  for (const AllocationId id : blocks) {
    const AllocationRecord& a = session.record(id);
    analysis::Site& site =
        by_stack.try_emplace(a.stack.value, analysis::Site{a.stack, 0, 0, id}).first->second;
    site.bytes += a.bytes;
    ++site.blocks;
  }
  std::vector<analysis::Site> sites;
  for (const auto& [stack, site] : by_stack) sites.push_back(site);
  return sites;
}

std::vector<PeakSaving> WithoutPlaces(const Session& session, SiteLabels& labels,
                                      const analysis::PeakSavings& savings, int device,
                                      PeakLayer of, const std::vector<Place>& places) {
  // A place is a site and a layer; a layer that it has no row for counts with its first row.
  std::map<std::pair<std::string, analysis::Layer>, std::uint32_t> exact;
  std::map<std::string, std::uint32_t> by_key;
  for (std::uint32_t i = 0; i < places.size(); ++i) {
    exact.try_emplace({places[i].key, session.record(places[i].largest).layer}, i);
    by_key.try_emplace(places[i].key, i);
  }
  std::map<std::pair<std::uint32_t, analysis::Layer>, std::uint32_t> known;  // by stack
  return savings.Without(device, of, places.size(), [&](AllocationId, const AllocationRecord& a) {
    const auto [it, fresh] = known.try_emplace({a.stack.value, a.layer}, kNoGroup);
    if (fresh) {
      const std::string& key = labels.KeyOf(a.stack);
      const auto place = exact.find({key, a.layer});
      const auto same_site = by_key.find(key);
      if (place != exact.end()) {
        it->second = place->second;
      } else if (same_site != by_key.end()) {
        it->second = same_site->second;
      }
    }
    return it->second;
  });
}

std::vector<PeakSaving> WithoutSites(const analysis::PeakSavings& savings, int device, PeakLayer of,
                                     const std::vector<analysis::Site>& sites) {
  std::unordered_map<std::uint32_t, std::uint32_t> index;
  for (std::uint32_t i = 0; i < sites.size(); ++i) index.try_emplace(sites[i].stack.value, i);
  return savings.Without(device, of, sites.size(), [&](AllocationId, const AllocationRecord& a) {
    const auto at = index.find(a.stack.value);
    return at == index.end() ? kNoGroup : at->second;
  });
}

std::vector<PeakSaving> WithoutLayers(const analysis::PeakSavings& savings, int device) {
  return savings.Without(
      device, PeakLayer::kDriver, analysis::kLayerCount,
      [](AllocationId, const AllocationRecord& a) { return static_cast<std::uint32_t>(a.layer); });
}

std::vector<PeakSaving> WithoutTensorGroups(const Session& session, SiteLabels& labels,
                                            const analysis::PeakSavings& savings, int device,
                                            const std::vector<TensorGroup>& groups) {
  std::map<TensorKey, std::uint32_t> index;
  for (std::uint32_t i = 0; i < groups.size(); ++i)
    index.try_emplace({groups[i].name, groups[i].shape, groups[i].site}, i);
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> known;  // by tensor and stack
  return savings.WithoutTensors(
      device, groups.size(), [&](AllocationId, const AllocationRecord& a) {
        const auto [it, fresh] = known.try_emplace({a.second, a.stack.value}, kNoGroup - 1);
        if (fresh) {
          const auto group = index.find(KeyOf(session, labels, a));
          if (group != index.end()) it->second = group->second;
        }
        return it->second;
      });
}

void AddInstant(const Session& session, const analysis::NewPeak& peak, Json* json) {
  const bool known = peak.event.valid();
  (*json)["time_ns"] = known ? session.events().time(peak.event.value) : 0;
  (*json)["step"] = known ? session.StepOf(peak.event) : -1;
}

Json SavingJson(const Session& session, const analysis::PeakSaving& saving) {
  Json json = {{"peak_bytes", saving.without.bytes}, {"saves_bytes", saving.saves_bytes}};
  AddInstant(session, saving.without, &json);
  return json;
}

std::string InstantLabel(const Session& session, analysis::EventId event) {
  if (!event.valid()) return "-";
  if (session.steps().empty()) return Since(session, session.events().time(event.value));
  const std::int64_t step = session.StepOf(event);
  return step < 0 ? "set-up" : Cat("step ", step);
}

std::string SavingsTable(const Session& session, const std::vector<PeakRow>& rows,
                         std::uint64_t whole, std::size_t top, std::string_view what) {
  const bool counted =
      std::any_of(rows.begin(), rows.end(), [](const PeakRow& row) { return row.blocks > 0; });
  std::vector<Align> columns(counted ? 6 : 5, Align::kRight);
  columns.push_back(Align::kLeft);
  Table table(std::move(columns));
  const auto add = [&](auto&& put, std::vector<std::string> cells) {
    if (!counted) cells.erase(cells.begin() + 2);
    put(std::move(cells));
  };
  add([&table](auto cells) { table.Header(std::move(cells)); },
      {"bytes", "share", "blocks", "saves", "new peak", "at", std::string(what)});
  const std::size_t shown = top == 0 ? rows.size() : std::min(top, rows.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const PeakRow& row = rows[i];
    add([&table](auto cells) { table.Row(std::move(cells)); },
        {FormatBytes(row.bytes),
         Percent(static_cast<double>(row.bytes), static_cast<double>(whole)),
         FormatCount(row.blocks), FormatBytes(row.saving.saves_bytes),
         FormatBytes(row.saving.without.bytes), InstantLabel(session, row.saving.without.event),
         row.label});
  }
  return table.Text(kWidth) + MoreLine(shown, rows.size());
}

}  // namespace memprof::cli
