// Collects the events of each pool.
#include "analysis/budget/pool_usage.h"

#include <algorithm>
#include <tuple>

#include "absl/container/flat_hash_map.h"

namespace memprof::analysis {
namespace {

// The lines of a label: the name, then KEY=VALUE.
void ReadLabel(std::string_view label, PoolUsage* pool) {
  for (bool first = true; first || !label.empty(); first = false) {
    const std::size_t end = std::min(label.find('\n'), label.size());
    const std::string_view line = label.substr(0, end);
    const std::size_t equals = line.find('=');
    if (first)
      pool->name = line;
    else if (equals != std::string_view::npos)
      pool->settings[std::string(line.substr(0, equals))] = line.substr(equals + 1);
    label.remove_prefix(std::min(end + 1, label.size()));
  }
}

}  // namespace

PoolUse PoolUsage::At(TimeNs time) const {
  const auto after = std::upper_bound(uses.begin(), uses.end(), time,
                                      [](TimeNs t, const PoolUse& use) { return t < use.time; });
  return after == uses.begin() ? PoolUse() : *std::prev(after);
}

std::vector<PoolUsage> FindPoolUsages(const Session& session) {
  std::vector<PoolUsage> pools;
  // A pool may get another label: its settings are known later than the pool.
  absl::flat_hash_map<std::tuple<std::uint32_t, int, std::string>, std::size_t> rows;
  const EventTable& events = session.events();
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.op(i) != Op::kPoolUsage) continue;
    PoolUsage said;
    ReadLabel(session.string(StringId(events.label(i))), &said);
    said.process = session.ProcessOf(EventId(i));
    said.device = events.device(i);
    const auto [row, fresh] =
        rows.try_emplace(std::tuple(said.process, said.device, said.name), pools.size());
    if (fresh) pools.push_back(said);
    PoolUsage& pool = pools[row->second];
    for (auto& [key, value] : said.settings) pool.settings[key] = value;
    if (events.bytes(i) != 0) pool.bytes = events.bytes(i);
    pool.blocks = static_cast<std::uint32_t>(events.aux0(i) >> 32);
    if (events.aux1(i) >> 32 != 0)
      pool.block_slots = static_cast<std::uint32_t>(events.aux1(i) >> 32);
    const PoolUse use{events.time(i), static_cast<std::uint32_t>(events.aux0(i)),
                      static_cast<std::uint32_t>(events.aux1(i))};
    if (pool.uses.empty() || use.blocks > pool.most.blocks) pool.most = use;
    if (use.slots > pool.most_slots.slots) pool.most_slots = use;
    pool.uses.push_back(use);
  }
  return pools;
}

}  // namespace memprof::analysis
