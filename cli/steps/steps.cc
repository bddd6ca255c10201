// memprof steps: the training steps, their source, and the figures of each.
#include "cli/steps/steps.h"

#include <algorithm>
#include <cstdio>
#include <span>

#include "absl/strings/str_format.h"
#include "analysis/base/units.h"
#include "analysis/steps/figures.h"
#include "analysis/steps/found.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::FoundSteps;
using analysis::SampledSum;
using analysis::StepChoice;
using analysis::StepFigures;
using analysis::StepInfo;
using analysis::StepSource;

// The same work and the same growth: one row of the table.
bool SameWork(const StepFigures& a, const StepFigures& b) {
  if (!a.whole || !b.whole) return a.whole == b.whole;
  return a.allocations == b.allocations && a.frees == b.frees &&
         a.allocated_bytes == b.allocated_bytes && a.freed_bytes == b.freed_bytes &&
         (a.likeness < analysis::kStepAlike) == (b.likeness < analysis::kStepAlike);
}

// "+1.00 MiB", "0 B", "-4.00 KiB".
std::string Change(std::uint64_t before, std::uint64_t after) {
  if (after == before) return "0 B";
  return after > before ? Cat("+", FormatBytes(after - before))
                        : Cat("-", FormatBytes(before - after));
}

// The end of the last step is not marked: what the program does afterwards counts in it. True if
// that is visible.
bool TakesTheRest(const analysis::Session& session, const std::vector<StepInfo>& steps) {
  if (steps.size() < 3 || steps.back().end < session.run().end_time) return false;
  std::vector<analysis::TimeNs> takes;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i) takes.push_back(steps[i].end - steps[i].begin);
  const auto middle = takes.begin() + static_cast<std::ptrdiff_t>(takes.size() / 2);
  std::nth_element(takes.begin(), middle, takes.end());
  return steps.back().end - steps.back().begin > 2 * *middle;
}

StepChoice ChoiceOf(const std::string& source) {
  if (source == "marks") return StepChoice::kMarks;
  if (source == "nvtx") return StepChoice::kRanges;
  return source == "pattern" ? StepChoice::kPattern : StepChoice::kAuto;
}

// The result in one or two sentences.
std::string Summary(const FoundSteps& found) {
  const analysis::StepOrigin& origin = found.origin;
  if (found.steps.empty()) return Cat("No steps: ", Printable(origin.why), ".");
  std::string text = Cat(FormatNumberOf(found.steps.size(), "step"));
  switch (origin.source) {
    case StepSource::kMarks:
      text += " by marks";
      break;
    case StepSource::kRanges:
      text += " by named ranges";
      break;
    default:
      text += " found in the pattern of allocations";
  }
  Append(text, ", confidence ", absl::StrFormat("%.2f", std::clamp(origin.confidence, 0.0, 1.0)),
         ": ", Printable(origin.why), ".");
  if (origin.confidence < analysis::kStepConfidence)
    text += " That is too little for other verbs to use them.";
  if (origin.warm_up_steps > 0)
    Append(text,
           " Warm-up: ", FormatNumberOf(static_cast<std::uint64_t>(origin.warm_up_steps), "step"),
           ", then allocations repeat.");
  return text;
}

// The cells of steps that are not whole: the mean of what they allocated, and the highest.
struct Thinned {
  SampledSum count, bytes;
  std::string peak;

  explicit Thinned(std::span<const StepFigures> steps) {
    std::uint64_t exact = 0, counted = 0;
    const auto part = 1 / static_cast<double>(steps.size());
    for (const StepFigures& f : steps) {
      count += f.drawn_count;
      bytes += f.drawn_bytes;
      count.AddExact(static_cast<double>(f.allocations));
      bytes.AddExact(static_cast<double>(f.allocated_bytes));
      exact = std::max(exact, f.peak_bytes);
      counted = std::max(counted, f.counted_peak);
    }
    for (SampledSum* sum : {&count, &bytes})
      *sum = {sum->value * part, sum->variance * part * part};
    peak = counted > 0 ? Cat("≤ ", FormatBytes(counted)) : Cat("≥ ", FormatBytes(exact));
  }
};

}  // namespace

