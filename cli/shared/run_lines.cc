// The run, as text.
#include "cli/shared/run_lines.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "analysis/base/units.h"
#include "analysis/steps/found.h"
#include "analysis/store/losses.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {

namespace {

using analysis::FormatNumberOf;
using analysis::Session;

std::uint32_t RunCount(const Session& session) {
  std::uint32_t last = 0;
  for (const analysis::ProcessInfo& process : session.processes())
    last = std::max(last, process.run_number);
  return last + 1;
}

// For logs that do not overlap in time: one log proves nothing about another.
std::string RunsLine(const Session& session) {
  const std::uint32_t runs = RunCount(session);
  if (runs == 1) return "";
  const std::string text =
      runs == 2 ? "These logs do not overlap in time: two runs; compare them with memprof diff."
                : Cat("Not all of these logs overlap in time: ", runs,
                      " runs, one after the other; compare two of them with memprof diff.");
  return Cat(Styled(Style::kYellow, Wrap(text, kWidth, 0)), "\n");
}

// "6 processes", "1 process in 6 segments".
std::string ProcessWords(const Session& session) {
  const std::size_t logs = session.processes().size();
  const std::size_t processes = CountProcesses(session);
  return Cat(FormatNumberOf(processes, "process", "processes"),
             processes == logs ? "" : Cat(" in ", logs, " segments"));
}

// One line for each log of a session of several.
std::string ProcessLines(const Session& session) {
  Table table({Align::kRight, Align::kLeft, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"rank", "host", "pid", "clock", "log"});
  for (const analysis::ProcessInfo& process : session.processes()) {
    table.Row({process.rank < 0 ? "-" : Cat(process.rank), Printable(process.run.hostname),
               Cat(process.run.pid),
               process.clock_shift_ns == 0 ? "as is" : "aligned by wall clock",
               CutFront(Printable(process.path), 48)});
  }
  return Cat(table.Text(kWidth), RunsLine(session));
}

std::string EndText(const Session& session) {
  const analysis::RunInfo& run = session.run();
  if (run.growing) return "still running: these are the figures so far";
  const std::string lost = analysis::LossWords(analysis::LossesOf(session));
  if (!run.complete)
    return Cat("ended without closing its log (killed or crashed)", lost.empty() ? "" : "; ", lost);
  // What happened at its end may be among what is lost.
  if (!lost.empty()) return lost;
  if (run.imported()) return "imported";
  if (session.EndsWithFailure()) return "ended after a request for memory had failed";
  return run.end_reason.empty() || run.end_reason == "exit"
             ? "ended cleanly"
             : Cat("ended cleanly (", Printable(run.end_reason), ")");
}

}  // namespace

std::size_t CountProcesses(const Session& session) {
  const auto& processes = session.processes();
  return static_cast<std::size_t>(
      std::count_if(processes.begin(), processes.end(), [](const analysis::ProcessInfo& process) {
        return process.next_segment == analysis::EventId::kNone;
      }));
}

std::string RunLines(const Session& session, Drawn drawn) {
  const analysis::RunInfo& run = session.run();
  std::string command;
  for (const std::string& argument : run.arguments) {
    Append(command, command.empty() ? "" : " ", Printable(argument));
  }
  if (command.empty()) command = Printable(run.executable);
  if (command.empty()) command = "(unknown program)";
  const analysis::TimeNs start = StartTime(session);
  const analysis::TimeNs end = std::max(start, run.end_time);
  std::string text = Cat(Styled(Style::kBold, CutEnd(command, kWidth)), "\n");
  const std::uint32_t runs = RunCount(session);
  std::string facts =
      Cat(runs == 1 ? "" : Cat(runs, " runs one after the other, "),
          analysis::FormatDuration(end - start), runs == 1 ? ", " : " from first to last, ",
          FormatNumberOf(session.steps().size(), "step"), runs == 1 ? "" : " in all");
  if (const std::string found = StepOriginText(session.step_origin());
      !found.empty() && !session.steps().empty())
    Append(facts, " (", found, ")");
  const bool several = session.processes().size() > 1;
  if (several) Append(facts, ", ", ProcessWords(session));
  if (!several && run.pid != 0) Append(facts, ", pid ", run.pid);
  if (!several && !run.hostname.empty()) Append(facts, " on ", Printable(run.hostname));
  if (run.attached) Append(facts, ", attached to while it ran");
  Append(text, Wrap(Cat(facts, ", ", EndText(session)), kWidth, 0), "\n");
  if (several) text += ProcessLines(session);
  if (Simulated(session)) {
    Append(text,
           Styled(Style::kYellow, Wrap("Recorded on the stand-in GPU: sizes, lifetimes and "
                                       "call stacks are real; timings are not a GPU's.",
                                       kWidth, 0)),
           "\n");
  }
  text += SamplingLines(session, drawn);
  if (session.steps().empty() && analysis::AgentWouldHelp(session))
    Append(text, Wrap(Cat("No steps are known: ", kAgentHint), kWidth, 0), "\n");
  return text;
}

std::string StepOriginText(const analysis::StepOrigin& origin) {
  if (origin.source != analysis::StepSource::kRanges &&
      origin.source != analysis::StepSource::kPattern)
    return "";
  return Cat("steps found in ",
             origin.source == analysis::StepSource::kRanges ? "named ranges"
                                                            : "the pattern of allocations",
             ", confidence ", absl::StrFormat("%.2f", std::clamp(origin.confidence, 0.0, 1.0)));
}

Json StepOriginJson(const analysis::StepOrigin& origin) {
  return {{"source", analysis::StepSourceName(origin.source)},
          {"confidence", Number(origin.confidence)},
          {"warm_up_steps", origin.warm_up_steps},
          {"why", origin.why}};
}

}  // namespace memprof::cli
