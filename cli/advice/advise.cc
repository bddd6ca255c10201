// memprof advise: inefficient use of memory or transfers, and what to change.

#include "cli/advice/advise.h"

#include <algorithm>
#include <unordered_map>

#include "analysis/base/numbering.h"
#include "analysis/base/units.h"
#include "analysis/store/lifetime_walk.h"
#include "cli/advice/internal/findings.h"
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
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::AdviceReport;
using analysis::Finding;
using analysis::FormatBytes;
using analysis::FormatNumberOf;
using analysis::Session;

// Stacks whose sites have the same name are one site, as in every table.
class SiteNumbers {
 public:
  explicit SiteNumbers(analysis::Symbols& symbols) : labels_(symbols) {}
  std::uint32_t Of(analysis::StackId stack) {
    const auto known = by_stack_.find(stack.value);
    if (known != by_stack_.end()) return known->second;
    const std::uint32_t number = by_label_.Of(labels_.Of(stack));
    by_stack_.emplace(stack.value, number);
    return number;
  }

 private:
  SiteLabels labels_;
  std::unordered_map<std::uint32_t, std::uint32_t> by_stack_;
  analysis::Numbering<std::string> by_label_;
};

std::string Summary(const AdviceReport& report, std::size_t shown, std::size_t total) {
  std::string text =
      total == 0 ? "Nothing to advise." : Cat(FormatNumberOf(total, "finding"), ", best first.");
  if (report.hidden > 0) {
    Append(text, " ", FormatNumberOf(report.hidden, "more", "more"), " below ",
           FormatBytes(report.noise_bytes), " (0.1 % of the peak) ",
           report.hidden == 1 ? "is" : "are", " not shown (see --all).");
  }
  if (shown < total) Append(text, " The first ", shown, " follow (see --top).");
  return text;
}

std::string Text(const Session& session, analysis::Symbols& symbols, const AdviceReport& report,
                 std::size_t top) {
  const std::size_t total = report.findings.size();
  const std::size_t shown = Shown(total, top);
  std::string text = RunLines(session);
  Append(text, "\n", Wrap(Summary(report, shown, total), kWidth, 0), "\n");
  if (shown > 0) {
    const bool predicted = std::any_of(report.findings.begin(), report.findings.end(),
                                       [](const Finding& f) { return IsRemedyOfPeak(f.pattern); });
    Append(text,
           Wrap(Cat("Gains are exact for each change on its own, and do not add up.",
                    predicted ? " Remedies of the peak are predictions: docs/advise.md says how "
                                "near they were."
                              : ""),
                kWidth, 0),
           "\n");
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const Finding& finding = report.findings[i];
    const bool trade_off = analysis::IsTradeOff(finding.pattern);
    const bool first = i == 0 || trade_off != analysis::IsTradeOff(report.findings[i - 1].pattern);
    Append(text, first ? Heading(trade_off ? "Trade-offs and bounds" : "At no cost") : "\n",
           FindingText(session, symbols, finding, i + 1));
  }
  Append(text, CombinationsText(report), EvidenceText(report));
  return text;
}

Json ToJson(const Session& session, analysis::Symbols& symbols, const AdviceReport& report,
            std::size_t top) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings) {
    if (top != 0 && findings.size() == top) break;
    findings.push_back(FindingJson(session, symbols, finding));
  }
  Json json = {{"schema", "memprof.advise/1"},
               {"log", session.path()},
               {"complete", session.run().complete},
               {"simulated", Simulated(session)},
               {"start_time_ns", StartTime(session)},
               {"findings", std::move(findings)},
               {"findings_total", report.findings.size()}};
  AddAdviceSummary(report, &json);
  return json;
}

}  // namespace

int AdviseVerb(int argc, char** argv) {
  bool json = false, all = false;
  std::int64_t top = 10, device = kAllDevices;
  Options options(
      "advise [OPTION...] LOG...",
      "Shows what wastes memory or transfers, at which call site, what to change, and what that "
      "would save exactly: leaks, memory that is never used, is allocated too early, is freed too "
      "late, is idle or could be reused, rounding and reserve, useless writes and copies, pinned "
      "and managed memory, churn; and for a training with PyTorch which known remedies lower the "
      "peak, and to what. Much of it needs a log with kernel launches and copies "
      "('memprof run --cupti'). The rules are in docs/advise.md.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.advise/1).");
  options.Integer("top", &top, "N", "Findings to show; 0 = all (default 10).");
  options.Integer("device", &device, "N", "Only this device.");
  options.Flag("all", &all, "Also what is below 0.1 % of the peak.");
  options.Example("memprof run --cupti -o train.mprof -- ./train",
                  "Record what kernels and copies use.");
  options.Example("memprof advise train.mprof", "What to change first.");
  options.Example("memprof advise --json --top=0 train.mprof | jq '.findings[].fix'",
                  "All of it, for a program.");
  if (const int status = ParseOrExit(options, "advise", argc, argv); status >= 0) return status;
  if (top < 0) return UsageError("advise", "--top cannot be negative");
  if (device != kAllDevices && device < 0)
    return UsageError("advise", "--device cannot be negative");
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "advise", &status);
  if (!session) return status;
  if (device != kAllDevices) {
    const std::vector<int> known = analysis::DeviceOrdinals(*session);
    if (std::find(known.begin(), known.end(), device) == known.end()) {
      PrintError(Cat(session->path(), ": no memory of device ", device));
      return kExitFailed;
    }
  }
  analysis::Symbols symbols(session);
  SiteNumbers sites(symbols);
  analysis::AdviceOptions how;
  how.site_of = [&sites](analysis::StackId stack) { return sites.Of(stack); };
  how.symbols = &symbols;
  if (all) how.noise = 0;
  AdviceReport report = analysis::FindAdvice(*session, how);
  if (device != kAllDevices)
    std::erase_if(report.findings, [device](const Finding& f) { return f.device != device; });
  const auto rows = static_cast<std::size_t>(top);
  if (json) return PrintJson(WithSampling(*session, ToJson(*session, symbols, report, rows)));
  return WriteOut(Text(*session, symbols, report, rows)) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
