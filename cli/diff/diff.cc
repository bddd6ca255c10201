// memprof diff: compares two runs, or two moments of one.
#include "analysis/diff/diff.h"

#include <algorithm>
#include <optional>

#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/diff/use.h"
#include "analysis/peak/peak.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/diff/diff.h"
#include "cli/diff/internal/diff_markdown.h"
#include "cli/diff/internal/diff_text.h"
#include "cli/fail_on/conditions.h"
#include "cli/shared/instants.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::DiffFigureKind;
using analysis::DiffReport;
using analysis::EventId;
using analysis::Session;

using SessionPointer = std::shared_ptr<const Session>;

struct DiffOptions {
  bool json = false, only_new = false;
  std::int64_t top = 15;
  std::string from, to, at, threshold_text, format;
  std::optional<std::uint64_t> threshold;
  std::vector<std::string> fail_on;
};

// A moment of --from or --to.
struct Moment {
  EventId event;
  std::string words;
};

bool IsMoment(std::string_view text) { return text == "start" || ParseWhen(text).has_value(); }

EventId LastEvent(const Session& session) {
  const std::size_t events = session.events().size();
  return events == 0 ? EventId() : EventId(static_cast<std::uint32_t>(events - 1));
}

// `text` is a moment in valid form; an error means that the log does not have it.
absl::StatusOr<Moment> FindMoment(const Session& session, std::string_view text) {
  if (IsMarkedInstant(text)) {
    const auto marked = FindMarkedInstant(session, text);
    if (!marked.ok()) return marked.status();
    return Moment{marked->event, marked->words};
  }
  if (text == "start") return Moment{EventId(), "the start"};
  if (text == "end") return Moment{LastEvent(session), "the end"};
  if (text == "peak") {
    const analysis::Peak* highest = nullptr;
    const std::vector<analysis::Peak> peaks = analysis::FindPeaks(session);
    for (const analysis::Peak& peak : peaks)
      if (highest == nullptr || peak.bytes > highest->bytes) highest = &peak;
    if (highest == nullptr || !highest->event.valid())
      return absl::NotFoundError(Cat(session.path(), ": no device memory, hence no peak"));
    return Moment{highest->event,
                  Cat("the peak of device ", highest->device, StepLabel(session, highest->step))};
  }
  const std::int64_t number = ParseWhen(text)->step.value_or(0);
  const analysis::StepInfo *found = nullptr, *next = nullptr;
  for (const analysis::StepInfo& step : session.steps()) {
    if (found != nullptr && next == nullptr) next = &step;
    if (step.number != number) continue;
    found = &step;
    next = nullptr;
  }
  if (found == nullptr)
    return absl::NotFoundError(Cat(session.path(), ": there is no step ", number));
  EventId last = LastEvent(session);
  if (next != nullptr) last = next->event.value == 0 ? EventId() : EventId(next->event.value - 1);
  return Moment{last, Cat("the end of step ", number)};
}

Figures ToFigures(const DiffReport& report, bool after) {
  Figures figures;
  for (const analysis::DiffFigure& figure : report.figures) {
    std::optional<Metric> metric;
    switch (figure.kind) {
      case DiffFigureKind::kPeak:
        metric = Metric::kPeak;
        break;
      case DiffFigureKind::kReserved:
        metric = Metric::kReserved;
        break;
      case DiffFigureKind::kLive:
        metric = Metric::kLiveAtEnd;
        break;
      case DiffFigureKind::kFragmentation:
        metric = Metric::kFragmentation;
        break;
      case DiffFigureKind::kGrowth:
        metric = Metric::kGrowth;
        break;
      case DiffFigureKind::kStepTime:
        metric = Metric::kStepTime;
        break;
      default:
        break;
    }
    if (metric) figures[*metric].push_back({figure.device, after ? figure.after : figure.before});
  }
  return figures;
}

// Figures that the comparison does not have are collected from the run.
Figures WithRun(Figures figures, const Session& session, const Budget& budget) {
  Figures run = CollectFigures(session, budget);
  for (auto& [metric, values] : run) figures.try_emplace(metric, std::move(values));
  return figures;
}

