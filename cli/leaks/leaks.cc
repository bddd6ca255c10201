// memprof leaks: memory that grows with the steps, and memory that is merely alive at the end.
#include "analysis/leaks/leaks.h"

#include <algorithm>
#include <vector>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/leaks/suppressions.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/ledger.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fail_on/conditions.h"
#include "cli/leaks/leaks.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"
#include "cli/shared/viewer_link.h"

namespace memprof::cli {
namespace {

// The stack, and in addition its functions as reports print them, so that a printed name can be
// used in a file of suppressions.
std::vector<analysis::SourceFrame> WithShortNames(std::vector<analysis::SourceFrame> stack) {
  for (std::size_t i = stack.size(); i-- > 0;)
    stack.push_back({.function = LastScopes(ShortFunction(stack[i].function))});
  return stack;
}

// The leaks of a session without the suppressed ones, and the suppressions used.
class Judged {
 public:
  Judged(const analysis::Session& session, analysis::Symbols& symbols,
         const analysis::Suppressions& suppressions)
      : suppressions_(suppressions), used_(suppressions.patterns().size()) {
    analysis::LeakOptions options;
    if (!suppressions.empty())
      options.suppress = [&](const analysis::Leak& leak) {
        const int pattern = suppressions.Match(WithShortNames(symbols.ResolveStack(leak.stack)));
        if (pattern < 0) return false;
        Used& used = used_[static_cast<std::size_t>(pattern)];
        ++used.leaks;
        used.bytes += leak.bytes;
        return true;
      };
    report_ = analysis::FindLeaks(session, options);
  }

  const analysis::LeakReport& report() const { return report_; }

  // In LeakSanitizer's form: the suppressions used, their counts and bytes. Empty if none was used.
  std::string UsedText() const {
    if (report_.suppressed.empty()) return "";
    std::string text = Heading("Suppressions used");
    for (std::size_t i = 0; i < used_.size(); ++i)
      if (used_[i].leaks > 0)
        Append(text, "  ", analysis::FormatNumberOf(used_[i].leaks, "leak"), ", ",
               analysis::FormatBytes(used_[i].bytes), ": ", Printable(suppressions_.patterns()[i]),
               "\n");
    return text;
  }
  Json UsedJson() const {
    Json all = Json::array();
    for (std::size_t i = 0; i < used_.size(); ++i)
      all.push_back({{"pattern", suppressions_.patterns()[i]},
                     {"leaks", used_[i].leaks},
                     {"bytes", used_[i].bytes}});
    return all;
  }

