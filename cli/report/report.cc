// memprof report: the whole run on a page or two, most important first.
#include "analysis/report/report.h"

#include <algorithm>
#include <future>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/oom/words.h"
#include "analysis/peak/traffic.h"
#include "analysis/symbols/symbols.h"
#include "cli/categories/categories.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/fail_on/conditions.h"
#include "cli/fragmentation/fragmentation.h"
#include "cli/leaks/leaks.h"
#include "cli/peak/libraries.h"
#include "cli/peak/peak.h"
#include "cli/report/internal/processes.h"
#include "cli/report/internal/report_json.h"
#include "cli/report/internal/settings.h"
#include "cli/report/ledger.h"
#include "cli/report/report.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::Report;
using analysis::Session;

constexpr std::size_t kLeakFrames = 8;

Json ToJson(const Session& session, analysis::Symbols& symbols, const Report& report,
            const analysis::Categories& categories, std::size_t top) {
  const analysis::EventTotals& events = report.events;
  Json allocations = Json::object(), frees = Json::object();
  for (std::size_t i = 0; i < events.allocations_by_layer.size(); ++i) {
    const std::string layer(analysis::LayerName(static_cast<analysis::Layer>(i)));
    if (events.allocations_by_layer[i] > 0) allocations[layer] = events.allocations_by_layer[i];
    if (events.frees_by_layer[i] > 0) frees[layer] = events.frees_by_layer[i];
  }
  Json devices = Json::array(), peaks = Json::array();
  for (const auto& device : report.devices) devices.push_back(DeviceJson(device));
  for (const auto& estimates : EstimatesOf(session, symbols, report))
    for (Json& device : devices)
      if (device["id"] == estimates.device) device["estimates"] = EstimatesJson(estimates);
  for (const auto& peak : report.peaks) {
    peaks.push_back(PeakJson(session, symbols, peak, top));
    peaks.back()["by_category"] = CategoriesJson(session, symbols, categories, peak, nullptr);
    peaks.back()["by_library"] = LibrariesJson(session, symbols, peak, nullptr);
  }
  return {{"schema", "memprof.report/1"},
          {"log", session.path()},
          {"complete", session.run().complete},
          {"attached", session.run().attached},
          {"before_attach_bytes", report.before_attach_bytes},
          {"simulated", Simulated(session)},
          {"run", RunJson(session)},
          {"sources", SourcesOnJson(session)},
          {"source_states", SourceStatesJson(session)},
          {"events",
           {{"total", events.total},
            {"allocations", events.allocations},
            {"frees", events.frees},
            {"failed", events.failed},
            {"lost", events.lost},
            {"unmatched_frees", events.unmatched_frees},
            {"allocations_by_layer", std::move(allocations)},
            {"frees_by_layer", std::move(frees)}}},
          {"devices", std::move(devices)},
          {"processes", ProcessesJson(session, report.leaks.leaks)},
          {"host",
           {{"pinned_peak_bytes", report.host.pinned_peak_bytes},
            {"pinned_live_bytes", report.host.pinned_live_bytes},
            {"registered_peak_bytes", report.host.registered_peak_bytes},
            {"registered_live_bytes", report.host.registered_live_bytes}}},
          {"allocator_settings", SettingsJson(session)},
          {"steps", report.steps},
          {"step_origin", StepOriginJson(session.step_origin())},
          {"peaks", std::move(peaks)},
          {"leak_verdict", report.leaks.verdict},
          {"horizon_too_short", report.leaks.horizon_too_short},
          {"leaks", LeaksJson(session, symbols, report.leaks.leaks)},
          {"live_at_exit", LeaksJson(session, symbols, report.leaks.live_at_exit)},
          {"fragmentation", FragmentationJson(session, symbols, report.fragmentation)},
          {"anomalies", AnomaliesJson(analysis::AllAnomalies(session, symbols))},
          {"self", SelfJson(session)}};
}

// For the last failure, what filled the device, or what was still to come, if known.
std::string FailureLine(const Session& session, analysis::Symbols& symbols,
                        const std::vector<analysis::FailedRequest>& failures) {
  const auto for_good = std::find_if(failures.rbegin(), failures.rend(),
                                     [](const auto& failure) { return !failure.recovered; });
  if (for_good == failures.rend()) return "";
  analysis::SiteGroups sites(session, symbols);
  const analysis::FailureReport report =
      analysis::FailureExplainer(session, symbols, sites).Explain(*for_good);
  if (!report.growth && !report.first_step && !report.larger_step) return "";
  return Paragraph(analysis::FailureVerdict(report));
}