// Changes below a thousandth of the compared memory are left out, unless requested.
std::uint64_t ThresholdOf(const DiffOptions& arguments, const DiffReport& report) {
  if (arguments.threshold) return *arguments.threshold;
  double most = 0;
  for (const analysis::DiffFigure& figure : report.figures)
    if (figure.kind == DiffFigureKind::kPeak || figure.kind == DiffFigureKind::kLive)
      most = std::max({most, figure.before, figure.after});
  return static_cast<std::uint64_t>(most / 1000);
}

// A part of one log.
struct Part {
  Moment from, to;
  std::vector<analysis::DeviceUse> uses;  // empty if `to` is before `from`
};

Json SideJson(const Session& session, const std::string& what, analysis::TimeNs time,
              const Moment* moment) {
  Json json = {{"log", session.path()},
               {"complete", session.run().complete},
               {"simulated", Simulated(session)},
               {"steps", session.steps().size()}};
  if (moment != nullptr) {
    json["moment"] = what;
    json["time_ns"] = time;
    if (moment->event.valid()) json["event"] = moment->event.value;
  }
  return WithSampling(session, std::move(json));
}

// Of two runs, each has its own.
std::string SamplingOfRuns(const Session& before, const Session& after) {
  std::string text;
  for (const Session* session : {&before, &after})
    if (const std::string lines = SamplingLines(*session, Drawn::kLeftOut); !lines.empty())
      Append(text, session == &before ? "Before: " : "After: ", lines);
  return text;
}

Json UseJson(const std::vector<analysis::DeviceUse>& uses) {
  Json list = Json::array();
  for (const analysis::DeviceUse& use : uses)
    list.push_back({{"device", use.device},
                    {"before_bytes", use.before},
                    {"after_bytes", use.after},
                    {"peak_bytes", use.peak}});
  return list;
}

// Prints the report, and checks the budget.
int Finish(const DiffOptions& arguments, const SessionPointer& before, const SessionPointer& after,
           const DiffReport& report, const DiffSides& sides, const Budget& budget,
           const Part* part = nullptr) {
  const std::uint64_t threshold = ThresholdOf(arguments, report);
  int status = kExitFine;
  const auto top = static_cast<std::size_t>(arguments.top);
  if (arguments.json || arguments.format == "json") {
    Json json = {{"schema", "memprof.diff/1"},
                 {"mode", sides.moments ? "moments" : "runs"},
                 {"threshold_bytes", threshold},
                 {"before", SideJson(*before, sides.before, report.before_time,
                                     part == nullptr ? nullptr : &part->from)},
                 {"after", SideJson(*after, sides.after, report.after_time,
                                    part == nullptr ? nullptr : &part->to)}};
    if (part != nullptr) json["in_use"] = UseJson(part->uses);
    if (!sides.moments) json["sites_at"] = sides.at_end ? "end" : "peak";
    json.update(DiffJson(report, threshold));
    status = PrintJsonList(json, "steps", report.steps.size(),
                           [&](std::size_t i) { return DiffStepJson(report.steps[i]); });
  } else if (arguments.format == "markdown") {
    if (!WriteOut(DiffMarkdown(report, sides, threshold, top))) status = kExitFailed;
  } else {
    const std::string text =
        Cat(sides.moments ? RunLines(*after) + "\n" : SamplingOfRuns(*before, *after),
            DiffText(report, sides, threshold, top));
    if (!WriteOut(text)) status = kExitFailed;
  }
  if (budget.empty()) return status;
  Figures was = ToFigures(report, false), is = ToFigures(report, true);
  if (!sides.moments) {
    was = WithRun(std::move(was), *before, budget);
    is = WithRun(std::move(is), *after, budget);
  }
  const bool exceeded = ReportViolations(after->path(), budget.Violations(is, &was));
  return status == kExitFine && exceeded ? kExitFailOn : status;
}

