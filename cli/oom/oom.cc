// memprof oom: why a request for memory failed, and what would have made it fit.
#include "analysis/oom/oom.h"

#include <algorithm>

#include "analysis/base/units.h"
#include "analysis/oom/words.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/oom/internal/failures.h"
#include "cli/oom/oom.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"
#include "cli/shared/viewer_link.h"

namespace memprof::cli {
namespace {

using analysis::FailedRequest;
using analysis::Session;

constexpr std::int64_t kLast = INT64_MIN;
constexpr std::size_t kMaxExplained = 20;

// The failure of event `wanted`; else the last final one, else the last.
const FailedRequest* Choose(const std::vector<FailedRequest>& failures, std::int64_t wanted) {
  const FailedRequest* last = nullptr;
  for (const FailedRequest& request : failures) {
    const bool it =
        request.event.value == wanted || (request.driver.valid() && request.driver.value == wanted);
    if (wanted != kLast && it) return &request;
    if (wanted == kLast && (last == nullptr || last->recovered || !request.recovered))
      last = &request;
  }
  return last;
}

int PrintAll(const std::shared_ptr<const Session>& session, analysis::Symbols& symbols,
             const std::vector<FailedRequest>& failures, const FailedRequest* only,
             const std::string& command) {
  analysis::SiteGroups sites(*session, symbols);
  Json list = Json::array();
  if (!failures.empty()) {
    analysis::FailureExplainer explainer(*session, symbols, sites);
    for (std::size_t i = 0; i < failures.size(); ++i) {
      if (only != nullptr && &failures[i] != only) continue;
      if (only == nullptr && i + kMaxExplained < failures.size())
        list.push_back(FailedRequestJson(*session, symbols, failures[i]));
      else
        list.push_back(FailureJson(*session, symbols, sites, explainer.Explain(failures[i])));
    }
  }
  Json all = {{"schema", "memprof.oom/1"},
              {"log", session->path()},
              {"complete", session->run().complete},
              {"simulated", Simulated(*session)},
              {"start_time_ns", StartTime(*session)},
              {"failures_total", failures.size()},
              {"failures", std::move(list)},
              {"headroom", HeadroomJson(analysis::FindHeadroom(*session))}};
  if (!command.empty()) all["link"] = command;
  return PrintJson(WithSampling(*session, std::move(all)));
}

std::string Words(const std::shared_ptr<const Session>& session, analysis::Symbols& symbols,
                  const std::vector<FailedRequest>& failures, const FailedRequest* shown,
                  std::size_t top) {
  std::string text = RunLines(*session);
  if (failures.empty()) {
    Append(text, "\n  No request for memory failed in this log.\n",
           Heading("How close it came to that"),
           HeadroomText(*session, analysis::FindHeadroom(*session)));
    return text;
  }
  Append(text, "\n  ", analysis::FailureCountWords(failures), ".\n");
  analysis::SiteGroups sites(*session, symbols);
  analysis::FailureExplainer explainer(*session, symbols, sites);
  if (failures.size() > 1) Append(text, "\n", FailureTable(*session, explainer, failures, top));
  return text + FailureText(*session, symbols, sites, explainer.Explain(*shown), top);
}

}  // namespace

int OomVerb(int argc, char** argv) {
  bool json = false;
  std::int64_t top = 10, event = kLast;
  Options options("oom [OPTION...] LOG...",
                  "Explains why a request for memory failed: where every byte of the device was at "
                  "that instant, whether it was too little or too scattered, what would have let "
                  "the request fit, and what had changed since the step before. Where nothing "
                  "failed, how close it came to that. The method is in docs/oom.md.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.oom/1).");
  options.Integer("event", &event, "N",
                  "The failure at event N (as 'memprof dump' counts them), in place of the last.");
  options.Integer("top", &top, "N", "Rows of each table; 0 = all (default 10).");
  options.Example("memprof oom train.mprof", "Why the run died.");
  options.Example("memprof oom --event=2979 --top=0 train.mprof", "Another failure, in full.");
  options.Example("memprof oom --json train.mprof | jq '.failures[-1].remedies[0]'",
                  "The first thing to try.");
  if (const int status = ParseOrExit(options, "oom", argc, argv); status >= 0) return status;
  if (top < 0) return UsageError("oom", "--top cannot be negative");
  if (event != kLast && event < 0) return UsageError("oom", "--event cannot be negative");
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "oom", &status);
  if (!session) return status;
  const std::vector<FailedRequest> failures = analysis::FindFailures(*session);
  const FailedRequest* shown = Choose(failures, event);
  if (shown == nullptr && event != kLast) {
    PrintError(Cat(session->path(), ": event ", event, " is no failed request",
                   failures.empty()
                       ? std::string("; none is in the log")
                       : Cat("; the last is event ", Choose(failures, kLast)->event.value)));
    return kExitFailed;
  }
  analysis::Symbols symbols(session);
  const std::vector<std::string>& logs = options.arguments();
  const std::string link = shown == nullptr ? "" : LinkToFailure(shown->device, shown->event);
  if (json)
    return PrintAll(session, symbols, failures, event == kLast ? nullptr : shown,
                    link.empty() ? "" : ViewerCommand(logs, link));
  const std::string text = Words(session, symbols, failures, shown, static_cast<std::size_t>(top)) +
                           (link.empty() ? "" : ShowItLine(logs, link));
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
