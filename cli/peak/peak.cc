// memprof peak: when each device held most, and what was live then.
#include "analysis/peak/peak.h"

#include <optional>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/peak/savings.h"
#include "analysis/symbols/symbols.h"
#include "cli/categories/categories.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/peak/internal/modules.h"
#include "cli/peak/internal/operators.h"
#include "cli/peak/internal/what_if.h"
#include "cli/peak/internal/within.h"
#include "cli/peak/libraries.h"
#include "cli/peak/peak.h"
#include "cli/shared/instants.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::Peak;
using analysis::Session;

// Details of a peak; not printed for other instants.
struct Details {
  std::optional<analysis::PeakSavings> savings;
  std::optional<analysis::Resizing> what_if;
  analysis::Categories categories;

  const analysis::PeakSavings* savings_or_null() const { return savings ? &*savings : nullptr; }
};

// Parses the rules of --what-if; false if one is invalid, or matches nothing in this log.
bool ReadRules(const Session& session, analysis::Symbols& symbols,
               const std::vector<analysis::SizeRule>& rules, Details* details) {
  if (rules.empty()) return true;
  details->what_if.emplace(
      session, [&](analysis::StackId stack) { return SiteLabel(symbols, stack); }, rules);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    if (details->what_if->Matches(i) > 0) continue;
    PrintError(Cat(session.path(), ": --what-if: no call site or tensor has '", rules[i].text,
                   "' in its name", i == 0 ? "" : " that no rule before it fits"));
    return false;
  }
  return true;
}

Json Head(const Session& session) {
  return WithSampling(session, {{"schema", "memprof.peak/1"},
                                {"log", session.path()},
                                {"complete", session.run().complete},
                                {"simulated", Simulated(session)},
                                {"start_time_ns", StartTime(session)}});
}

Json ToJson(const Session& session, analysis::Symbols& symbols, const std::vector<Peak>& peaks,
            const Details& details, std::size_t top) {
  const analysis::PeakSavings* savings = details.savings_or_null();
  Json list = Json::array();
  for (const Peak& peak : peaks) {
    list.push_back(PeakJson(session, symbols, peak, top));
    list.back()["by_category"] =
        CategoriesJson(session, symbols, details.categories, peak, savings);
    list.back()["by_library"] = LibrariesJson(session, symbols, peak, savings);
    if (Json modules = ModulesJson(session, peak, savings, top); !modules.empty())
      list.back()["by_module"] = std::move(modules);
    if (Json operators = OperatorsJson(session, symbols, peak, savings, top); !operators.empty())
      list.back()["by_operator"] = std::move(operators);
    if (savings != nullptr) AddSavings(session, symbols, *savings, peak, top, &list.back());
    if (details.what_if)
      list.back()["what_if"] = WhatIfJson(session, *details.what_if, *savings, peak.device);
  }
  Json json = Head(session);
  json["peaks"] = std::move(list);
  return json;
}

std::string Text(const Session& session, analysis::Symbols& symbols, const Instants& instants,
                 const Details& details, std::size_t rows, bool by_library) {
  std::string text = RunLines(session);
  if (instants.of_devices.empty()) text += "\nNo device memory was allocated in this log.\n";
  if (instants.words.empty())
    for (const Peak& peak : instants.of_devices) text += CountedLines(session, peak);
  for (const Peak& peak : instants.of_devices) {
    const std::string what = analysis::FormatBytes(peak.bytes);
    const std::string& words = instants.words;
    const std::string title = words.empty() ? Cat("peak of ", what, StepLabel(session, peak.step))
                                            : Cat("held ", what, " at ", words);
    const analysis::PeakSavings* savings = details.savings_or_null();
    Append(text, Heading(Cat("Device ", peak.device, ": ", title, ", after ",
                             Since(session, peak.time))));
    if (!by_library) {
      text += PeakText(session, symbols, peak, rows, savings);
      text += ModuleText(session, peak, savings, rows);
      text += OperatorText(session, symbols, peak, savings, rows);
    }
    text += LibrariesText(session, symbols, peak, savings, by_library);
    if (!by_library) text += CategoriesText(session, details.categories, peak, savings);
    if (details.what_if)
      text += WhatIfText(session, *details.what_if, *details.savings, peak.device);
  }
  return text;
}

constexpr std::int64_t kNoStep = INT64_MIN;

struct PeakArguments {
  bool json = false;
  std::int64_t top = 20, device = kAllDevices, step = kNoStep;
  std::vector<std::string> what_if, within;
  std::string at, by;
};

