// The text of `memprof footprint`.
#include "cli/replay/internal/footprint_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "analysis/base/units.h"
#include "analysis/symbols/site_key.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/replay/internal/replay_text.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::Footprint;
using analysis::FootprintLimit;
using analysis::FootprintPrediction;
using analysis::FootprintRun;
using analysis::FootprintSite;
using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::FormatNumberOf;
using analysis::Growth;

// "+1.2 %" of the recorded value.
std::string Off(std::uint64_t predicted, std::uint64_t recorded) {
  if (recorded == 0) return "-";
  const double share = 100 * (static_cast<double>(predicted) - static_cast<double>(recorded)) /
                       static_cast<double>(recorded);
  if (predicted == recorded) return "exact";
  char text[32];
  std::snprintf(text, sizeof text, "%+.2f %%", share);
  return text;
}

std::string RunsText(const Footprint& footprint, const std::vector<std::string>& logs) {
  const bool reserved = footprint.HasAllocator();
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kRight,
               Align::kRight, Align::kLeft});
  table.Header({"batch", "requests", "driver", reserved ? "reserved" : "requested", "replayed",
                "from the others", "log"});
  for (std::size_t i = 0; i < footprint.runs().size(); ++i) {
    const FootprintRun& run = footprint.runs()[i];
    const auto figure = [reserved](const analysis::FootprintPeaks& peaks) {
      return reserved ? peaks.reserved : peaks.requested;
    };
    table.Row({FormatCount(run.batch), FormatCount(run.requests), FormatBytes(run.recorded.driver),
               FormatBytes(figure(run.recorded)), Off(figure(run.replayed), figure(run.recorded)),
               run.checked ? Off(figure(run.check.peaks), figure(run.recorded)) : "-",
               CutFront(Printable(logs[i]), 32)});
  }
  std::string text = table.Text(kWidth);
  if (footprint.uncertain()) {
    text += Paragraph(
        "The replayed peaks differ from the recorded ones: the program's allocator is not known "
        "exactly, and predictions are uncertain by as much. If you know the allocator, name it "
        "with --recorded.");
  }
  return text;
}

std::string GrowthText(const Footprint& footprint) {
  double fixed = 0, per_unit = 0, per_square = 0;
  std::uint64_t irregular = 0;
  for (const FootprintSite& site : footprint.sites()) {
    fixed += site.fixed;
    per_unit += site.per_unit;
    per_square += site.per_square;
    if (site.growth == Growth::kIrregular) irregular += site.bytes;
  }
  std::string line =
      Cat("At the largest run's peak of requests, ", FormatBytes(std::max(0.0, fixed)),
          " do not depend on the input, and each unit of it takes ",
          FormatBytes(std::max(0.0, per_unit)));
  if (per_square >= 1) Append(line, ", and ", FormatBytes(per_square), " times its square");
  line += ".";
  const analysis::FootprintGrowth& growth = footprint.growth();
  Append(line, " Of its ", FormatNumberOf(footprint.runs().back().requests, "request"), ", ",
         FormatCount(growth.constant), " are of one size in all runs and ",
         FormatCount(growth.linear), " grow in proportion");
  if (growth.quadratic > 0) Append(line, ", ", FormatCount(growth.quadratic), " with the square");
  if (growth.irregular > 0) {
    Append(line, ", ", FormatCount(growth.irregular),
           " irregularly (call sites with such requests hold ", FormatBytes(irregular), " there)");
  }
  if (growth.unknown > 0)
    Append(line, ", ", FormatCount(growth.unknown), " are in no other run and count as they are");
  return Paragraph(line + ".");
}

std::string FailureOf(const FootprintPrediction& prediction) {
  if (prediction.failed_bytes == 0) return "memory outside the allocator is too much";
  return Cat("a request of ", FormatBytes(prediction.failed_bytes), " fails");
}

// If the peak exceeds the capacity, how it fits all the same.
std::string FitsText(const FootprintAnswer& answer, const FootprintPrediction& prediction) {
  if (!prediction.fits) return Cat("no: ", FailureOf(prediction));
  const std::uint64_t overhead = answer.footprint->overhead();
  if (prediction.peaks.driver + overhead <= answer.capacity) return "yes";
  return Cat("yes, in ", FormatBytes(prediction.held), ": cached memory is released");
}

