// memprof export --to=html: the report as one self-contained page: verdicts, memory over time,
// leaks, what made the peak, and the rest of `memprof report`.
#include <algorithm>
#include <map>
#include <tuple>

#include "analysis/base/units.h"
#include "analysis/leaks/forecast.h"
#include "analysis/oom/words.h"
#include "analysis/peak/places.h"
#include "analysis/report/report.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/timeline.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"
#include "cli/export/internal/html.h"
#include "cli/export/internal/html_assets.h"
#include "cli/export/internal/html_charts.h"
#include "cli/fragmentation/fragmentation.h"
#include "cli/leaks/leaks.h"
#include "cli/report/ledger.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::Layer;
using analysis::Session;

constexpr std::size_t kRows = 200;  // of each table
constexpr std::size_t kLeaks = 50;
constexpr std::size_t kFrames = 12;

class ReportPage {
 public:
  ReportPage(const Session& session, analysis::Symbols& symbols)
      : session_(session), symbols_(symbols), report_(analysis::BuildReport(session)) {}

  std::string Html() {
    Head();
    Verdicts();
    Timelines();
    Leaks();
    for (const analysis::Peak& peak : report_.peaks) PeakLayer(peak);
    Rest();
    Append(html_, "<script>", kHtmlScript, "</script>\n</body>\n</html>\n");
    return std::move(html_);
  }

 private:
  template <typename... Pieces>
  void Add(const Pieces&... pieces) {
    Append(html_, pieces...);
  }
  void Heading(std::string_view id, std::string_view title) {
    Add("<h2 id=\"", id, "\">", EscapeHtml(title), "</h2>\n");
  }
  // A section of the report for terminals, unchanged.
  void Preformatted(std::string_view text) {
    Add("<pre>", EscapeHtml(WithoutColour(text)), "</pre>\n");
  }
  void More(std::size_t shown, std::size_t total) {
    if (shown < total)
      Add("<p class=\"faint\">… and ", FormatCount(total - shown), " more that are smaller.</p>\n");
  }

  void Head() {
    const std::string lines = WithoutColour(RunLines(session_, Drawn::kEstimated));
    const std::size_t first = lines.find('\n');
    const std::string title = lines.substr(0, first);
    Add("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'\">\n",
        "<meta name=\"viewport\" content=\"width=device-width\">\n<title>memprof: ",
        EscapeHtml(title), "</title>\n<style>", kHtmlStyle, "</style>\n</head>\n<body>\n<h1>",
        EscapeHtml(title), "</h1>\n<p class=\"faint run\">",
        EscapeHtml(first == std::string::npos ? "" : lines.substr(first + 1)), "</p>\n<nav>",
        "<a href=\"#time\">over time</a>", "<a href=\"#leaks\">leaks</a>");
    for (const analysis::Peak& peak : report_.peaks) {
      Add("<a href=\"#peak", peak.device, "\">peak of device ", peak.device, "</a>");
    }
    Add("<a href=\"#alive\">alive at the end</a><a href=\"#fragmentation\">fragmentation</a>",
        "<a href=\"#recorder\">recorder</a></nav>\n");
  }

  void Verdict(std::string_view kind, const std::string& text) {
    Add("<p class=\"verdict ", kind, "\">", EscapeHtml(text), "</p>\n");
  }
  void Verdicts() {
    for (const analysis::Peak& peak : report_.peaks) {
      const std::uint64_t blocks = peak.by_layer[static_cast<std::size_t>(analysis::Layer::kBlock)];
      const bool has_driver_memory = peak.bytes > 0 || blocks == 0;
      Verdict("", Cat("Peak ", FormatBytes(has_driver_memory ? peak.bytes : blocks),
                      has_driver_memory ? "" : " of blocks", " on device ", peak.device,
                      StepLabel(session_, peak.step), ", after ", Since(session_, peak.time)));
    }
    if (report_.peaks.empty()) Verdict("", "No device memory was allocated.");
    if (const auto failures = analysis::FailuresOf(session_); !failures->empty())
      Verdict("bad", Cat(analysis::FailureCountWords(*failures), "."));
    const bool leaks = !report_.leaks.leaks.empty();
    Verdict(leaks ? "bad" : report_.leaks.horizon_too_short ? "warn" : "", report_.leaks.verdict);
    if (report_.events.lost > 0) {
      Verdict("warn", Cat(FormatNumberOf(report_.events.lost, "event"),
                          " were lost in recording: ", "figures may be too low."));
    }
  }

