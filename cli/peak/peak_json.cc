// Peaks as JSON, and the peak without each part of it.
#include <span>

#include "analysis/leaks/holders.h"
#include "analysis/peak/groups.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/peak/peak.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::AllocationId;
using analysis::NewPeak;
using analysis::Peak;
using analysis::PeakLayer;
using analysis::PeakSavings;
using analysis::Session;
using analysis::Symbols;

// For each of the entries that PeakJson made.
void AddToEach(const Session& session, const PeakSavings& savings,
               const std::vector<AllocationId>& ids, Json* entries) {
  for (std::size_t i = 0; i < entries->size(); ++i)
    (*entries)[i]["without"] = SavingJson(session, savings.WithoutOne(ids[i]));
}

Json BlockSitesJson(const Session& session, analysis::Symbols& symbols, const PeakSavings& savings,
                    const Peak& peak, std::size_t top) {
  std::vector<analysis::Site> sites = analysis::GroupBySite(session, peak.blocks);
  sites.resize(Shown(sites.size(), top));
  const auto without = analysis::WithoutSites(savings, peak.device, PeakLayer::kBlocks, sites);
  Json list = Json::array();
  for (std::size_t i = 0; i < sites.size(); ++i) {
    list.push_back({{"bytes", sites[i].bytes},
                    {"blocks", sites[i].blocks},
                    {"site", SiteLabel(symbols, sites[i].stack)},
                    {"stack", StackJson(symbols, sites[i].stack)},
                    {"without", SavingJson(session, without[i])}});
  }
  return list;
}

Json TensorGroupsJson(const Session& session, analysis::Symbols& symbols,
                      const PeakSavings& savings, const Peak& peak, std::size_t top) {
  TensorNames names(session, symbols);
  const analysis::GroupKey key = names.Key();
  std::vector<analysis::PeakGroup> groups = analysis::GroupBy(session, peak.tensors, key);
  groups.resize(Shown(groups.size(), top));
  analysis::AddTensorSavings(savings, peak.device, key, &groups);
  Json list = Json::array();
  for (const analysis::PeakGroup& group : groups) {
    const auto& [name, shape, site] = names[group.key];
    list.push_back({{"bytes", group.bytes},
                    {"count", group.count},
                    {"name", name},
                    {"shape", shape},
                    {"site", site},
                    {"first_step", group.first_step},
                    {"last_step", group.last_step},
                    {"without", SavingJson(session, group.saving)}});
  }
  return list;
}

}  // namespace

Json PeakJson(const Session& session, Symbols& symbols, const analysis::Peak& peak,
              std::size_t top) {
  Json layers = Json::object();
  for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
    if (peak.by_layer[i] == 0) continue;
    layers[std::string(analysis::LayerName(static_cast<analysis::Layer>(i)))] = peak.by_layer[i];
  }
  Json sites = Json::array();
  for (std::size_t i = 0; i < Shown(peak.sites.size(), top); ++i) {
    const analysis::Site& site = peak.sites[i];
    sites.push_back({{"bytes", site.bytes},
                     {"blocks", site.blocks},
                     {"site", SiteLabel(symbols, site.stack)},
                     {"stack", StackJson(symbols, site.stack)}});
  }
  const auto list = [&](const std::vector<AllocationId>& ids) {
    Json array = Json::array();
    for (std::size_t i = 0; i < Shown(ids.size(), top); ++i) {
      Json entry = AllocationJson(session, ids[i]);
      entry["site"] = SiteLabel(symbols, session.allocation(ids[i]).stack);
      array.push_back(std::move(entry));
    }
    return array;
  };
  Json json = {{"device", peak.device},
               {"bytes", peak.bytes},
               {"time_ns", peak.time},
               {"step", peak.step},
               {"by_layer", std::move(layers)},
               {"sites", std::move(sites)},
               {"sites_total", peak.sites.size()},
               {"tensors", list(peak.tensors)},
               {"tensors_total", peak.tensors.size()},
               {"blocks", list(peak.blocks)},
               {"blocks_total", peak.blocks.size()}};
  if (const auto garbage = analysis::HoldersOf(session)->GarbageAt(peak.blocks, peak.event))
    json["garbage_bytes"] = *garbage;
  return json;
}

void AddSavings(const Session& session, analysis::Symbols& symbols, const PeakSavings& savings,
                const Peak& peak, std::size_t top, Json* json) {
  const std::size_t shown = (*json)["sites"].size();
  const auto without = analysis::WithoutSites(savings, peak.device, PeakLayer::kDriver,
                                              std::span(peak.sites).first(shown));
  for (std::size_t i = 0; i < shown; ++i)
    (*json)["sites"][i]["without"] = SavingJson(session, without[i]);
  AddToEach(session, savings, peak.tensors, &(*json)["tensors"]);
  AddToEach(session, savings, peak.blocks, &(*json)["blocks"]);
  const auto layers =
      savings.Without(peak.device, PeakLayer::kDriver, analysis::kLayerCount, analysis::ByLayer());
  Json by_layer = Json::object();
  for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
    const auto layer = static_cast<analysis::Layer>(i);
    if (peak.by_layer[i] == 0 || !analysis::OccupiesDevice(layer)) continue;
    by_layer[std::string(analysis::LayerName(layer))] = SavingJson(session, layers[i]);
  }
  (*json)["without_layer"] = std::move(by_layer);
  const NewPeak blocks = savings.PeakAsItWas(peak.device, PeakLayer::kBlocks);
  if (blocks.event.valid()) {
    Json allocator = {{"bytes", blocks.bytes}};
    AddInstant(session, blocks, &allocator);
    (*json)["allocator_peak"] = std::move(allocator);
  }
  (*json)["block_sites"] = BlockSitesJson(session, symbols, savings, peak, top);
  (*json)["tensor_groups"] = TensorGroupsJson(session, symbols, savings, peak, top);
}

}  // namespace memprof::cli
