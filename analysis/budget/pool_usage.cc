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

BlocksInUse PoolUsage::At(TimeNs time) const {
  const auto after =
      std::upper_bound(uses.begin(), uses.end(), time,
                       [](TimeNs t, const BlocksInUse& use) { return t < use.time; });
  return after == uses.begin() ? BlocksInUse() : *std::prev(after);
}

std::vector<PoolUsage> FindPoolUsages(const Session& session) {
  std::vector<PoolUsage> pools;
  // A pool may get another label: its settings are known later than the pool. A label is read once.
  absl::flat_hash_map<std::tuple<std::uint32_t, int, std::string>, std::size_t> by_name;
  absl::flat_hash_map<std::tuple<std::uint32_t, int, std::uint32_t>, std::size_t> by_label;
  const EventTable& events = session.events();
  for (std::uint32_t i = 0; i < events.size(); ++i) {
    if (events.op(i) != Op::kPoolUsage) continue;
    const std::uint32_t process = session.ProcessOf(EventId(i));
    const int device = events.device(i);
    const auto [row, fresh] = by_label.try_emplace(std::tuple(process, device, events.label(i)), 0);
    if (fresh) {
      PoolUsage said{.process = process, .device = device};
      ReadLabel(session.string(StringId(events.label(i))), &said);
      row->second =
          by_name.try_emplace(std::tuple(process, device, said.name), pools.size()).first->second;
      if (row->second == pools.size()) pools.push_back(said);
      for (auto& [key, value] : said.settings) pools[row->second].settings[key] = value;
    }
    PoolUsage& pool = pools[row->second];
    if (events.bytes(i) != 0) pool.bytes = events.bytes(i);
    pool.blocks = static_cast<std::uint32_t>(events.aux0(i) >> 32);
    if (events.aux1(i) >> 32 != 0)
      pool.block_slots = static_cast<std::uint32_t>(events.aux1(i) >> 32);
    const BlocksInUse use{events.time(i), static_cast<std::uint32_t>(events.aux0(i)),
                          static_cast<std::uint32_t>(events.aux1(i))};
    if (pool.uses.empty() || use.blocks > pool.most.blocks) pool.most = use;
    if (use.slots > pool.most_slots.slots) pool.most_slots = use;
    pool.uses.push_back(use);
  }
  return pools;
}

}  // namespace memprof::analysis
