// JSON of `memprof footprint`.
#include "cli/console/json.h"
#include "cli/replay/internal/footprint_text.h"
#include "cli/replay/internal/replay_text.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {
namespace {

using analysis::Footprint;
using analysis::FootprintPeaks;
using analysis::FootprintPrediction;

Json PeaksJson(const Footprint& footprint, const FootprintPeaks& peaks) {
  Json json = {{"driver_bytes", peaks.driver}, {"requested_bytes", peaks.requested}};
  if (footprint.HasAllocator()) json["reserved_bytes"] = peaks.reserved;
  return json;
}

Json PredictionJson(const FootprintAnswer& answer, const FootprintPrediction& prediction) {
  Json json = {{"batch", prediction.batch}, {"from_batch", prediction.base}};
  json.update(PeaksJson(*answer.footprint, prediction.peaks));
  json["range_bytes"] = prediction.range;
  if (answer.capacity == 0) return json;
  json["fits"] = prediction.fits;
  if (prediction.fits)
    json["within_capacity_bytes"] = prediction.held;
  else
    json["first_failed_bytes"] = prediction.failed_bytes;
  return json;
}

Json RunsJson(const Footprint& footprint, const std::vector<std::string>& logs) {
  Json runs = Json::array();
  for (std::size_t i = 0; i < footprint.runs().size(); ++i) {
    const analysis::FootprintRun& run = footprint.runs()[i];
    Json json = {{"log", logs[i]},
                 {"batch", run.batch},
                 {"requests", run.requests},
                 {"matched_requests", run.matched},
                 {"overhead_bytes", run.overhead},
                 {"recorded", PeaksJson(footprint, run.recorded)},
                 {"replayed", PeaksJson(footprint, run.replayed)}};
    if (run.checked) json["from_the_others"] = PeaksJson(footprint, run.check.peaks);
    runs.push_back(std::move(json));
  }
  return runs;
}

}  // namespace

std::string_view GrowthName(analysis::Growth growth) {
  switch (growth) {
    case analysis::Growth::kConstant:
      return "constant";
    case analysis::Growth::kLinear:
      return "linear";
    case analysis::Growth::kQuadratic:
      return "quadratic";
    case analysis::Growth::kIrregular:
      return "irregular";
    case analysis::Growth::kUnknown:
      break;
  }
  return "unknown";
}

Json FootprintJson(const FootprintAnswer& answer, analysis::Symbols& symbols,
                   const std::vector<std::string>& logs, std::size_t top) {
  const Footprint& footprint = *answer.footprint;
  const analysis::FootprintGrowth& growth = footprint.growth();
  Json predictions = Json::array(), sites = Json::array();
  for (const FootprintPrediction& prediction : answer.predictions)
    predictions.push_back(PredictionJson(answer, prediction));
  for (const analysis::FootprintSite& site : footprint.sites()) {
    if (top > 0 && sites.size() == top) break;
    sites.push_back({{"site", SiteLabel(symbols, site.stack)},
                     {"growth", std::string(GrowthName(site.growth))},
                     {"bytes", site.bytes},
                     {"requests", site.requests},
                     {"fixed_bytes", Number(site.fixed)},
                     {"bytes_per_unit", Number(site.per_unit)},
                     {"bytes_per_square", Number(site.per_square)},
                     {"stack", StackJson(symbols, site.stack)}});
  }
  Json json = {{"device", footprint.device()},
               {"requests_of", std::string(RequestSourceName(footprint.source()))},
               {"allocator", analysis::allocators::SpecName(footprint.spec())},
               {"uncertain", footprint.uncertain()},
               {"runs", RunsJson(footprint, logs)},
               {"growth",
                {{"constant", growth.constant},
                 {"linear", growth.linear},
                 {"quadratic", growth.quadratic},
                 {"irregular", growth.irregular},
                 {"unknown", growth.unknown}}},
               {"overhead_bytes", footprint.overhead()},
               {"predictions", std::move(predictions)}};
  if (answer.capacity > 0) {
    Json limit = {{"capacity_bytes", answer.capacity}, {"given", answer.capacity_given}};
    if (answer.limit.unbounded) {
      limit["unbounded"] = true;
    } else if (answer.limit.any) {
      limit["batch"] = answer.limit.batch;
      limit["at"] = PredictionJson(answer, answer.limit.at);
      limit["beyond"] = PredictionJson(answer, answer.limit.beyond);
    } else {
      limit["batch"] = 0;
      limit["beyond"] = PredictionJson(answer, answer.limit.beyond);
    }
    json["largest"] = std::move(limit);
  }
  json["sites"] = std::move(sites);
  json["sites_total"] = footprint.sites().size();
  return json;
}

}  // namespace memprof::cli
