// memprof categories: the purposes of memory at the peak, at the end or after a step.
#include "analysis/categories/categories.h"

#include <optional>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/peak/peak.h"
#include "analysis/steps/found.h"
#include "cli/categories/categories.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/instants.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::Peak;
using analysis::Session;

std::string Title(const Session& session, const When& when, const std::string& words,
                  const Peak& peak) {
  const std::string bytes = analysis::FormatBytes(peak.bytes);
  if (when.IsPeak())
    return Cat("Device ", peak.device, ": peak of ", bytes, StepLabel(session, peak.step),
               ", after ", Since(session, peak.time));
  return Cat("Device ", peak.device, ": held ", bytes, " at ", words,
             when.marked.empty() ? "" : StepLabel(session, peak.step));
}

// A tenth of the memory is unknown, or all of it was guessed.
bool Unsure(const analysis::CategoryTotals& totals) {
  const auto total = static_cast<double>(totals.total());
  double sure = 0;
  for (std::size_t c = 0; c < totals.bytes.size(); ++c)
    sure += static_cast<double>(totals.bytes[c]) * totals.confidence[c];
  const auto unknown = static_cast<std::size_t>(analysis::Category::kUnknown);
  return static_cast<double>(totals.bytes[unknown]) > 0.1 * total || sure < 0.7 * total;
}

Json ToJson(const Session& session, analysis::Symbols& symbols,
            const analysis::Categories& categories, const std::vector<Peak>& instants,
            std::size_t top) {
  Json devices = Json::array();
  for (const Peak& peak : instants) {
    const analysis::CategoryTotals totals = categories.At(peak.device, peak.event);
    devices.push_back({{"device", peak.device},
                       {"bytes", totals.total()},
                       {"time_ns", peak.time},
                       {"step", peak.step},
                       {"categories", CategoriesJson(symbols, totals, true, top)}});
  }
  return {{"schema", "memprof.categories/1"},
          {"log", session.path()},
          {"complete", session.run().complete},
          {"simulated", Simulated(session)},
          {"devices", std::move(devices)}};
}

}  // namespace

int CategoriesVerb(int argc, char** argv) {
  bool json = false, no_names = false;
  std::int64_t top = 8, device = kAllDevices;
  std::string at = "peak";
  Options options("categories [OPTION...] LOG...",
                  "Shows what memory was for: parameters, gradients, optimizer state, activations, "
                  "inputs, workspaces, communication, temporaries; by the names of tensors where "
                  "the program set them, otherwise by call stacks, named ranges, lifetimes and "
                  "sizes. The method is in docs/categories.md.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.categories/1).");
  options.Text(
      "at", &at, "WHEN",
      "peak: when each device held most; end: at the end of the log; step=N: at the end "
      "of step N (default peak); oom: when a request for memory last failed; snapshot=LABEL: at "
      "the program's last snapshot of that name.");
  options.Integer("device", &device, "N", "Only this device.");
  options.Integer("top", &top, "N", "Call sites of each category; 0 = all (default 8).");
  options.Flag("no-names", &no_names, "Do not look at the names of tensors.");
  options.Example("memprof categories train.mprof", "What the peak was made of.");
  options.Example("memprof categories --at=step=20 train.mprof", "What step 20 left behind.");
  if (const int status = ParseOrExit(options, "categories", argc, argv); status >= 0) return status;
  const std::optional<When> when = ParseWhen(at);
  if (!when)
    return UsageError(
        "categories",
        Cat("--at is 'peak', 'end', 'step=N', 'oom' or 'snapshot=LABEL', not '", at, "'"));
  if (top < 0) return UsageError("categories", "--top cannot be negative");
  if (device != kAllDevices && device < 0)
    return UsageError("categories", "--device cannot be negative");
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "categories", &status);
  if (!session) return status;
  const absl::StatusOr<Instants> found = FindInstants(*session, device, *when);
  if (!found.ok()) {
    PrintError(analysis::StatusText(found.status()));
    return kExitFailed;
  }
  const std::vector<Peak>& instants = found->of_devices;
  analysis::Symbols symbols(session);
  const analysis::Categories categories(*session, &symbols, {.names = !no_names});
  const auto rows = static_cast<std::size_t>(top);
  if (json)
    return PrintJson(WithSampling(*session, ToJson(*session, symbols, categories, instants, rows)));
  std::string text = RunLines(*session);
  if (instants.empty()) text += "\nNo device memory was allocated in this log.\n";
  bool unsure = false;
  for (const Peak& peak : instants) {
    const analysis::CategoryTotals totals = categories.At(peak.device, peak.event);
    unsure = unsure || Unsure(totals);
    Append(text, Heading(Title(*session, *when, found->words, peak)),
           CategoriesText(symbols, totals, true, rows));
  }
  if (unsure && analysis::AgentWouldHelp(*session))
    Append(text, "\n", Wrap(Cat("Not sure: ", kAgentHint), kWidth, 0), "\n");
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
