// memprof leaks: what grows with the steps, and what is merely alive at the end.
#include "analysis/leaks.h"

#include <algorithm>

#include "analysis/symbols.h"
#include "cli/json.h"
#include "cli/names.h"
#include "cli/open_log.h"
#include "cli/sections.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace memprof::cli {
namespace {

using analysis::LeakTier;

// Whether `report` has a leak of the tier called `name`, or of a worse one.
bool Fails(const analysis::LeakReport& report, const std::string& name) {
  for (const LeakTier limit : {LeakTier::kDefinite, LeakTier::kSuspected, LeakTier::kGrowing}) {
    if (name != analysis::LeakTierName(limit)) continue;
    return std::any_of(report.leaks.begin(), report.leaks.end(),
                       [limit](const analysis::Leak& leak) { return leak.tier <= limit; });
  }
  return false;
}

Json ToJson(const analysis::Session& session, analysis::Symbols& symbols,
            const analysis::LeakReport& report) {
  Json leaks = Json::array(), alive = Json::array();
  for (const analysis::Leak& leak : report.leaks) leaks.push_back(LeakJson(session, symbols, leak));
  for (const analysis::Leak& leak : report.live_at_exit) {
    alive.push_back(LeakJson(session, symbols, leak));
  }
  return {{"schema", "memprof.leaks/1"},
          {"log", session.path()},
          {"complete", session.run().complete},
          {"simulated", Simulated(session)},
          {"verdict", report.verdict},
          {"horizon_too_short", report.horizon_too_short},
          {"steps", report.steps},
          {"warmup_steps", report.warmup_steps},
          {"leaks", std::move(leaks)},
          {"live_at_exit", std::move(alive)}};
}

}  // namespace

int LeaksVerb(int argc, char** argv) {
  bool json = false;
  std::int64_t top = 10, frames = 12;
  std::string fail_on;
  Options options(
      "leaks [OPTION...] LOG",
      "Tells which call sites keep more memory with every training step, with the "
      "evidence, what would disprove it, and the call stack; then what was merely alive "
      "at the end. The method is in docs/leaks.md.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.leaks/1).");
  options.Choice("fail-on", &fail_on, {"definite", "suspected", "growing"},
                 "Exit with status 3 if there is a leak of this tier or a worse one "
                 "(definite is worse than suspected, suspected worse than growing; no log of "
                 "this version proves a leak to be definite).");
  options.Integer("top", &top, "N",
                  "Rows of the table of what was alive at the end; 0 = all "
                  "(default 10). JSON always has all.");
  options.Integer("frames", &frames, "N", "Frames of each stack; 0 = all (default 12).");
  options.Example("memprof leaks train.mprof", "Show leaks, worst first.");
  options.Example("memprof leaks --fail-on=suspected train.mprof",
                  "The same in a test: the exit status is 3 if there is one.");
  options.Example("memprof leaks --json train.mprof | jq '.leaks[0].stack[0]'",
                  "The innermost frame of the worst leak.");
  if (const int status = ParseOrExit(options, "leaks", argc, argv); status >= 0) return status;
  if (top < 0 || frames < 0) return UsageError("leaks", "counts cannot be negative");
  int status = kExitFine;
  const auto session = OpenOneLog(options, "leaks", &status);
  if (!session) return status;
  analysis::Symbols symbols(session);
  const analysis::LeakReport report = analysis::FindLeaks(*session);
  if (json) {
    status = PrintJson(ToJson(*session, symbols, report));
  } else {
    std::string text = RunLines(*session);
    Append(text, "\n", Wrap(report.verdict, kWidth, 0), "\n");
    if (!report.leaks.empty()) Append(text, Heading("Leaks"));
    for (std::size_t i = 0; i < report.leaks.size(); ++i) {
      Append(text,
             LeakText(symbols, report.leaks[i], i + 1,
                      frames == 0 ? SIZE_MAX : static_cast<std::size_t>(frames)),
             i + 1 < report.leaks.size() ? "\n" : "");
    }
    Append(text, Heading("Alive at the end, not growing"),
           AliveText(symbols, report.live_at_exit, static_cast<std::size_t>(top),
                     !session->steps().empty()));
    if (!WriteOut(text)) status = kExitFailed;
  }
  if (status == kExitFine && Fails(report, fail_on)) status = kExitFailOn;
  return status;
}

}  // namespace memprof::cli
