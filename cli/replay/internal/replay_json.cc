// JSON of `memprof replay`.
#include "cli/console/json.h"
#include "cli/replay/internal/replay_text.h"

namespace memprof::cli {
namespace {

using analysis::DeviceReplay;
using analysis::WhatIf;

Json FiguresJson(const analysis::allocators::Figures& figures) {
  return {{"peak_reserved_bytes", figures.peak_reserved},
          {"peak_allocated_bytes", figures.peak_allocated},
          {"peak_requested_bytes", figures.peak_requested},
          {"fragmentation_at_peak", figures.fragmentation()},
          {"peak_segments", figures.peak_segments}};
}

Json AllocatorJson(const WhatIf& what, bool with_saving) {
  Json object = {{"allocator", analysis::allocators::SpecName(what.spec)}};
  object.update(FiguresJson(what.figures));
  object["driver_calls"] = what.driver_calls;
  object["retries"] = what.figures.retries;
  if (!with_saving) return object;
  object["saving_bytes"] = what.saving;
  object["fits"] = what.fits;
  object["failed_requests"] = what.figures.failures;
  if (!what.fits) object["first_failed_bytes"] = what.figures.failed_bytes;
  return object;
}

}  // namespace

Json ReplayJson(const DeviceReplay& replay) {
  Json recorded = FiguresJson(replay.recorded);
  recorded["driver_calls"] = replay.recorded_driver_calls;
  Json replayed = AllocatorJson(replay.replayed, false);
  replayed["origin"] = std::string(SpecOriginName(replay.origin));
  replayed["residual_bytes"] = replay.unchecked ? Json(nullptr) : Json(replay.residual);
  replayed["uncertain"] = replay.uncertain;
  replayed["samples"] = replay.samples;
  Json others = Json::array();
  for (const WhatIf& what : replay.others) others.push_back(AllocatorJson(what, true));
  Json object = {
      {"device", replay.device},
      {"process", replay.process},
      {"requests_from", std::string(RequestSourceName(replay.source))},
      {"requests", replay.requests},
      {"refused_requests", replay.refused},
      {"estimated_requests", replay.estimated},
      {"streams", replay.streams},
      {"peak_outside_bytes", replay.peak_outside},
      {"capacity_bytes",
       replay.capacity == analysis::allocators::kUnlimited ? Json(nullptr) : Json(replay.capacity)},
      {"recorded", std::move(recorded)},
      {"replayed", std::move(replayed)},
      {"others", std::move(others)}};
  if (!replay.placement.addresses.empty()) {
    object["optimum"] = {{"height_bytes", replay.placement.height},
                         {"gap", replay.placement.gap()},
                         {"found_by", replay.placement.found_by},
                         {"arrangements", replay.placement.arrangements}};
  }
  if (replay.too_many_live) object["optimum"] = nullptr;
  object["max_live_bytes"] = replay.max_live;
  return object;
}

}  // namespace memprof::cli
