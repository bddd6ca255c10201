// Budgets as JSON (docs/json.md).
#include "cli/budget/internal/output.h"

namespace memprof::cli {
namespace {

using analysis::BlocksInUse;
using analysis::DeviceBudget;
using analysis::PoolUsage;

Json UseJson(const BlocksInUse& use) {
  return {{"time_ns", use.time}, {"blocks", use.blocks}, {"slots", use.slots}};
}

Json ValueJson(const analysis::SettingValue& value) {
  return {{"value", value.value}, {"blocks", value.blocks}};
}

Json SettingJson(const analysis::PoolSetting& setting) {
  return {{"option", setting.option},
          {"now", setting.now},
          {"measured", setting.measured},
          {"base_bytes", setting.base_bytes},
          {"block_bytes", setting.block_bytes},
          {"margin_bytes", setting.margin_bytes},
          {"needed", ValueJson(setting.needed)},
          {"possible", setting.possible ? ValueJson(*setting.possible) : Json()}};
}

Json PoolJson(const ShownPool& shown, analysis::TimeNs time) {
  const PoolUsage& pool = shown.usage;
  Json settings = Json::object();
  for (const auto& [key, value] : pool.settings) settings[key] = value;
  return {{"name", pool.name},
          {"process", pool.process},
          {"bytes", pool.bytes},
          {"blocks", pool.blocks},
          {"block_slots", pool.block_slots},
          {"most", UseJson(pool.most)},
          {"most_slots", UseJson(pool.most_slots)},
          {"here", UseJson(pool.At(time))},
          {"settings", std::move(settings)},
          {"setting", shown.setting ? SettingJson(*shown.setting) : Json()}};
}

}  // namespace

Json BudgetJson(const ShownDevice& device) {
  const DeviceBudget& budget = device.budget;
  Json parts = Json::object();
  for (std::size_t i = 0; i < analysis::kPurposeCount; ++i)
    parts[std::string(PurposeKey(static_cast<analysis::Purpose>(i)))] = budget.by_purpose[i];
  Json graphs = Json::array();
  std::uint64_t graph_bytes = 0;
  for (const analysis::GraphPool& graph : budget.graphs) {
    graphs.push_back({{"pool", graph.pool}, {"bytes", graph.bytes}});
    graph_bytes += graph.bytes;
  }
  parts["graphs"] = graph_bytes;
  parts["cached"] = budget.cached_bytes;
  parts["driver_pools"] = budget.driver_pools_bytes;
  parts["code"] = budget.code_bytes;
  parts["context"] = budget.context_bytes;
  parts["other_processes"] = budget.others_bytes;
  parts["unexplained"] = budget.unexplained_bytes;
  parts["free"] = budget.free_bytes;
  Json pools = Json::array();
  for (const ShownPool& pool : device.pools)
    pools.push_back(PoolJson(pool, budget.ledger.sample.time));
  return {{"device", budget.device},
          {"name", device.name},
          {"at", device.when},
          {"time_ns", budget.ledger.sample.time},
          {"step", budget.ledger.step},
          {"total_bytes", budget.total_bytes},
          {"outside_kv_cache_bytes", budget.outside_bytes()},
          {"parts", std::move(parts)},
          {"elsewhere_bytes", budget.elsewhere_bytes},
          {"graphs", std::move(graphs)},
          {"activations_most_bytes", device.activations.bytes},
          {"activations_most_time_ns", device.activations.time},
          {"pools", std::move(pools)}};
}

}  // namespace memprof::cli