std::string PredictionsText(const FootprintAnswer& answer) {
  if (answer.predictions.empty()) return "";
  const bool reserved = answer.footprint->HasAllocator();
  const bool known = answer.capacity > 0;
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"batch", "driver", reserved ? "reserved" : "", "requested",
                known ? Cat("fits ", FormatBytes(answer.capacity)) : ""});
  for (const FootprintPrediction& prediction : answer.predictions) {
    const std::string range = Cat(" ± ", FormatBytes(prediction.range));
    table.Row({FormatCount(prediction.batch),
               Cat(FormatBytes(prediction.peaks.driver), reserved ? "" : range),
               reserved ? Cat(FormatBytes(prediction.peaks.reserved), range) : "",
               FormatBytes(prediction.peaks.requested), known ? FitsText(answer, prediction) : ""});
  }
  return Cat("\n  Predicted peaks:\n", table.Text(kWidth));
}

// What a larger device would show for the same size, if that differs.
std::string HowHeld(const FootprintPrediction& prediction) {
  if (prediction.held >= prediction.peaks.driver) return "";
  return Cat(" (on a larger device it would keep ", FormatBytes(prediction.peaks.driver), ")");
}

std::string LimitText(const FootprintAnswer& answer) {
  if (answer.capacity == 0) return "";
  const FootprintLimit& limit = answer.limit;
  std::string line;
  if (limit.unbounded) {
    Append(line, "According to these runs, every size fits into ", FormatBytes(answer.capacity),
           ": what is live at a time does not grow with it.");
  } else if (!limit.any) {
    Append(line, "No size fits into ", FormatBytes(answer.capacity), ": with ",
           FormatCount(limit.beyond.batch), ", ", FailureOf(limit.beyond), ".");
  } else {
    Append(line, "Largest that fits into ", FormatBytes(answer.capacity), ": ",
           Styled(Style::kBold, FormatCount(limit.batch)), ", with a peak of ",
           FormatBytes(limit.at.held), HowHeld(limit.at), ". With ",
           FormatCount(limit.beyond.batch), ", ", FailureOf(limit.beyond), ".");
  }
  const std::uint64_t overhead = answer.footprint->overhead();
  if (overhead > 0) {
    Append(line, " Contexts and code take ", FormatBytes(overhead),
           " of it, as the last sample of the device's use shows.");
  }
  return Cat("\n", Paragraph(line));
}

std::string SitesText(const Footprint& footprint, analysis::Symbols& symbols, std::size_t top) {
  struct Row {
    std::string site;
    std::uint64_t bytes = 0;
    double fixed = 0, per_unit = 0;
    Growth growth = Growth::kConstant;
  };
  std::vector<Row> rows;
  std::map<std::string, std::size_t> index;
  for (const FootprintSite& site : footprint.sites()) {
    const auto [it, fresh] = index.try_emplace(analysis::SiteKey(symbols, site.stack), rows.size());
    if (fresh) rows.push_back({SiteLabel(symbols, site.stack)});
    Row& row = rows[it->second];
    row.bytes += site.bytes;
    row.fixed += site.fixed;
    row.per_unit += site.per_unit;
    row.growth = std::max(row.growth, site.growth);
  }
  if (rows.empty()) return "";
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.bytes > b.bytes; });
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"bytes", "fixed", "per unit", "growth", "site"});
  const std::size_t shown = Shown(rows.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const Row& row = rows[i];
    const auto bytes = [](double value) {
      return std::abs(value) < 0.5 ? std::string("-") : FormatBytes(std::max(0.0, value));
    };
    table.Row({FormatBytes(row.bytes), bytes(row.fixed), bytes(row.per_unit),
               std::string(GrowthName(row.growth)), row.site});
  }
  return Cat("\n  What is live there, by call site:\n", table.Text(kWidth),
             MoreLine(shown, rows.size()));
}

}  // namespace

std::string FootprintText(const FootprintAnswer& answer, analysis::Symbols& symbols,
                          const std::vector<std::string>& logs, std::size_t top) {
  const Footprint& footprint = *answer.footprint;
  const std::string title =
      Cat("Device ", footprint.device(), ": ", FormatNumberOf(footprint.runs().size(), "run"), ", ",
          RequestSourceName(footprint.source()), ", replayed as ",
          analysis::allocators::SpecName(footprint.spec()));
  return Cat(Heading(title), RunsText(footprint, logs), PredictionsText(answer), LimitText(answer),
             "\n", GrowthText(footprint), SitesText(footprint, symbols, top));
}

}  // namespace memprof::cli
