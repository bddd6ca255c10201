// memprof peak: when each device held most, and what was live then.
#include "analysis/peak.h"

#include "analysis/symbols.h"
#include "analysis/units.h"
#include "cli/json.h"
#include "cli/names.h"
#include "cli/open_log.h"
#include "cli/sections.h"
#include "cli/terminal.h"
#include "cli/text.h"
#include "cli/verbs.h"

namespace memprof::cli {
namespace {

constexpr std::int64_t kAllDevices = INT64_MIN;

using analysis::Peak;
using analysis::Session;

// What is asked for: the peaks, or the instant at which step `step` ended.
absl::Status FindInstants(const Session& session, std::int64_t device, std::int64_t step,
                          bool at_step, std::vector<Peak>* peaks) {
  *peaks = analysis::FindPeaks(session);
  if (device != kAllDevices) {
    std::erase_if(*peaks, [device](const Peak& peak) { return peak.device != device; });
    if (peaks->empty()) {
      return absl::NotFoundError(Cat(session.path(), ": no memory of device ", device));
    }
  }
  if (!at_step) return absl::OkStatus();
  const analysis::StepInfo* found = nullptr;
  for (const analysis::StepInfo& info : session.steps()) {
    if (info.number == step) found = &info;
  }
  if (found == nullptr)
    return absl::NotFoundError(Cat(session.path(), ": there is no step ", step));
  const analysis::TimeNs time = found->end > found->begin ? found->end - 1 : found->begin;
  for (Peak& peak : *peaks) peak = analysis::DescribeInstant(session, peak.device, time);
  return absl::OkStatus();
}

Json ToJson(const Session& session, analysis::Symbols& symbols, const std::vector<Peak>& peaks,
            std::size_t top) {
  Json list = Json::array();
  for (const Peak& peak : peaks) list.push_back(PeakJson(session, symbols, peak, top));
  return {{"schema", "memprof.peak/1"},          {"log", session.path()},
          {"complete", session.run().complete},  {"simulated", Simulated(session)},
          {"start_time_ns", StartTime(session)}, {"peaks", std::move(list)}};
}

}  // namespace

int PeakVerb(int argc, char** argv) {
  constexpr std::int64_t kNoStep = INT64_MIN;
  bool json = false;
  std::int64_t top = 20, device = kAllDevices, step = kNoStep;
  Options options("peak [OPTION...] LOG...",
                  "Tells when each device held most memory, and what was live at that instant: by "
                  "layer, by call site and by tensor.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.peak/1).");
  options.Integer("top", &top, "N", "Rows of each table; 0 = all (default 20).");
  options.Integer("device", &device, "N", "Only this device.");
  options.Integer("step", &step, "N", "What was live at the end of step N, in place of the peak.");
  options.Example("memprof peak train.mprof", "Show the peak of every device.");
  options.Example("memprof peak --device=1 --top=0 train.mprof",
                  "All that was live at the peak of device 1.");
  options.Example("memprof peak --step=20 train.mprof", "What step 20 left behind.");
  if (const int status = ParseOrExit(options, "peak", argc, argv); status >= 0) return status;
  if (top < 0) return UsageError("peak", "--top cannot be negative");
  if (device != kAllDevices && device < 0) return UsageError("peak", "--device cannot be negative");
  if (step != kNoStep && step < 0) return UsageError("peak", "--step cannot be negative");
  int status = kExitFine;
  const auto session = OpenLogs(options, "peak", &status);
  if (!session) return status;
  std::vector<Peak> peaks;
  const absl::Status found = FindInstants(*session, device, step, step != kNoStep, &peaks);
  if (!found.ok()) {
    PrintError(std::string(found.message().data(), found.message().size()));
    return kExitFailed;
  }
  analysis::Symbols symbols(session);
  const auto rows = static_cast<std::size_t>(top);
  if (json) return PrintJson(ToJson(*session, symbols, peaks, rows));
  std::string text = RunLines(*session);
  if (peaks.empty()) text += "\nNo device memory was allocated in this log.\n";
  for (const Peak& peak : peaks) {
    const std::string what = analysis::FormatBytes(peak.bytes);
    const std::string title = step != kNoStep
                                  ? Cat("held ", what, " at the end of step ", step)
                                  : Cat("peak of ", what, StepLabel(*session, peak.step));
    Append(
        text,
        Heading(Cat("Device ", peak.device, ": ", title, ", after ", Since(*session, peak.time))),
        PeakText(*session, symbols, peak, rows));
  }
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
