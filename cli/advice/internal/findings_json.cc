// Findings as JSON.
#include "cli/advice/internal/findings.h"
#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {
namespace {

using analysis::AdviceExample;
using analysis::Finding;
using analysis::Session;

Json ExampleJson(const Session& session, analysis::Symbols& symbols, const AdviceExample& example) {
  Json json = Json::object();
  if (example.event.valid()) {
    json["event"] = example.event.value;
    json["time_ns"] = session.events().time(example.event.value);
    json["step"] = session.StepOf(example.event);
  }
  if (example.allocation.valid()) {
    const analysis::AllocationRecord& a = session.record(example.allocation);
    json["allocation"] = example.allocation.value;
    json["address"] = Hex(a.address);
    json["bytes"] = a.bytes;
  }
  if (example.other.valid()) {
    json["other_allocation"] = example.other.value;
    json["other_site"] = SiteLabel(symbols, session.record(example.other).stack);
  }
  if (!example.what.empty()) json["what"] = example.what;
  return json;
}

}  // namespace

Json FindingJson(const Session& session, analysis::Symbols& symbols, const Finding& f) {
  Json examples = Json::array();
  for (const AdviceExample& example : f.examples)
    examples.push_back(ExampleJson(session, symbols, example));
  Json json = {{"pattern", analysis::PatternId(f.pattern)},
               {"trade_off", analysis::IsTradeOff(f.pattern)},
               {"confidence", analysis::ConfidenceName(f.confidence)},
               {"device", f.device},
               {"layer", analysis::LayerName(f.layer)},
               {"site", SiteLabel(symbols, f.stack)},
               {"stack", StackJson(symbols, f.stack)},
               {"count", f.count},
               {"bytes", f.bytes},
               {"first_step", f.first_step},
               {"last_step", f.last_step},
               {"saves_bytes", f.saves_bytes},
               {"upper_bound", f.upper_bound},
               {"reserved_bytes", f.reserved},
               {"new_reserved_bytes", f.new_reserved},
               {"byte_seconds", Number(f.byte_seconds)},
               {"moved_bytes", f.moved_bytes},
               {"why", f.why},
               {"fix", f.fix},
               {"assumption", f.assumption},
               {"examples", std::move(examples)}};
  if (!f.module.empty()) json["module"] = f.module;
  if (f.peak_of) {
    json["peak_of"] = *f.peak_of == analysis::PeakLayer::kBlocks ? "blocks" : "driver";
    json["new_peak_bytes"] = f.new_peak.bytes;
    const bool known = f.new_peak.event.valid() && !f.upper_bound;
    json["new_peak_time_ns"] = known ? session.events().time(f.new_peak.event.value) : 0;
    json["new_peak_step"] = known ? session.StepOf(f.new_peak.event) : -1;
  }
  return json;
}

void AddAdviceSummary(const analysis::AdviceReport& report, Json* json) {
  Json patterns = Json::array();
  for (std::size_t i = 0; i < report.patterns.size(); ++i) {
    const analysis::PatternSummary& summary = report.patterns[i];
    patterns.push_back({{"pattern", analysis::PatternId(static_cast<analysis::Pattern>(i))},
                        {"looked_for", summary.looked_for},
                        {"missing", summary.missing},
                        {"findings", summary.findings},
                        {"hidden", summary.hidden}});
  }
  Json combinations = Json::array();
  for (const analysis::AdviceCombination& combination : report.combinations) {
    Json names = Json::array();
    for (const analysis::Pattern pattern : combination.patterns)
      names.push_back(analysis::PatternId(pattern));
    combinations.push_back({{"patterns", std::move(names)},
                            {"device", combination.device},
                            {"saves_bytes", combination.saves_bytes},
                            {"new_peak_bytes", combination.new_peak.bytes},
                            {"new_reserved_bytes", combination.new_reserved}});
  }
  (*json)["combinations"] = std::move(combinations);
  (*json)["hidden"] = report.hidden;
  (*json)["noise_bytes"] = report.noise_bytes;
  (*json)["evidence"] = {{"launches", report.evidence.launches},
                         {"known_launches", report.evidence.known_launches},
                         {"copies", report.evidence.copies},
                         {"memsets", report.evidence.memsets}};
  (*json)["patterns"] = std::move(patterns);
  (*json)["notes"] = report.notes;
}

}  // namespace memprof::cli
