// memprof categories: what memory was for, at the peak, at the end or after a step.
#include "analysis/categories/categories.h"

#include <charconv>
#include <limits>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/peak/peak.h"
#include "cli/categories/categories.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/marked_instants.h"
#include "cli/shared/names.h"
#include "cli/shared/open_log.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::Peak;
using analysis::Session;

constexpr std::int64_t kAllDevices = std::numeric_limits<std::int64_t>::min();

// "peak", "end", "step=N", "oom" or "snapshot=LABEL".
struct Moment {
  std::string marked;  // the last two
  bool end = false, step = false;
  std::int64_t number = 0;
};

bool ParseMoment(const std::string& text, Moment* moment) {
  constexpr std::string_view kStep = "step=";
  if (text == "peak") return true;
  if (text == "end") return moment->end = true;
  if (IsMarkedInstant(text)) {
    moment->marked = text;
    return true;
  }
  if (!std::string_view(text).starts_with(kStep)) return false;
  const char* begin = text.data() + kStep.size();
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(begin, end, moment->number);
  moment->step = true;
  return error == std::errc() && at == end && moment->number >= 0;
}

// The instants asked for, one per device.
absl::Status FindInstants(const Session& session, const Moment& moment, std::int64_t device,
                          std::vector<Peak>* instants) {
  *instants = analysis::FindPeaks(session);
  if (device != kAllDevices) {
    std::erase_if(*instants, [device](const Peak& peak) { return peak.device != device; });
    if (instants->empty())
      return absl::NotFoundError(Cat(session.path(), ": no memory of device ", device));
  }
  if (!moment.end && !moment.step && moment.marked.empty()) return absl::OkStatus();
  analysis::TimeNs time = session.events().last_time();
  if (moment.step) {
    const analysis::StepInfo* found = nullptr;
    for (const analysis::StepInfo& step : session.steps())
      if (step.number == moment.number) found = &step;
    if (found == nullptr)
      return absl::NotFoundError(Cat(session.path(), ": there is no step ", moment.number));
    time = found->end > found->begin ? found->end - 1 : found->begin;
  }
  if (!moment.marked.empty()) {
    const auto marked = FindMarkedInstant(session, moment.marked);
    if (!marked.ok()) return marked.status();
    time = session.events().time(marked->event.value);
  }
  for (Peak& peak : *instants) peak = analysis::DescribeInstant(session, peak.device, time);
  return absl::OkStatus();
}

std::string Title(const Session& session, const Moment& moment, const Peak& peak) {
  const std::string bytes = analysis::FormatBytes(peak.bytes);
  if (moment.end) return Cat("Device ", peak.device, ": held ", bytes, " at the end");
  if (!moment.marked.empty())
    return Cat("Device ", peak.device, ": held ", bytes, " at ",
               FindMarkedInstant(session, moment.marked)->words, StepLabel(session, peak.step));
  if (moment.step)
    return Cat("Device ", peak.device, ": held ", bytes, " at the end of step ", moment.number);
  return Cat("Device ", peak.device, ": peak of ", bytes, StepLabel(session, peak.step), ", after ",
             Since(session, peak.time));
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
                  "Tells what memory was for: parameters, gradients, optimizer state, activations, "
                  "inputs, workspaces, communication, temporaries; by the names of tensors where "
                  "the program gave them, otherwise by call stacks, named ranges, lifetimes and "
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
  Moment moment;
  if (!ParseMoment(at, &moment))
    return UsageError(
        "categories",
        Cat("--at is 'peak', 'end', 'step=N', 'oom' or 'snapshot=LABEL', not '", at, "'"));
  if (top < 0) return UsageError("categories", "--top cannot be negative");
  if (device != kAllDevices && device < 0)
    return UsageError("categories", "--device cannot be negative");
  int status = kExitFine;
  const auto session = OpenLogs(options, "categories", &status);
  if (!session) return status;
  std::vector<Peak> instants;
  const absl::Status found = FindInstants(*session, moment, device, &instants);
  if (!found.ok()) {
    PrintError(analysis::StatusText(found));
    return kExitFailed;
  }
  analysis::Symbols symbols(session);
  const analysis::Categories categories(*session, &symbols, {.names = !no_names});
  const auto rows = static_cast<std::size_t>(top);
  if (json) return PrintJson(ToJson(*session, symbols, categories, instants, rows));
  std::string text = RunLines(*session);
  if (instants.empty()) text += "\nNo device memory was allocated in this log.\n";
  for (const Peak& peak : instants) {
    const analysis::CategoryTotals totals = categories.At(peak.device, peak.event);
    Append(text, Heading(Title(*session, moment, peak)),
           CategoriesText(symbols, totals, true, rows));
  }
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