  void Timelines() {
    Heading("time", "Memory over time");
    const auto timelines = analysis::TimelinesOf(session_);
    for (const analysis::DeviceTimeline& device : *timelines) {
      std::string name = device.device == analysis::kNoDevice ? std::string("Host memory")
                                                              : Cat("Device ", device.device);
      std::uint64_t capacity = 0;
      for (const analysis::DeviceFigures& figures : report_.devices) {
        if (figures.info.id != device.device) continue;
        capacity = figures.info.capacity_bytes;
        if (!figures.info.name.empty()) Append(name, ": ", figures.info.name);
        if (capacity > 0) Append(name, ", ", FormatBytes(capacity));
      }
      Add("<h3>", EscapeHtml(name), "</h3>\n", TimelineHtml(session_, device, capacity));
    }
  }

  void Leaks() {
    Heading("leaks", "Leaks");
    Add("<p>", EscapeHtml(report_.leaks.verdict), "</p>\n");
    const std::vector<analysis::Leak>& leaks = report_.leaks.leaks;
    const std::size_t shown = std::min(leaks.size(), kLeaks);
    for (std::size_t i = 0; i < shown; ++i) Leak(leaks[i]);
    More(shown, leaks.size());
  }
  void Leak(const analysis::Leak& leak) {
    const std::string_view tier = analysis::LeakTierName(leak.tier);
    Add("<div class=\"leak\">\n<p><span class=\"tier ", tier, "\">", tier,
        "</span>: ", LeakSize(leak), " at <b>", EscapeHtml(SiteLabel(symbols_, leak.stack)),
        "</b></p>\n<dl>");
    Fact("held",
         Cat(FormatBytes(leak.bytes), " in ", FormatNumberOf(leak.blocks, "block"), " (",
             analysis::LayerName(leak.layer), ", ",
             leak.device == analysis::kNoDevice ? "host" : Cat("device ", leak.device), ")"));
    if (leak.steps_to_oom >= 0) Fact("out of memory", analysis::StepsAhead(leak.steps_to_oom));
    Fact("why", leak.why);
    Fact("doubt", leak.disproof);
    Add("</dl>\n", SurvivorsHtml(leak));
    const std::string stack = StackLines(symbols_, leak.stack, 0, kFrames);
    if (!stack.empty()) Preformatted(stack);
    Add("</div>\n");
  }
  void Fact(std::string_view name, const std::string& text) {
    if (!text.empty()) Add("<dt>", name, "</dt><dd>", EscapeHtml(text), "</dd>\n");
  }

  void PeakLayer(const analysis::Peak& peak) {
    Heading(Cat("peak", peak.device),
            Cat("Live at the peak of device ", peak.device, StepLabel(session_, peak.step)));
    HtmlTable layers({{"layer"}, {"bytes", HtmlTable::Kind::kNumber}});
    for (std::size_t i = 0; i < peak.by_layer.size(); ++i) {
      if (peak.by_layer[i] == 0) continue;
      layers.Text(analysis::LayerName(static_cast<Layer>(i)));
      layers.Number(peak.by_layer[i], FormatBytes(peak.by_layer[i])).EndRow();
    }
    Add(layers.Html());
    // Blocks if there are any: driver memory then consists mostly of segments.
    const bool blocks = !peak.blocks.empty();
    analysis::SiteQuery query;
    query.at = peak.time;
    query.device = peak.device;
    if (blocks) query.layers = LayerBit(Layer::kBlock);
    Add("<h3>By call stack, ", blocks ? "blocks of the allocator" : "driver memory",
        "</h3>\n<p class=\"faint\">Click a box to look closer, the top one to go back.</p>\n",
        FlameHtml(BuildFlame(session_, symbols_, query)));
    if (blocks) Sites("blocks of the allocator", FindSites(session_, query));
    Sites("what the program requested from the driver", peak.sites);
    Tensors(peak.tensors);
  }

