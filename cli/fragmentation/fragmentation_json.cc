// Fragmentation as JSON.
#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/fragmentation/fragmentation.h"
#include "cli/fragmentation/internal/largest.h"
#include "cli/fragmentation/internal/pools.h"
#include "cli/fragmentation/internal/waiting.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {

namespace {

using analysis::Session;
using analysis::Symbols;

Json HoleJson(const Session& session, const analysis::Hole& hole) {
  Json json = {{"address", Hex(hole.address)},
               {"bytes", hole.bytes},
               {"since_time_ns", hole.since},
               {"since_step", hole.since_step}};
  if (hole.before.valid()) json["before"] = Hex(session.record(hole.before).address);
  if (hole.after.valid()) json["after"] = Hex(session.record(hole.after).address);
  return json;
}

}  // namespace

Json FragmentationJson(const Session& session, Symbols& symbols,
                       const analysis::FragmentationReport& report) {
  Json pools = Json::array();
  const auto listed = Largest(report.pools, [](const auto& pool) { return pool.reserved_bytes; });
  for (const analysis::PoolFragmentation* one : listed) {
    const analysis::PoolFragmentation& pool = *one;
    Json pins = Json::array();
    for (const analysis::Pin& pin : pool.pins) {
      Json entry = AllocationJson(session, pin.block);
      entry["frees_bytes"] = pin.frees_bytes;
      entry["blame"] = Number(pin.blame);
      entry["empties_segment"] = pin.empties_segment;
      entry["unused_since_ns"] = pin.unused_since;
      if (const analysis::TensorInfo* tensor = session.tensor(pin.tensor))
        entry["tensor"] = tensor->name;
      entry["site"] = SiteLabel(symbols, session.allocation(pin.block).stack);
      entry["stack"] = StackJson(symbols, session.allocation(pin.block).stack);
      pins.push_back(std::move(entry));
    }
    Json holes = Json::array();
    for (const analysis::Hole& hole : pool.holes) holes.push_back(HoleJson(session, hole));
    pools.push_back({{"device", pool.device},
                     {"stream", Hex(pool.stream)},
                     {"private_pool", Hex(pool.private_pool)},
                     {"small_blocks", pool.small_blocks},
                     {"segments", pool.segments},
                     {"blocks", pool.blocks},
                     {"reserved_bytes", pool.reserved_bytes},
                     {"allocated_bytes", pool.allocated_bytes},
                     {"free_bytes", pool.free_bytes},
                     {"largest_hole_bytes", pool.largest_hole},
                     {"rounding_bytes", pool.rounding_bytes},
                     {"releasable_bytes", pool.releasable_bytes},
                     {"unusable_bytes", pool.unusable_bytes},
                     {"external", Number(pool.external)},
                     {"sum_of_squares", Number(pool.sum_of_squares)},
                     {"request_relative", Number(pool.request_relative)},
                     {"pinned_bytes", pool.pinned_bytes},
                     {"hole_count", pool.hole_count},
                     {"holes", std::move(holes)},
                     {"pins", std::move(pins)}});
  }
  Json json = {{"time_ns", report.time},
               {"step", report.step},
               {"utilisation", Number(report.utilisation)},
               {"at_peak", Number(report.at_peak)},
               {"pools", std::move(pools)},
               {"pools_left_out", report.pools.size() - listed.size()}};
  if (Json uses = PoolUsesJson(session, symbols, report); !uses.empty())
    json["private_pools"] = std::move(uses);
  if (Json waiting = WaitingJson(session, symbols); !waiting.empty())
    json["waiting"] = std::move(waiting);
  return json;
}

}  // namespace memprof::cli
