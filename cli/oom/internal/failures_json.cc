// The JSON of `memprof oom`.
#include "analysis/oom/words.h"
#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/oom/internal/failures.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {
namespace {

using analysis::FailedRequest;
using analysis::FailureReport;
using analysis::Session;

Json PiecesJson(const analysis::FreePieces& pieces) {
  return {{"bytes", pieces.bytes}, {"largest_bytes", pieces.largest}, {"count", pieces.count}};
}

Json SpaceJson(const analysis::DeviceSpace& space) {
  Json direct = Json::object();
  for (std::size_t i = 0; i < space.direct.size(); ++i)
    if (space.direct[i] > 0)
      direct[std::string(analysis::LayerName(static_cast<analysis::Layer>(i)))] = space.direct[i];
  Json json = {{"sampled", space.sampled},
               {"total_bytes", space.total},
               {"free_bytes", space.free},
               {"blocks_bytes", space.blocks},
               {"rounding_bytes", space.rounding},
               {"own_pool_free", PiecesJson(space.own_pool)},
               {"other_pools_free", PiecesJson(space.other_pools)},
               {"private_pools_free", PiecesJson(space.private_pools)},
               {"foreign_free", PiecesJson(space.foreign)},
               {"cached_segments", PiecesJson(space.cached)},
               {"largest_usable_bytes", space.largest_own},
               {"largest_of_other_pools_bytes", space.largest_other},
               {"whole_pages_bytes", space.whole_pages},
               {"direct", std::move(direct)},
               {"modules_bytes", space.modules},
               {"pools_bytes", space.pools},
               {"untracked_bytes", space.untracked},
               {"elsewhere_bytes", space.elsewhere}};
  if (space.sampled) json["sample_time_ns"] = space.sample_time;
  if (space.others) json["other_processes_bytes"] = *space.others;
  return json;
}

Json RemedyJson(const Session& session, analysis::Symbols& symbols,
                const analysis::SiteGroups& sites, const FailureReport& report,
                const analysis::Remedy& remedy) {
  const analysis::SiteNamer name = {
      [&](analysis::StackId stack) { return SiteLabel(symbols, stack); },
      [&](std::uint32_t group) { return SiteLabel(symbols, sites, group); }};
  Json json = {{"kind", analysis::RemedyKindName(remedy.kind)},
               {"fits", remedy.fits},
               {"bytes", remedy.bytes},
               {"short_by_bytes", remedy.short_by},
               {"beyond_request_bytes", remedy.beyond},
               {"words", analysis::RemedyWords(session, report, remedy, name)}};
  for (const analysis::SiteUse& use : remedy.sites)
    json["sites"].push_back({{"site", SiteLabel(symbols, sites, use.site)},
                             {"bytes", use.bytes},
                             {"blocks", use.count}});
  for (const analysis::AllocationId id : remedy.blocks) {
    const analysis::AllocationRecord& block = session.record(id);
    json["blocks"].push_back({{"address", Hex(block.address)},
                              {"bytes", block.bytes},
                              {"site", SiteLabel(symbols, block.stack)}});
  }
  return json;
}

}  // namespace

Json FailedRequestJson(const Session& session, analysis::Symbols& symbols,
                       const FailedRequest& request) {
  Json json = {{"event", request.event.value},
               {"time_ns", request.time},
               {"step", request.step},
               {"device", request.device},
               {"layer", analysis::LayerName(request.layer)},
               {"bytes", request.bytes},
               {"driver_bytes", request.driver_bytes},
               {"allocator", request.framework},
               {"attempts", request.attempts},
               {"recovered", request.recovered},
               {"api", session.string(request.api)},
               {"result", request.result},
               {"site", SiteLabel(symbols, request.stack)},
               {"stack", StackJson(symbols, request.stack)}};
  if (request.driver.valid()) json["driver_event"] = request.driver.value;
  return json;
}

Json FailureJson(const Session& session, analysis::Symbols& symbols,
                 const analysis::SiteGroups& sites, const FailureReport& report) {
  Json json = FailedRequestJson(session, symbols, report.request);
  if (report.request.stack.valid()) {
    json["site"] = FrameLabel(report.site);
    json["site_frame"] = FrameJson(report.site);
  }
  json["cause"] = analysis::FailureCauseName(report.cause);
  json["why"] = analysis::FailureVerdict(report);
  if (report.growth) {
    json["growth"] = {{"site", FrameLabel(report.growth->site)},
                      {"sites", report.growth->sites},
                      {"turns", report.growth->iterations},
                      {"bytes", report.growth->bytes},
                      {"bytes_per_step", Number(report.growth->bytes_per_step)},
                      {"stack", StackJson(symbols, report.growth->stack)}};
  }
  if (report.first_step) {
    const analysis::FirstStep& first = *report.first_step;
    json["first_step"] = {{"backward_seen", first.backward},
                          {"optimizer_seen", first.optimizer},
                          {"steps_before", first.steps_before},
                          {"parameters_bytes", first.parameters},
                          {"gradients_bytes", first.gradients_there},
                          {"optimizer_state_bytes", first.state_there},
                          {"gradients_to_come_bytes", first.gradients},
                          {"optimizer_state_to_come_bytes", first.optimizer_state}};
  }
  if (report.larger_step)
    json["larger_step"] = {{"live_bytes", report.larger_step->live},
                           {"highest_before_bytes", report.larger_step->highest_before},
                           {"site", FrameLabel(report.larger_step->site)},
                           {"site_more_bytes", report.larger_step->more}};
  json["missing_bytes"] = report.missing;
  if (report.request.framework) {
    json["small_pool"] = report.small_pool;
    json["stream"] = Hex(report.stream);
    if (report.private_pool != 0) json["private_pool"] = Hex(report.private_pool);
  }
  json["space"] = SpaceJson(report.space);
  json["remedies"] = Json::array();
  for (const analysis::Remedy& remedy : report.remedies)
    json["remedies"].push_back(RemedyJson(session, symbols, sites, report, remedy));
  json["sites"] = Json::array();
  for (const analysis::SiteUse& use : report.sites)
    json["sites"].push_back({{"site", SiteLabel(symbols, sites, use.site)},
                             {"bytes", use.bytes},
                             {"blocks", use.count},
                             {"stack", StackJson(symbols, sites.Example(use.site))}});
  if (!report.holders.empty()) json["holders"] = HoldersJson(report.holders);
  if (report.without_holder) json["without_holder"] = RestJson(*report.without_holder);
  if (report.compared_step < 0) return json;
  Json changes = Json::array();
  for (const analysis::SiteChange& change : report.changes)
    changes.push_back({{"site", SiteLabel(symbols, sites, change.site)},
                       {"before_bytes", change.before},
                       {"after_bytes", change.after}});
  json["step_before"] = {{"step", report.compared_step},
                         {"same_call", report.same_call},
                         {"before_bytes", report.live_before},
                         {"after_bytes", report.live_after},
                         {"changes", std::move(changes)}};
  return json;
}

Json HeadroomJson(const std::vector<analysis::Headroom>& rooms) {
  Json list = Json::array();
  for (const analysis::Headroom& room : rooms) {
    Json json = {{"device", room.device},       {"total_bytes", room.total},
                 {"lowest_bytes", room.lowest}, {"time_ns", room.time},
                 {"step", room.step},           {"reusable_bytes", room.reusable},
                 {"samples", room.samples}};
    if (room.samples > 0) {
      json["lowest_sample_bytes"] = room.lowest_free;
      json["lowest_sample_time_ns"] = room.lowest_time;
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace memprof::cli