  void Sites(std::string_view what, const std::vector<analysis::Site>& sites) {
    const std::vector<analysis::Place> places = JoinByPlace(symbols_, sites, session_);
    if (places.empty()) return;
    HtmlTable table({{"bytes", HtmlTable::Kind::kNumber},
                     {"blocks", HtmlTable::Kind::kNumber},
                     {"largest", HtmlTable::Kind::kNumber},
                     {"site"}});
    const std::size_t shown = std::min(places.size(), kRows);
    for (std::size_t i = 0; i < shown; ++i) {
      const std::uint64_t largest = session_.record(places[i].largest).bytes;
      table.Number(places[i].bytes, FormatBytes(places[i].bytes));
      table.Number(places[i].blocks, FormatCount(places[i].blocks));
      table.Number(largest, FormatBytes(largest))
          .Text(SiteLabel(symbols_, places[i].stack))
          .EndRow();
    }
    Add("<h3>By call site, ", what, "</h3>\n", table.Html());
    More(shown, places.size());
  }

  // Tensors of one name and shape are one row.
  void Tensors(const std::vector<analysis::AllocationId>& tensors) {
    struct Alike {
      std::uint64_t bytes = 0, count = 0;
      analysis::AllocationId first;
    };
    std::map<std::tuple<std::string, std::string>, Alike> groups;
    for (const analysis::AllocationId id : tensors) {
      const analysis::TensorInfo* tensor = session_.tensor(session_.allocation(id).tensor);
      Alike& group = groups[{TensorName(tensor), TensorShape(tensor)}];
      group.bytes += session_.record(id).bytes;
      if (group.count++ == 0) group.first = id;
    }
    if (groups.empty()) return;
    using Row = std::pair<std::tuple<std::string, std::string>, Alike>;
    std::vector<Row> rows(groups.begin(), groups.end());
    std::stable_sort(rows.begin(), rows.end(),
                     [](const Row& a, const Row& b) { return a.second.bytes > b.second.bytes; });
    HtmlTable table({{"bytes", HtmlTable::Kind::kNumber},
                     {"count", HtmlTable::Kind::kNumber},
                     {"tensor"},
                     {"shape"},
                     {"site of the first"}});
    const std::size_t shown = std::min(rows.size(), kRows);
    for (std::size_t i = 0; i < shown; ++i) {
      const auto& [key, group] = rows[i];
      table.Number(group.bytes, FormatBytes(group.bytes));
      table.Number(group.count, FormatCount(group.count)).Text(std::get<0>(key));
      table.Text(std::get<1>(key)).Text(SiteLabel(symbols_, session_.record(group.first).stack));
      table.EndRow();
    }
    Add("<h3>Tensors, those of one name and shape together</h3>\n", table.Html());
    More(shown, rows.size());
  }

  void Rest() {
    Heading("alive", AliveHeading(report_.leaks));
    Preformatted(
        AliveText(session_, symbols_, report_.leaks.live_at_exit, kRows, report_.steps > 0));
    Heading("fragmentation", "Fragmentation");
    Preformatted(FragmentationText(session_, symbols_, report_.fragmentation, 10));
    Heading("ledger", "Where the devices' memory was");
    Preformatted(LedgerText(session_, report_.devices));
    if (const std::string estimates =
            EstimatesText(report_, EstimatesOf(session_, symbols_, report_));
        !estimates.empty()) {
      Heading("estimates", "Estimates of the stand-in in it");
      Preformatted(estimates);
    }
    Heading("anomalies", "Anomalies");
    HtmlTable table({{"count", HtmlTable::Kind::kNumber}, {"anomaly"}, {"severity"}, {"advice"}});
    for (const analysis::AnomalyCount& anomaly : analysis::AllAnomalies(session_, symbols_)) {
      const AnomalyText words = DescribeAnomaly(anomaly.anomaly);
      table.Number(anomaly.count, FormatCount(anomaly.count)).Text(words.name);
      table.Text(words.severity).Text(words.advice).EndRow();
    }
    Add(table.empty() ? "<p>None: nothing was lost, and every free found its allocation.</p>\n"
                      : table.Html());
    Heading("recorder", "Recorder");
    Preformatted(RecorderText(session_, report_.events));
  }

  const Session& session_;
  analysis::Symbols& symbols_;
  const analysis::Report report_;
  std::string html_;
};

}  // namespace

bool ExportHtml(const ExportInput& input, OutputFile& output) {
  analysis::Symbols symbols(input.session);
  return output.Write(ReportPage(*input.session, symbols).Html());
}

}  // namespace memprof::cli