void Declare(Options* options, PeakArguments* arguments) {
  options->Flag("json", &arguments->json, "Print one JSON object (schema memprof.peak/1).");
  options->Integer("top", &arguments->top, "N", "Rows of each table; 0 = all (default 20).");
  options->Integer("device", &arguments->device, "N", "Only this device.");
  options->Integer("step", &arguments->step, "N",
                   "What was live at the end of step N, in place of the peak.");
  options->Text(
      "at", &arguments->at, "WHEN",
      "What was live when a request for memory last failed (oom), after an event (event=N), or at "
      "the program's last snapshot of a name (snapshot=LABEL), in place of the peak.");
  options->List(
      "within", &arguments->within, "RANGE",
      "The highest use while a range of this name was open (memprof.phase, NVTX), and what "
      "was in use then. Given several times: while all of them were.");
  options->List(
      "what-if", &arguments->what_if, "TEXT=FACTOR",
      "Also the exact peak if all memory that has TEXT in the name of its call site, or of a "
      "tensor in it, had FACTOR times its size (0: if it were not there; 0.5: half as "
      "wide a type). Any number of times; all apply at once, for each allocation the first that "
      "matches.");
  options->Text("by", &arguments->by, "library",
                "Only the table by this; library: what NCCL, cuBLAS, cuDNN and so on held, and the "
                "pools of frameworks.");
  options->Example("memprof peak train.mprof", "Show the peak of every device.");
  options->Example("memprof peak --device=1 --top=0 train.mprof",
                   "All that was live at the peak of device 1.");
  options->Example("memprof peak --what-if=Optimizer::Step=0.5 train.mprof",
                   "The peak with optimizer state of half the size.");
  options->Example("memprof peak --step=20 train.mprof", "What step 20 left behind.");
  options->Example("memprof peak --by=library train.mprof", "What NCCL, cuBLAS and cuDNN held.");
  options->Example("memprof peak --within=rollout train.mprof",
                   "What one phase of the program needed.");
  options->Example("memprof peak --at=oom train.mprof", "What was live when memory ran out.");
}

// The error in a combination of options; "" if there is none.
std::string Misuse(const PeakArguments& arguments) {
  if (arguments.top < 0) return "--top cannot be negative";
  if (arguments.device != kAllDevices && arguments.device < 0) return "--device cannot be negative";
  if (arguments.step != kNoStep && arguments.step < 0) return "--step cannot be negative";
  if (!arguments.by.empty() && arguments.by != "library") return "--by takes library only";
  if (!arguments.at.empty() && !IsMarkedInstant(arguments.at))
    return "--at takes oom, event=N or snapshot=LABEL";
  if (arguments.step != kNoStep && !arguments.at.empty())
    return "--step and --at are two instants: name one";
  if ((arguments.step != kNoStep || !arguments.at.empty()) && !arguments.what_if.empty())
    return "--what-if is about the peak, not about another instant";
  if (!arguments.within.empty() && (arguments.step != kNoStep || !arguments.at.empty() ||
                                    !arguments.by.empty() || !arguments.what_if.empty()))
    return "--within has a peak of its own: leave out --step, --at, --by and --what-if";
  return "";
}

int PrintWithin(const Session& session, analysis::Symbols& symbols,
                const PeakArguments& arguments) {
  const absl::StatusOr<Within> within = FindWithin(session, arguments.within, arguments.device);
  if (!within.ok()) {
    PrintError(analysis::StatusText(within.status()));
    return kExitFailed;
  }
  const auto rows = static_cast<std::size_t>(arguments.top);
  if (!arguments.json) {
    const std::string text = RunLines(session) + WithinText(session, symbols, *within, rows);
    return WriteOut(text) ? kExitFine : kExitFailed;
  }
  Json json = Head(session);
  json["within"] = WithinJson(session, symbols, *within, rows);
  return PrintJson(json);
}

}  // namespace

int PeakVerb(int argc, char** argv) {
  PeakArguments arguments;
  Options options("peak [OPTION...] LOG...",
                  "Shows when each device held most memory, and what was live at that instant: by "
                  "layer, by call site, by tensor, by library and by category, and what the peak "
                  "of the whole run would be without each of them.");
  Declare(&options, &arguments);
  if (const int status = ParseOrExit(options, "peak", argc, argv); status >= 0) return status;
  if (const std::string wrong = Misuse(arguments); !wrong.empty()) return UsageError("peak", wrong);
  When when{.marked = arguments.at};
  if (arguments.step != kNoStep) when.step = arguments.step;
  const auto rules = ParseSizeRules(arguments.what_if);
  if (!rules.ok()) return UsageError("peak", analysis::StatusText(rules.status()));
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "peak", &status);
  if (!session) return status;
  analysis::Symbols symbols(session);
  if (!arguments.within.empty()) return PrintWithin(*session, symbols, arguments);
  const absl::StatusOr<Instants> instants = FindInstants(*session, arguments.device, when);
  if (!instants.ok()) {
    PrintError(analysis::StatusText(instants.status()));
    return kExitFailed;
  }
  const auto rows = static_cast<std::size_t>(arguments.top);
  Details details{.categories = analysis::Categories(*session, &symbols)};
  if (when.IsPeak()) details.savings.emplace(*session);
  if (!ReadRules(*session, symbols, *rules, &details)) return kExitFailed;
  if (arguments.json)
    return PrintJson(ToJson(*session, symbols, instants->of_devices, details, rows));
  const std::string text =
      Text(*session, symbols, *instants, details, rows, arguments.by == "library");
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
