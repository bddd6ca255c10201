// Steps as JSON.
#include <cmath>

#include "analysis/steps/found.h"
#include "cli/console/json.h"
#include "cli/steps/steps.h"

namespace memprof::cli {

namespace {

Json PhasesJson(const analysis::StepPhases& phases) {
  Json json = Json::object();
  for (std::size_t p = 0; p < phases.size(); ++p) {
    const auto phase = static_cast<analysis::StepPhase>(p);
    json[std::string(analysis::StepPhaseName(phase))] = {
        {"takes_ns", phases[p].takes},
        {"allocations", phases[p].allocations},
        {"allocated_bytes", phases[p].allocated_bytes},
        {"peak_bytes", phases[p].peak_bytes}};
  }
  return json;
}

}  // namespace

Json StepJson(const analysis::StepInfo& step, const analysis::StepFigures& f,
              const analysis::StepPhases& phases) {
  Json json = {{"number", step.number},
               {"begin_ns", step.begin},
               {"end_ns", step.end},
               {"first_event", step.event.value},
               {"allocations", f.allocations},
               {"frees", f.frees},
               {"allocated_bytes", f.allocated_bytes},
               {"freed_bytes", f.freed_bytes},
               {"peak_bytes", f.peak_bytes},
               {"after_bytes", f.after_bytes},
               {"likeness", Number(f.likeness)},
               {"differs", f.likeness < analysis::kStepAlike},
               {"phases", PhasesJson(phases)}};
  if (f.whole) return json;
  const auto whole = [](double value) { return Number(std::round(value)); };
  json["whole"] = false;
  json["estimated_allocations"] = whole(f.drawn_count.value);
  json["estimated_allocations_plus_minus"] = whole(f.drawn_count.plus_minus());
  json["estimated_bytes"] = whole(f.drawn_bytes.value);
  json["estimated_bytes_plus_minus"] = whole(f.drawn_bytes.plus_minus());
  if (f.counted_peak > 0) json["counted_peak_bytes"] = f.counted_peak;
  return json;
}

}  // namespace memprof::cli