std::string StepsText(const analysis::Session& session, const std::vector<StepInfo>& steps,
                      const std::vector<StepFigures>& figures, std::size_t top) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"step", "begins", "takes", "allocations", "bytes", "peak", "after", "change", ""});
  const bool last_alone = TakesTheRest(session, steps);
  const std::size_t alike = steps.size() - (last_alone ? 1 : 0);
  std::size_t rows = 0, i = 0;
  while (i < steps.size() && (top == 0 || rows < top)) {
    std::size_t end = i + 1;
    while (end < alike && SameWork(figures[end], figures[i])) ++end;
    const StepFigures& f = figures[end - 1];
    const analysis::TimeNs takes = (steps[end - 1].end - steps[i].begin) / (end - i);
    const StepFigures& first = figures[f.whole ? end - 1 : i];
    const std::uint64_t before = first.after_bytes + first.freed_bytes - first.allocated_bytes;
    const Thinned thinned{std::span(figures).subspan(i, end - i)};
    std::string remark;
    if (last_alone && end == steps.size())
      remark = "to the end of the run";  // the likely reason of a difference
    else if (!f.whole)
      remark = "sampled";
    else if (f.likeness < analysis::kStepAlike)
      remark = Cat("differs (", Percent(f.likeness, 1), " alike)");
    table.Row(
        {end - i == 1 ? Cat(steps[i].number) : Cat(steps[i].number, "…", steps[end - 1].number),
         Since(session, steps[i].begin), analysis::FormatDuration(takes),
         f.whole ? FormatCount(f.allocations) : EstimatedCount(thinned.count),
         f.whole ? FormatBytes(f.allocated_bytes) : EstimatedBytes(thinned.bytes),
         f.whole ? FormatBytes(f.peak_bytes) : thinned.peak, FormatBytes(f.after_bytes),
         Change(before, f.after_bytes), Styled(Style::kYellow, remark)});
    ++rows;
    i = end;
  }
  return table.Text(kWidth) + MoreLine(i, steps.size());
}

std::string PhasesText(const std::vector<analysis::StepPhases>& phases,
                       const std::vector<StepFigures>& figures) {
  std::size_t of = 0;
  const analysis::StepPhases usual = analysis::UsualPhases(phases, figures, &of);
  constexpr auto kOther = static_cast<std::size_t>(analysis::StepPhase::kOther);
  std::uint64_t known = 0;
  for (std::size_t p = 0; p < usual.size(); ++p)
    if (p != kOther) known += usual[p].allocations;
  if (known == 0) return "";
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  table.Header({"phase", "takes", "allocations", "bytes", "peak"});
  for (std::size_t p = 0; p < usual.size(); ++p) {
    const analysis::PhaseFigures& f = usual[p];
    if (f.allocations == 0) continue;
    table.Row({std::string(analysis::StepPhaseName(static_cast<analysis::StepPhase>(p))),
               analysis::FormatDuration(f.takes), FormatCount(f.allocations),
               FormatBytes(f.allocated_bytes), FormatBytes(f.peak_bytes)});
  }
  return Cat(Heading(Cat("Phases of a usual step (means of ", FormatNumberOf(of, "step"), ")")),
             table.Text(kWidth));
}

int StepsVerb(int argc, char** argv) {
  bool json = false;
  std::int64_t top = 40;
  std::string source = "auto";
  Options options(
      "steps [OPTION...] LOG...",
      "Shows the training steps of a run, where they come from (the program's marks, "
      "named ranges, or the pattern of its allocations), what each of them did, and what "
      "its forward pass, backward pass and optimizer took. "
      "The method is in docs/steps.md.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.steps/1).");
  options.Choice("source", &source, {"auto", "marks", "nvtx", "pattern"},
                 "Where to look for steps: marks (memprof_step), nvtx (ranges of a name that "
                 "repeats), pattern (allocations); auto takes marks, else what is most certain "
                 "(default auto).");
  options.Integer("top", &top, "N",
                  "Rows of the table; 0 = all (default 40). JSON always has all.");
  options.Example("memprof steps train.mprof", "Show the steps of a run.");
  options.Example("memprof steps --source=pattern train.mprof",
                  "Find them in the allocations, whatever the program marked.");
  options.Example("memprof steps --json train.mprof | jq '.steps[].peak_bytes'",
                  "The peak of every step.");
  if (const int status = ParseOrExit(options, "steps", argc, argv); status >= 0) return status;
  if (top < 0) return UsageError("steps", "--top cannot be negative");
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "steps", &status);
  if (!session) return status;
  const StepChoice choice = ChoiceOf(source);
  // In several logs, steps are found in each log before the logs are merged.
  const bool known =
      choice == StepChoice::kAuto && session->processes().size() > 1 && !session->steps().empty();
  const FoundSteps found =
      known ? FoundSteps{session->step_origin(), {session->steps().begin(), session->steps().end()}}
            : analysis::FindSteps(*session, choice);
  const std::vector<StepFigures> figures = analysis::DescribeSteps(*session, found.steps);
  analysis::Symbols symbols(session);
  const std::vector<analysis::StepPhases> phases =
      analysis::DescribePhases(*session, &symbols, found.steps);
  if (json) {
    Json object = {{"schema", "memprof.steps/1"},
                   {"log", session->path()},
                   {"complete", session->run().complete},
                   {"simulated", Simulated(*session)}};
    object.update(StepOriginJson(found.origin));
    object["used"] = found.origin.confidence >= analysis::kStepConfidence;
    return PrintJsonList(
        WithSampling(*session, object, Drawn::kEstimated), "steps", found.steps.size(),
        [&](std::size_t i) { return StepJson(found.steps[i], figures[i], phases[i]); });
  }
  std::string text =
      Cat(RunLines(*session, Drawn::kEstimated), "\n", Wrap(Summary(found), kWidth, 0), "\n");
  if (!found.steps.empty()) {
    Append(text, Heading("Steps"),
           StepsText(*session, found.steps, figures, static_cast<std::size_t>(top)),
           PhasesText(phases, figures));
  }
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