int DiffTwoRuns(const DiffOptions& arguments, const std::vector<std::string>& logs) {
  const auto budget = Budget::Parse(arguments.fail_on, Compares::kYes);
  if (!budget.ok()) return UsageError("diff", analysis::StatusText(budget.status()));
  const SessionPointer before = OpenWholeLog(logs[0], "diff");
  if (!before) return kExitFailed;
  const SessionPointer after = OpenWholeLog(logs[1], "diff");
  if (!after) return kExitFailed;
  analysis::Symbols before_symbols(before), after_symbols(after);
  const bool at_end = arguments.at == "end";
  const DiffReport report =
      analysis::DiffRuns(*before, before_symbols, *after, after_symbols,
                         at_end ? analysis::DiffMoment::kEnd : analysis::DiffMoment::kPeak);
  const auto name = [](const Session& session) {
    return Cat(session.path(), ", ", analysis::FormatNumberOf(session.steps().size(), "step"),
               SamplingOf(session)->always_on ? ", always on" : "",
               session.run().complete ? "" : ", not whole");
  };
  return Finish(arguments, before, after, report, {name(*before), name(*after), false, at_end},
                *budget);
}

// With --at=peak, `to` becomes the instant at which most was in use.
absl::Status FindPart(const Session& session, const DiffOptions& arguments, const Moment& from,
                      const Moment& to, Part* part) {
  *part = {from, to, {}};
  // None, which is the start, comes before all others.
  const bool backwards = from.event.valid() && (!to.event.valid() || to.event < from.event);
  if (!backwards) part->uses = analysis::UseBetween(session, from.event, to.event);
  if (arguments.at != "peak") return absl::OkStatus();
  if (backwards)
    return absl::NotFoundError(
        Cat(session.path(), ": no peak, because ", from.words, " is after ", to.words));
  const analysis::DeviceUse* highest = analysis::HighestRise(part->uses);
  if (highest == nullptr || !highest->peak_event.valid()) {
    part->to = from;
  } else {
    part->to = {highest->peak_event, Cat("the highest use of device ", highest->device, " until ",
                                         to.words, " (event ", highest->peak_event.value, ")")};
  }
  part->uses = analysis::UseBetween(session, from.event, part->to.event);
  return absl::OkStatus();
}

int DiffTwoMoments(const DiffOptions& arguments, const std::string& log) {
  const auto budget =
      Budget::Parse(arguments.fail_on, Compares::kYes,
                    {Metric::kReserved, Metric::kLiveAtEnd, Metric::kFragmentation});
  if (!budget.ok()) return UsageError("diff", analysis::StatusText(budget.status()));
  const SessionPointer session = OpenWholeLog(log, "diff");
  if (!session) return kExitFailed;
  const auto from = FindMoment(*session, arguments.from);
  const auto to = FindMoment(*session, arguments.to.empty() ? "end" : arguments.to);
  for (const absl::Status& status : {from.status(), to.status()}) {
    if (status.ok()) continue;
    PrintError(analysis::StatusText(status));
    return kExitFailed;
  }
  Part part;
  if (const absl::Status status = FindPart(*session, arguments, *from, *to, &part); !status.ok()) {
    PrintError(analysis::StatusText(status));
    return kExitFailed;
  }
  analysis::Symbols symbols(session);
  std::optional<analysis::AllocationSet> recent;
  if (arguments.only_new) recent = analysis::AllocatedAfter(*session, part.from.event);
  const DiffReport report =
      analysis::DiffMoments(*session, symbols, part.from.event, part.to.event,
                            {.before = nullptr, .after = recent ? &*recent : nullptr});
  return Finish(arguments, session, session, report, {part.from.words, part.to.words, true, false},
                *budget, &part);
}

