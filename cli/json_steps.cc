// Steps as JSON.
#include "analysis/steps_found.h"
#include "cli/sections_steps.h"

namespace memprof::cli {

Json StepOriginJson(const analysis::StepOrigin& origin) {
  return {{"source", analysis::StepSourceName(origin.source)},
          {"confidence", Number(origin.confidence)},
          {"warm_up_steps", origin.warm_up_steps},
          {"why", origin.why}};
}

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

Json StepsJson(const std::vector<analysis::StepInfo>& steps,
               const std::vector<analysis::StepFigures>& figures,
               const std::vector<analysis::StepPhases>& phases) {
  Json list = Json::array();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const analysis::StepFigures& f = figures[i];
    list.push_back({{"number", steps[i].number},
                    {"begin_ns", steps[i].begin},
                    {"end_ns", steps[i].end},
                    {"first_event", steps[i].event.value},
                    {"allocations", f.allocations},
                    {"frees", f.frees},
                    {"allocated_bytes", f.allocated_bytes},
                    {"freed_bytes", f.freed_bytes},
                    {"peak_bytes", f.peak_bytes},
                    {"after_bytes", f.after_bytes},
                    {"likeness", Number(f.likeness)},
                    {"differs", f.likeness < analysis::kStepAlike},
                    {"phases", PhasesJson(phases[i])}});
  }
  return list;
}

}  // namespace memprof::cli