// One line for each place: leaks of one place, as of two operators on a line, are told together.
std::string LeakLines(analysis::Symbols& symbols, const std::vector<analysis::Leak>& leaks) {
  struct Line {
    std::string word, site;
    bool growing = false;
    std::size_t count = 0;
    analysis::Leak sum;
  };
  std::vector<Line> lines;
  for (const analysis::Leak& leak : leaks) {
    const bool growing = leak.tier == analysis::LeakTier::kGrowing;
    const std::string word = growing ? (leak.in_use ? "Growing, in use" : "Growing")
                             : leak.tier == analysis::LeakTier::kDefinite ? "Definite leak"
                                                                          : "Suspected leak";
    const std::string site = SiteAndCaller(symbols, leak.stack, 0, 0);
    const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& line) {
      return line.word == word && line.site == site &&
             (line.sum.bytes_per_step > 0) == (leak.bytes_per_step > 0);
    });
    if (same == lines.end()) {
      lines.push_back({word, site, growing, 1, leak});
      continue;
    }
    ++same->count;
    same->sum.bytes += leak.bytes;
    same->sum.bytes_per_step += leak.bytes_per_step;
  }
  std::string text;
  for (const Line& line : lines) {
    const std::string word = Cat(line.word, line.count > 1 ? Cat(" (", line.count, ")") : "", ":");
    const std::string slope = LeakSize(line.sum);
    const std::size_t column = 2 + word.size() + 1 + slope.size() + 4;
    Append(text, "  ", Styled(line.growing ? Style::kYellow : Style::kRed, word), " ",
           Styled(Style::kBold, slope), " at ",
           Styled(Style::kCyan, SiteAndCaller(symbols, line.sum.stack, column, 18)), "\n");
  }
  return text;
}

// The first lines: a summary.
std::string Verdict(const Session& session, analysis::Symbols& symbols, const Report& report) {
  std::string text = "\n";
  for (const analysis::Peak& peak : report.peaks) {
    const std::string label = StepLabel(session, peak.step);
    const std::uint64_t blocks = peak.by_layer[static_cast<std::size_t>(analysis::Layer::kBlock)];
    const bool has_driver_memory = peak.bytes > 0 || blocks == 0;
    Append(text, "  Peak ",
           Styled(Style::kBold, FormatBytes(has_driver_memory ? peak.bytes : blocks)),
           has_driver_memory ? "" : " of blocks", " on device ", peak.device, label, ", after ",
           Since(session, peak.time), "\n");
    if (!has_driver_memory) text += "    The driver memory of the allocator is not in this log.\n";
    text += CountedLines(session, peak);
  }
  if (report.peaks.empty()) text += "  No device memory was allocated.\n";
  text += LeakLines(symbols, report.leaks.leaks);
  if (report.leaks.leaks.empty() || report.leaks.horizon_too_short)
    text += Paragraph(report.leaks.verdict);
  if (const auto failures = analysis::FailuresOf(session); !failures->empty()) {
    Append(text, "  ", Styled(Style::kRed, analysis::FailureCountWords(*failures)),
           ": see 'memprof oom'\n", FailureLine(session, symbols, *failures));
  }
  return text;
}

std::string DeviceSection(const Report& report) {
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kRight});
  table.Header({"device", "capacity", "peak", "at the end", "blocks", "pools hold", "untracked"});
  for (const analysis::DeviceFigures& device : report.devices) {
    table.Row({Cat(device.info.id, "  ", CutEnd(Printable(device.info.name), 28)),
               device.info.capacity_bytes == 0 ? "-" : FormatBytes(device.info.capacity_bytes),
               FormatBytes(device.peak_bytes), FormatBytes(device.live_bytes),
               FormatCount(device.live_blocks), FormatBytes(device.reserved_bytes),
               device.untracked_bytes == 0 ? "-" : FormatBytes(device.untracked_bytes)});
  }
  std::string text = table.Text(kWidth);
  Table framework(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight});
  framework.Header({"allocator on", "peak", "at the end", "blocks", "peak reserved", "reserved"});
  for (const analysis::DeviceFigures& device : report.devices) {
    const analysis::FrameworkFigures& figures = device.framework;
    if (!figures.seen) continue;
    framework.Row({Cat("device ", device.info.id), FormatBytes(figures.peak_bytes),
                   FormatBytes(figures.live_bytes), FormatCount(figures.live_blocks),
                   FormatBytes(figures.peak_reserved_bytes), FormatBytes(figures.reserved_bytes)});
  }
  if (!framework.empty()) Append(text, "\n", framework.Text(kWidth));
  if (report.host.pinned_peak_bytes > 0 || report.host.registered_peak_bytes > 0) {
    Append(text, "\n  Host memory: pinned ", FormatBytes(report.host.pinned_peak_bytes),
           " at its peak, ", FormatBytes(report.host.pinned_live_bytes), " at the end");
    if (report.host.registered_peak_bytes > 0) {
      Append(text, "; registered ", FormatBytes(report.host.registered_peak_bytes), " and ",
             FormatBytes(report.host.registered_live_bytes));
    }
    text += "\n";
  }
  return text;
}

