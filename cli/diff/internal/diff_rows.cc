// The rows of comparisons, for text and for Markdown.
#include "cli/diff/internal/diff_rows.h"

#include <cmath>
#include <cstdio>

#include "analysis/base/units.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::DiffFigure;
using analysis::DiffFigureKind;
using analysis::DiffReport;
using analysis::DiffSite;
using analysis::FormatBytes;
using analysis::FormatCount;

std::string_view Title(DiffFigureKind kind, bool moments) {
  switch (kind) {
    case DiffFigureKind::kPeak:
      return "peak";
    case DiffFigureKind::kReserved:
      return moments ? "reserved" : "peak reserved";
    case DiffFigureKind::kLive:
      return moments ? "live" : "live at the end";
    case DiffFigureKind::kFragmentation:
      return moments ? "free share of segments" : "free share of segments at their peak";
    case DiffFigureKind::kGrowth:
      return "growth per step";
    case DiffFigureKind::kStepTime:
      return "time of a step";
    case DiffFigureKind::kStepBytes:
      return "allocated in a step";
    case DiffFigureKind::kStepCount:
      return "allocations in a step";
    case DiffFigureKind::kSteps:
      break;
  }
  return "steps";
}

std::string Value(DiffFigureKind kind, double value) {
  char text[32];
  switch (kind) {
    case DiffFigureKind::kFragmentation:
      std::snprintf(text, sizeof text, "%.3g %%", value);
      return text;
    case DiffFigureKind::kStepTime:
      return analysis::FormatDuration(static_cast<analysis::TimeNs>(value));
    case DiffFigureKind::kStepCount:
    case DiffFigureKind::kSteps:
      return FormatCount(static_cast<std::uint64_t>(value));
    default:
      return FormatBytes(value);
  }
}

std::string Relative(double before, double after) {
  if (before == 0) return after == 0 ? "" : "new";
  char text[32];
  std::snprintf(text, sizeof text, "%+.3g %%", 100 * (after - before) / before);
  return text;
}

std::string Mark(const DiffReport& report, const DiffSite& site, bool moments) {
  const analysis::AlignedPlace& place = report.alignment.places[site.place];
  std::string mark;
  if (site.fresh) mark = "new";
  if (site.gone) mark = "gone";
  if (site.within_variation()) mark = "within variation";
  if (!moments && place.match == analysis::MatchKind::kFolded && mark.empty()) mark = "folded";
  return mark;
}

}  // namespace

std::string SiteName(const DiffReport& report, const DiffSite& site) {
  const analysis::SourceFrame& frame = report.alignment.places[site.place].site;
  return frame.function.empty() ? "(no call stack)" : FrameLabel(frame);
}

std::vector<FigureRow> FigureRows(const DiffReport& report, bool moments) {
  std::vector<FigureRow> rows;
  for (const DiffFigure& figure : report.figures) {
    if (figure.before == 0 && figure.after == 0) continue;
    const double change = figure.change();
    const std::string words = Cat(change < 0 ? "-" : "+", Value(figure.kind, std::abs(change)));
    rows.push_back(
        {Cat(Title(figure.kind, moments),
             figure.device == analysis::kNoDevice ? "" : Cat(", device ", figure.device)),
         Value(figure.kind, figure.before), Value(figure.kind, figure.after),
         change == 0 ? "=" : words,
         change == 0 || figure.kind == DiffFigureKind::kFragmentation
             ? ""
             : Relative(figure.before, figure.after),
         figure.within_variation() ? "within variation" : ""});
  }
  return rows;
}

SiteRows MakeSiteRows(const DiffReport& report, bool moments, std::uint64_t threshold,
                      std::size_t top) {
  SiteRows found;
  for (const DiffSite& site : report.sites) {
    if (site.size() == 0) continue;
    if (site.size() < threshold) {
      ++found.small;
      continue;
    }
    ++found.total;
    if (top != 0 && found.rows.size() >= top) continue;
    const auto count = static_cast<std::int64_t>(site.after_count - site.before_count);
    found.rows.push_back({Cat(site.after > site.before ? "+" : "-", FormatBytes(site.size())),
                          FormatBytes(site.before), FormatBytes(site.after),
                          count == 0 ? std::string("=") : Cat(count > 0 ? "+" : "", count),
                          Mark(report, site, moments), SiteName(report, site)});
  }
  return found;
}

std::string_view SitesTitle(const DiffSides& sides) {
  if (sides.moments) return "Live memory by call site";
  return sides.at_end ? "Live at the end, by call site" : "Live at the peaks, by call site";
}

}  // namespace memprof::cli