 private:
  struct Used {
    std::uint64_t leaks = 0, bytes = 0;
  };
  const analysis::Suppressions& suppressions_;
  std::vector<Used> used_;
  analysis::LeakReport report_;
};

std::string PoolsText(const analysis::Session& session) {
  std::string text;
  for (const auto& [device, entry] : analysis::PoolsThatKeep(session))
    Append(text, "\n",
           Paragraph(Cat("The driver's pools of device ", device, " keep ",
                         analysis::FormatBytes(entry.pools_bytes),
                         " that nothing used at the last look: no leak, but no other process can "
                         "have it. 'memprof advise' says what to change."),
                     2));
  return text;
}

Json PoolsJson(const analysis::Session& session) {
  Json list = Json::array();
  for (const auto& [device, entry] : analysis::PoolsThatKeep(session))
    list.push_back({{"device", device}, {"bytes", entry.pools_bytes}});
  return list;
}

Json ToJson(const analysis::Session& session, analysis::Symbols& symbols,
            const analysis::LeakReport& report) {
  return {{"schema", "memprof.leaks/1"},
          {"log", session.path()},
          {"complete", session.run().complete},
          {"simulated", Simulated(session)},
          {"verdict", report.verdict},
          {"horizon_too_short", report.horizon_too_short},
          {"steps", report.steps},
          {"step_origin", StepOriginJson(session.step_origin())},
          {"warmup_steps", report.warmup_steps},
          {"basis", analysis::LeakBasisName(report.basis)},
          {"leaks", LeaksJson(session, symbols, report.leaks)},
          {"rising", LeaksJson(session, symbols, report.rising)},
          {"live_at_exit", LeaksJson(session, symbols, report.live_at_exit)},
          {"kept_by_pools", PoolsJson(session)}};
}

struct LeaksArguments {
  bool json = false;
  std::int64_t top = 10, frames = 12;
  std::vector<std::string> fail_on;
  std::string suppressions;  // a file
};

void Declare(Options* options, LeaksArguments* arguments) {
  options->Flag("json", &arguments->json, "Print one JSON object (schema memprof.leaks/1).");
  options->List(
      "fail-on", &arguments->fail_on, "CONDITION",
      "Exit with status 3 and a line on standard error if there is a leak of this tier or "
      "a worse one: definite, suspected, growing (definite is worse than suspected, "
      "suspected worse than growing; only a log of 'memprof run --scan' proves leaks to "
      "be definite); "
      "or if leaks of a device grow faster together: growth>1MiB/step. May be given "
      "several times, or with commas.");
  options->Text(
      "suppressions", &arguments->suppressions, "FILE",
      "Leave out leaks with a frame that FILE names, one 'leak:PATTERN' a line, as "
      "LeakSanitizer has it: PATTERN is looked for in functions, source files and modules; "
      "^ and $ are the ends, * is anything, # begins a comment. What was left out is "
      "listed, and does not count for --fail-on.");
  options->Integer("top", &arguments->top, "N",
                   "Rows of the table of what was alive at the end; 0 = all "
                   "(default 10). JSON always has all.");
  options->Integer("frames", &arguments->frames, "N",
                   "Frames of each stack; 0 = all (default 12).");
  options->Example("memprof leaks train.mprof", "Show leaks, worst first.");
  options->Example("memprof leaks --fail-on=suspected train.mprof",
                   "The same in a test: the exit status is 3 if there is one.");
  options->Example("memprof leaks --json train.mprof | jq '.leaks[0].stack[0]'",
                   "The innermost frame of the worst leak.");
}

std::string ToText(const analysis::Session& session, analysis::Symbols& symbols,
                   const Judged& judged, const LeaksArguments& arguments) {
  const analysis::LeakReport& report = judged.report();
  const std::size_t frames =
      arguments.frames == 0 ? SIZE_MAX : static_cast<std::size_t>(arguments.frames);
  std::string text = RunLines(session);
  Append(text, "\n", Wrap(report.verdict, kWidth, 0), "\n");
  if (!report.leaks.empty()) Append(text, Heading("Leaks"));
  for (std::size_t i = 0; i < report.leaks.size(); ++i)
    Append(text, i > 0 ? "\n" : "", LeakText(symbols, report.leaks[i], i + 1, frames));
  return Cat(text, RisingText(symbols, report.rising), Heading(AliveHeading(report)),
             AliveText(session, symbols, report.live_at_exit,
                       static_cast<std::size_t>(arguments.top), !session.steps().empty()),
             PoolsText(session), judged.UsedText());
}

}  // namespace

int LeaksVerb(int argc, char** argv) {
  LeaksArguments arguments;
  Options options(
      "leaks [OPTION...] LOG...",
      "Shows which call sites keep more memory with every training step, or without steps "
      "the longer the program runs, with the evidence, what would disprove it, and the call "
      "stack; then what was merely alive at the end. The method is in docs/leaks.md.");
  Declare(&options, &arguments);
  if (const int status = ParseOrExit(options, "leaks", argc, argv); status >= 0) return status;
  if (arguments.top < 0 || arguments.frames < 0)
    return UsageError("leaks", "counts cannot be negative");
  const auto budget =
      Budget::Parse(arguments.fail_on, Compares::kNo,
                    {Metric::kDefinite, Metric::kSuspected, Metric::kGrowing, Metric::kGrowth});
  if (!budget.ok()) return UsageError("leaks", analysis::StatusText(budget.status()));
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "leaks", &status);
  if (!session) return status;
  analysis::Suppressions suppressions;
  if (!arguments.suppressions.empty()) {
    auto read = analysis::Suppressions::Read(arguments.suppressions);
    if (!read.ok()) {
      PrintError(analysis::StatusText(read.status()));
      return kExitFailed;
    }
    suppressions = *std::move(read);
  }
  analysis::Symbols symbols(session);
  const Judged judged(*session, symbols, suppressions);
  const analysis::LeakReport& report = judged.report();
  const std::string link =
      report.leaks.empty() ? "" : LinkToLeak(symbols, report.leaks.front().stack);
  if (arguments.json) {
    Json all = ToJson(*session, symbols, report);
    if (!link.empty()) all["link"] = ViewerCommand(options.arguments(), link);
    if (!arguments.suppressions.empty()) all["suppressed"] = judged.UsedJson();
    status = PrintJson(WithSampling(*session, std::move(all)));
  } else if (!WriteOut(ToText(*session, symbols, judged, arguments) +
                       (link.empty() ? "" : ShowItLine(options.arguments(), link)))) {
    status = kExitFailed;
  }
  const bool exceeded = ReportViolations(
      session->path(), budget->Violations(CollectFigures(*session, *budget, &report)));
  if (status == kExitFine && exceeded) status = kExitFailOn;
  return status;
}

}  // namespace memprof::cli