// Reports a scan of host memory that found nothing; what it found is a leak.
std::string ScanLine(const Report& report) {
  const analysis::EventTotals& events = report.events;
  const bool proved = std::any_of(
      report.leaks.leaks.begin(), report.leaks.leaks.end(),
      [](const analysis::Leak& leak) { return leak.tier == analysis::LeakTier::kDefinite; });
  if (events.host_scans == 0 || proved) return "";
  return Paragraph(Cat("Host memory was scanned for pointers ",
                       FormatNumberOf(events.host_scans, "time"), " (",
                       FormatBytes(events.last_scan_bytes), " the last time): it proves no leak."));
}

std::string LeakSection(analysis::Symbols& symbols, const Report& report, std::size_t top) {
  std::string text = Paragraph(report.leaks.verdict) + ScanLine(report);
  const std::vector<analysis::Leak>& leaks = report.leaks.leaks;
  const std::size_t shown = Shown(leaks.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    Append(text, "\n", LeakText(symbols, leaks[i], i + 1, kLeakFrames));
  }
  return text + MoreLine(shown, leaks.size()) + RisingText(symbols, report.leaks.rising);
}

// The sites that allocated most over the whole run.
std::string TrafficSection(const Session& session, analysis::Symbols& symbols, std::size_t top) {
  std::uint32_t layers = analysis::kDeviceLayers;
  const bool framework =
      std::any_of(session.records().begin(), session.records().end(),
                  [](const auto& record) { return record.layer == analysis::Layer::kBlock; });
  if (framework || SamplingOf(session)->always_on) layers |= LayerBit(analysis::Layer::kBlock);
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"allocated", "times", "largest", "layer", "site"});
  const std::vector<analysis::PlaceTraffic> places = TrafficByPlace(session, symbols, layers);
  const std::size_t shown = Shown(places.size(), top);
  for (std::size_t i = 0; i < shown; ++i)
    table.Row({EstimatedBytes(places[i].bytes), EstimatedCount(places[i].count),
               FormatBytes(places[i].largest), std::string(analysis::LayerName(places[i].layer)),
               SiteLabel(symbols, places[i].stack)});
  if (table.empty()) return "  Nothing was allocated.\n";
  return table.Text(kWidth) + MoreLine(shown, places.size());
}

std::string AnomalySection(const Session& session, analysis::Symbols& symbols) {
  std::string text;
  for (const analysis::AnomalyCount& anomaly : analysis::AllAnomalies(session, symbols)) {
    const AnomalyText words = DescribeAnomaly(anomaly.anomaly);
    const bool bad = words.severity == "error" || words.severity == "data loss";
    Append(text, "  ",
           Styled(bad ? Style::kRed : Style::kYellow,
                  Cat(words.name, " ", FormatCount(anomaly.count))),
           " (", words.severity, ")\n", Paragraph(words.advice, 6));
  }
  return text.empty() ? "  None: nothing was lost, and every free found its allocation.\n" : text;
}