void Declare(Options* options, DiffOptions* arguments) {
  options->Flag("json", &arguments->json, "Print one JSON object (schema memprof.diff/1).");
  options->Choice(
      "format", &arguments->format, {"text", "json", "markdown"},
      "How to print it (default text); markdown: tables for a comment on a pull request.");
  options->Text(
      "from", &arguments->from, "MOMENT",
      "Of one log: step=N (its end), event=N, start, peak, end, oom (when a request for memory "
      "last failed) or snapshot=LABEL.");
  options->Text("to", &arguments->to, "MOMENT", "Likewise (default end).");
  options->Choice("at", &arguments->at, {"peak", "end"},
                  "Of two runs: compare call sites by what was live at each device's peak "
                  "(default), or at the end. Of two moments, peak: in place of --to, the instant "
                  "between them at which most was in use, on the device where it rose most.");
  options->Flag(
      "new", &arguments->only_new,
      "Of two moments: only call sites of what was allocated after --from and not freed.");
  options->Text("threshold", &arguments->threshold_text, "SIZE",
                "Leave out call sites that change by less, e.g. 1MiB (default: a thousandth of "
                "the larger peak); 0 = none.");
  options->Integer("top", &arguments->top, "N", "Rows of each table; 0 = all (default 15).");
  options->List("fail-on", &arguments->fail_on, "CONDITION",
                "Exit with status 3 and a line on standard error if it holds of AFTER, such as "
                "peak>20GiB, or of the change, such as peak>+5%, peak>+100MiB, step-time>+10%, "
                "growth>+0, fragmentation>+5% (points). May be given several times, or with "
                "commas; see 'memprof report --help' for what there is.");
  options->Example("memprof diff main.mprof branch.mprof", "What a change of the program cost.");
  options->Example("memprof diff --from step=3 --to step=30 train.mprof",
                   "What 27 steps left behind.");
  options->Example("memprof diff --format=markdown main.mprof branch.mprof > comment.md",
                   "For a comment on a pull request.");
  options->Example("memprof diff --fail-on='peak>+5%,growing' main.mprof branch.mprof",
                   "A test that fails when the branch needs more.");
}

}  // namespace

int DiffVerb(int argc, char** argv) {
  DiffOptions arguments;
  Options options(
      "diff [OPTION...] BEFORE AFTER | diff [OPTION...] --from MOMENT [--to MOMENT] LOG",
      "Compares two runs, or two moments of one: peaks, what was live by call site, leaks, steps. "
      "Runs are aligned by step and by the names of functions, so that addresses, clocks and a "
      "new build do not matter; a change within the variation of one run is marked. The method is "
      "in docs/diff.md.");
  Declare(&options, &arguments);
  if (const int status = ParseOrExit(options, "diff", argc, argv); status >= 0) return status;
  if (arguments.top < 0) return UsageError("diff", "--top cannot be negative");
  if (!arguments.threshold_text.empty()) {
    const auto bytes = analysis::ParseSize(arguments.threshold_text);
    if (!bytes.ok())
      return UsageError("diff",
                        Cat("--threshold: ", Printable(std::string(bytes.status().message()))));
    arguments.threshold = *bytes;
  }
  const std::vector<std::string>& logs = options.arguments();
  const bool moments = !arguments.from.empty() || !arguments.to.empty();
  if (!moments) {
    if (arguments.only_new) return UsageError("diff", "--new is for two moments: it needs --from");
    if (logs.size() == 2) return DiffTwoRuns(arguments, logs);
    return UsageError("diff", logs.size() == 1
                                  ? "one log needs two moments: --from step=3 --to end"
                                  : "which two logs? Name files made by 'memprof run'");
  }
  if (arguments.from.empty()) return UsageError("diff", "--to needs --from");
  for (const std::string& moment : {arguments.from, arguments.to})
    if (!moment.empty() && !IsMoment(moment))
      return UsageError(
          "diff", Cat("'", Printable(moment),
                      "' is no moment: step=N, event=N, start, peak, end, oom or snapshot=LABEL"));
  if (arguments.at == "end") return UsageError("diff", "--at=end is for two runs; use --to");
  if (logs.size() != 1) return UsageError("diff", "--from and --to are of one log");
  return DiffTwoMoments(arguments, logs[0]);
}

}  // namespace memprof::cli
