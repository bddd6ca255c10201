// memprof fragmentation: free memory that cannot be used, and the blocks that pin it.
#include "analysis/fragmentation/fragmentation.h"

#include <algorithm>

#include "analysis/fragmentation/series.h"
#include "analysis/symbols/symbols.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fragmentation/fragmentation.h"
#include "cli/fragmentation/internal/series.h"
#include "cli/shared/instants.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

// The last instant of step `number`, or of the log for -1.
bool EndOfStep(const analysis::Session& session, std::int64_t number, analysis::TimeNs* time) {
  if (number < 0) {
    *time = session.events().last_time();
    return true;
  }
  bool found = false;
  for (const analysis::StepInfo& step : session.steps()) {
    if (step.number != number) continue;
    *time = step.end > step.begin ? step.end - 1 : step.begin;
    found = true;
  }
  return found;
}

// The instant at which most free memory was pinned in one pool of an allocator; kForever if there
// is none.
analysis::TimeNs WorstInstant(const std::vector<analysis::PoolSeries>& all) {
  const analysis::PoolSeries* worst = nullptr;
  for (const analysis::PoolSeries& series : all)
    if (series.kind == analysis::PoolKind::kSegments &&
        (worst == nullptr || series.worst.state.pinned > worst->worst.state.pinned))
      worst = &series;
  return worst == nullptr ? analysis::kForever : worst->worst.time;
}

int Print(const std::shared_ptr<const analysis::Session>& session,
          const analysis::FragmentationReport& report,
          const std::vector<analysis::PoolSeries>& series, bool json, std::size_t top) {
  analysis::Symbols symbols(session);
  if (!json)
    return WriteOut(Cat(RunLines(*session), Heading("Fragmentation"),
                        FragmentationText(*session, symbols, report, top),
                        series.empty() ? "" : Heading("Over time"),
                        FragmentationSeriesText(*session, series)))
               ? kExitFine
               : kExitFailed;
  Json object = {{"schema", "memprof.fragmentation/1"},
                 {"log", session->path()},
                 {"complete", session->run().complete},
                 {"simulated", Simulated(*session)}};
  object.update(FragmentationJson(*session, symbols, report));
  object["series"] = FragmentationSeriesJson(series);
  object["series_left_out"] = series.size() - object["series"].size();
  return PrintJson(WithSampling(*session, std::move(object)));
}

}  // namespace

int FragmentationVerb(int argc, char** argv) {
  constexpr std::int64_t kAtPeak = INT64_MIN, kMaxPoints = 100'000;
  bool json = false, at_end = false, at_worst = false;
  std::int64_t points = 0, top = 20, device = kAllDevices, step = kAtPeak;
  Options options(
      "fragmentation [OPTION...] LOG...",
      "Shows, for each pool of a framework's allocator, how much of its free memory "
      "cannot be used, and which blocks separate the holes: at the instant when most "
      "was reserved, unless an option names another; and the worst instant of each pool over time. "
      "Formulas are in docs/fragmentation.md.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.fragmentation/1).");
  options.Integer("device", &device, "N", "Only this device.");
  options.Integer("step", &step, "N", "At the end of step N.");
  options.Flag("at-end", &at_end, "At the end of the log.");
  options.Flag("at-worst", &at_worst,
               "At the instant at which most free memory was pinned in segments in use.");
  options.Integer("points", &points, "N",
                  "Points over time: each step, or as many steps together as must be (default 60; "
                  "in JSON 200).");
  options.Integer("top", &top, "N",
                  "How many pinning blocks to show; 0 = all that were kept "
                  "(default 20).");
  options.Example("memprof fragmentation train.mprof", "Fragmentation when most was reserved.");
  options.Example("memprof fragmentation --step=40 --device=0 train.mprof",
                  "Device 0 at the end of step 40.");
  if (const int status = ParseOrExit(options, "fragmentation", argc, argv); status >= 0) {
    return status;
  }
  if (top < 0 || points < 0) return UsageError("fragmentation", "counts cannot be negative");
  if (points > kMaxPoints) return UsageError("fragmentation", "--points is at most 100000");
  if (at_worst && (at_end || step != kAtPeak))
    return UsageError("fragmentation", "--at-worst, --step and --at-end exclude each other");
  if (device != kAllDevices && device < 0) {
    return UsageError("fragmentation", "--device cannot be negative");
  }
  if (step != kAtPeak && (step < 0 || at_end)) {
    return UsageError("fragmentation", step < 0 ? "--step cannot be negative"
                                                : "--step and --at-end exclude each other");
  }
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "fragmentation", &status);
  if (!session) return status;
  const auto is_chosen = [device](const analysis::DeviceInfo& d) { return d.id == device; };
  if (device != kAllDevices && std::ranges::none_of(session->devices(), is_chosen)) {
    PrintError(Cat(session->path(), ": no memory of device ", device));
    return kExitFailed;
  }
  analysis::TimeNs time = analysis::kForever;
  if ((at_end || step != kAtPeak) && !EndOfStep(*session, at_end ? -1 : step, &time)) {
    PrintError(Cat(session->path(), ": there is no step ", step));
    return kExitFailed;
  }
  const int ordinal = device == kAllDevices ? analysis::kNoDevice : static_cast<int>(device);
  const auto most = static_cast<std::size_t>(points != 0 ? points : json ? 200 : 60);
  const std::vector<analysis::PoolSeries> series =
      analysis::BuildFragmentationSeries(*session, ordinal, most);
  if (at_worst) time = WorstInstant(series);
  return Print(session, analysis::AnalyseFragmentation(*session, ordinal, time), series, json,
               static_cast<std::size_t>(top));
}

}  // namespace memprof::cli