std::string ToText(const Session& session, analysis::Symbols& symbols, const Report& report,
                   const analysis::Categories& categories, std::size_t top) {
  std::string text = Cat(RunLines(session, Drawn::kEstimated), Verdict(session, symbols, report),
                         Heading("Devices"), DeviceSection(report));
  if (const std::string processes = ProcessesText(session, report.leaks.leaks); !processes.empty())
    Append(text, Heading("Processes"), processes);
  Append(text, Heading("Where the devices' memory was"), LedgerText(session, report.devices));
  if (const std::string estimates = EstimatesText(report, EstimatesOf(session, symbols, report));
      !estimates.empty())
    Append(text, Heading("Estimates of the stand-in in it"), estimates);
  if (const std::string settings = SettingsText(session); !settings.empty())
    Append(text, Heading("Settings of the allocator"), settings);
  Append(text, Heading("Leaks"), LeakSection(symbols, report, top));
  for (const analysis::Peak& peak : report.peaks) {
    const std::string label = StepLabel(session, peak.step);
    Append(text, Heading(Cat("Live at the peak of device ", peak.device, label)),
           PeakText(session, symbols, peak, top),
           LibrariesText(session, symbols, peak, nullptr, false),
           CategoriesText(session, categories, peak, nullptr));
  }
  const bool estimated = !SamplingOf(session)->drawn.empty();
  Append(text, Heading(Cat("Top call sites over the whole run", estimated ? ", estimated" : "")),
         TrafficSection(session, symbols, top));
  Append(text, Heading(AliveHeading(report.leaks)),
         AliveText(session, symbols, report.leaks.live_at_exit, top, report.steps > 0));
  Append(text, Heading("Fragmentation"),
         FragmentationText(session, symbols, report.fragmentation,
                           top == 0 ? 0 : std::min<std::size_t>(top, 5)));
  Append(text, Heading("Anomalies"), AnomalySection(session, symbols));
  Append(text, Heading("Recorder"), RecorderText(session, report.events));
  if (report.before_attach_blocks > 0)
    Append(text,
           session.run().attached                ? "Before memprof was attached: "
           : session.run().always_on.segment > 1 ? "Alive as this segment begins: "
                                                 : "Before its history begins: ",
           FormatBytes(report.before_attach_bytes), " in ",
           FormatNumberOf(report.before_attach_blocks, "block"), ".\n");
  return text;
}

}  // namespace

int ReportVerb(int argc, char** argv) {
  bool json = false;
  std::int64_t top = 10;
  std::vector<std::string> fail_on;
  Options options(
      "report [OPTION...] LOG...",
      "Shows where the memory went: the peak and what was live then, leaks with their "
      "evidence, the busiest call sites, fragmentation, and what the recording missed.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.report/1).");
  options.Integer("top", &top, "N", "Rows of each table; 0 = all (default 10).");
  options.List("fail-on", &fail_on, "CONDITION",
               "Exit with status 3 and a line on standard error if it holds: peak>20GiB, "
               "reserved>24GiB, live-at-end>1GiB, headroom<2GiB, growth>1MiB/step, "
               "fragmentation>30%, failed>0, or a tier of leaks (definite, suspected, growing). "
               "May be given several times, or with commas.");
  options.Example("memprof report train.mprof", "The whole run on a page or two.");
  options.Example("memprof report rank*.mprof", "All processes of a job as one.");
  options.Example("memprof report --top=30 train.mprof | less -R", "The same with longer tables.");
  options.Example("memprof report --json train.mprof | jq '.devices[0].peak_bytes'",
                  "One figure for a script.");
  options.Example("memprof report --fail-on='peak>20GiB,suspected' train.mprof",
                  "A test that fails when a run needs too much, or leaks.");
  if (const int status = ParseOrExit(options, "report", argc, argv); status >= 0) return status;
  if (top < 0) return UsageError("report", "--top cannot be negative");
  const auto budget = Budget::Parse(fail_on, Compares::kNo);
  if (!budget.ok()) return UsageError("report", analysis::StatusText(budget.status()));
  int status = kExitFine;
  const auto session = OpenWholeLogs(options, "report", &status);
  if (!session) return status;
  analysis::Symbols symbols(session);
  // The two take about the same time, and a loaded session does not change.
  auto figures = std::async(std::launch::async, [&] { return analysis::BuildReport(*session); });
  const analysis::Categories categories(*session, &symbols);
  const Report report = figures.get();
  const auto rows = static_cast<std::size_t>(top);
  const bool written =
      json ? PrintJson(WithSampling(*session, ToJson(*session, symbols, report, categories, rows),
                                    Drawn::kEstimated)) == kExitFine
           : WriteOut(ToText(*session, symbols, report, categories, rows));
  const bool exceeded = ReportViolations(
      session->path(), budget->Violations(CollectFigures(*session, *budget, &report.leaks)));
  if (!written) return kExitFailed;
  return exceeded ? kExitFailOn : kExitFine;
}

}  // namespace memprof::cli
