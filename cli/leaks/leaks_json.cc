// Leaks as JSON.
#include <algorithm>

#include "cli/console/json.h"
#include "cli/leaks/leaks.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {

namespace {

using analysis::Session;
using analysis::Symbols;

// `frames`: the maximum for the stack.
Json LeakJson(const Session& session, Symbols& symbols, const analysis::Leak& leak,
              std::size_t frames) {
  std::vector<analysis::FrameId> stack;
  if (leak.stack.valid()) stack = session.StackFrames(leak.stack);
  Json shown = Json::array();
  for (std::size_t i = 0; i < std::min(stack.size(), frames); ++i)
    for (const analysis::SourceFrame& frame : symbols.Resolve(stack[i]))
      shown.push_back(FrameJson(frame));
  Json survivors = Json::array();
  for (const analysis::BirthStep& step : leak.survivors) {
    survivors.push_back({{"step", step.step}, {"bytes", step.bytes}, {"blocks", step.blocks}});
  }
  Json json = {{"tier", analysis::LeakTierName(leak.tier)},
               {"basis", analysis::LeakBasisName(leak.basis)},
               {"score", Number(leak.score)},
               {"bytes", leak.bytes},
               {"blocks", leak.blocks},
               {"bytes_per_step", Number(leak.bytes_per_step)},
               {"bytes_per_second", Number(leak.bytes_per_second)},
               {"first_step", leak.first_step},
               {"process", leak.process},
               {"device", leak.device},
               {"layer", analysis::LayerName(leak.layer)},
               {"site", SiteLabel(symbols, leak.stack)},
               {"stack", std::move(shown)},
               {"why", leak.why},
               {"disproof", leak.disproof},
               {"steps_to_oom", Number(leak.steps_to_oom)},
               {"guard_steps", leak.guard_steps},
               {"survivors", std::move(survivors)}};
  if (!leak.holders.empty()) json["holders"] = HoldersJson(leak.holders);
  if (leak.without_holder) json["without_holder"] = RestJson(*leak.without_holder);
  if (leak.exported.blocks > 0) {
    Json opened = Json::array();
    for (const analysis::Opened& one : leak.exported.opened)
      opened.push_back({{"process", one.process}, {"closed", one.closed}});
    json["exported"] = {{"blocks", leak.exported.blocks},
                        {"opened_by", std::move(opened)},
                        {"holders", HoldersJson(leak.exported.holders)}};
  }
  if (leak.steps_needed > 0) json["steps_needed"] = leak.steps_needed;
  if (leak.stack.valid()) {
    const analysis::CallSite site = symbols.SiteOf(leak.stack);
    json["site_frame"] = FrameJson(site.user);
    if (site.in_library()) json["library_frame"] = FrameJson(site.library);
  }
  if (leak.imported() && leak.example.valid()) {
    const analysis::ImportKind kind = session.allocation(leak.example).import_kind;
    json["import"] = analysis::ImportKindName(kind);
  }
  if (leak.example.valid()) json["example"] = AllocationJson(session, leak.example);
  if (stack.size() > frames) json["stack_frames"] = stack.size();
  return json;
}

}  // namespace

Json LeaksJson(const Session& session, Symbols& symbols, std::span<const analysis::Leak> leaks) {
  // A log may have a hundred thousand sites with very deep stacks.
  constexpr std::size_t kAllFrames = 400'000, kMin = 4;
  const std::size_t each = std::max(kMin, kAllFrames / std::max<std::size_t>(1, leaks.size()));
  Json array = Json::array();
  for (const analysis::Leak& leak : leaks) array.push_back(LeakJson(session, symbols, leak, each));
  return array;
}

}  // namespace memprof::cli
