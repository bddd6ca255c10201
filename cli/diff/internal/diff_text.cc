// The sections of `memprof diff`.
#include "cli/diff/internal/diff_text.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "analysis/base/units.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/diff/internal/diff_rows.h"
#include "cli/shared/names.h"
#include "cli/shared/object_json.h"

namespace memprof::cli {
namespace {

using analysis::DiffFigure;
using analysis::DiffFigureKind;
using analysis::DiffReport;
using analysis::DiffSite;
using analysis::FormatBytes;
using analysis::FormatCount;

std::string FigureTable(const DiffReport& report, const DiffSides& sides) {
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"", "before", "after", "change", "", ""});
  for (FigureRow& row : FigureRows(report, sides.moments)) table.Row(std::move(row));
  return table.Text(kWidth);
}

std::string SiteTable(const DiffReport& report, const DiffSides& sides, std::uint64_t threshold,
                      std::size_t top) {
  Table table(
      {Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"change", "before", "after", "blocks", "", "site"});
  SiteRows sites = MakeSiteRows(report, sides.moments, threshold, top);
  const std::size_t shown = sites.rows.size();
  for (std::vector<std::string>& row : sites.rows) table.Row(std::move(row));
  std::string text = table.empty() ? "  No call site holds more or less.\n" : table.Text(kWidth);
  Append(text, MoreLine(shown, sites.total));
  if (sites.small > 0)
    Append(text, "  ", analysis::FormatNumberOf(sites.small, "site"), " changed by less than ",
           FormatBytes(threshold), " (--threshold).\n");
  return text;
}

std::string TrafficTable(const DiffReport& report, std::size_t top) {
  std::vector<const DiffSite*> sites;
  for (const DiffSite& site : report.sites)
    if (site.before_step != site.after_step) sites.push_back(&site);
  std::stable_sort(sites.begin(), sites.end(), [](const DiffSite* a, const DiffSite* b) {
    return std::abs(a->after_step - a->before_step) > std::abs(b->after_step - b->before_step);
  });
  if (sites.empty()) return "";
  Table table({Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"change", "before", "after", "site"});
  const std::size_t shown = Shown(sites.size(), top);
  for (std::size_t i = 0; i < shown; ++i) {
    const DiffSite& site = *sites[i];
    const double change = site.after_step - site.before_step;
    table.Row({Cat(change > 0 ? "+" : "-", FormatBytes(std::abs(change))),
               FormatBytes(site.before_step), FormatBytes(site.after_step),
               SiteName(report, site)});
  }
  return Cat(Heading("Allocated in a step, by call site"), table.Text(kWidth),
             MoreLine(shown, sites.size()));
}

std::string GrowthTable(const DiffReport& report) {
  Table table({Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"before", "after", "site"});
  for (const DiffSite& site : report.sites)
    if (site.before_growth != 0 || site.after_growth != 0)
      table.Row({FormatBytes(site.before_growth), FormatBytes(site.after_growth),
                 SiteName(report, site)});
  return table.empty() ? "" : Cat(Heading("Growth per step of leaks"), table.Text(kWidth));
}

std::string StepLines(const DiffReport& report) {
  if (report.steps.empty()) return "";
  if (!report.first_difference)
    return Cat("\n  ", analysis::FormatNumberOf(report.steps.size(), "step"),
               " compared; no step's highest use differs by more than steps of one run do.\n");
  const analysis::DiffStep& step = report.steps[*report.first_difference];
  return Cat("\n  ", analysis::FormatNumberOf(report.steps.size(), "step"),
             " compared; the first whose highest use differs beyond the variation from step to "
             "step\n  is step ",
             step.after, ": ", FormatBytes(step.before_peak), ", then ",
             FormatBytes(step.after_peak), ".\n");
}

std::string_view MatchName(analysis::MatchKind kind) {
  switch (kind) {
    case analysis::MatchKind::kLines:
      return "lines";
    case analysis::MatchKind::kFunctions:
      return "functions";
    case analysis::MatchKind::kFolded:
      break;
  }
  return "folded";
}

}  // namespace

std::string DiffText(const DiffReport& report, const DiffSides& sides, std::uint64_t threshold,
                     std::size_t top) {
  std::string text =
      Cat("  before  ", CutFront(Printable(sides.before), kWidth - 10), "\n  after   ",
          CutFront(Printable(sides.after), kWidth - 10), "\n\n", FigureTable(report, sides));
  if (!sides.moments) Append(text, StepLines(report));
  Append(text, Heading(SitesTitle(sides)), SiteTable(report, sides, threshold, top));
  if (!sides.moments) Append(text, GrowthTable(report), TrafficTable(report, top));
  return text;
}

Json DiffJson(const DiffReport& report, std::uint64_t threshold) {
  Json figures = Json::array(), sites = Json::array();
  for (const DiffFigure& figure : report.figures) {
    Json json = {{"name", analysis::DiffFigureName(figure.kind)}};
    if (figure.device != analysis::kNoDevice) json["device"] = figure.device;
    json["before"] = Number(figure.before);
    json["after"] = Number(figure.after);
    json["change"] = Number(figure.change());
    json["variation"] = Number(figure.variation);
    json["within_variation"] = figure.within_variation();
    figures.push_back(std::move(json));
  }
  for (const DiffSite& site : report.sites) {
    if (site.size() < threshold && site.before_step == site.after_step &&
        site.before_growth == site.after_growth)
      continue;
    const analysis::AlignedPlace& place = report.alignment.places[site.place];
    sites.push_back({{"site", SiteName(report, site)},
                     {"site_frame", FrameJson(place.site)},
                     {"match", MatchName(place.match)},
                     {"new", site.fresh},
                     {"gone", site.gone},
                     {"before_bytes", site.before},
                     {"after_bytes", site.after},
                     {"before_blocks", site.before_count},
                     {"after_blocks", site.after_count},
                     {"variation_bytes", site.variation},
                     {"within_variation", site.within_variation()},
                     {"before_step_bytes", Number(site.before_step)},
                     {"after_step_bytes", Number(site.after_step)},
                     {"before_growth", Number(site.before_growth)},
                     {"after_growth", Number(site.after_growth)}});
  }
  Json json = {{"figures", std::move(figures)}, {"sites", std::move(sites)}};
  if (report.first_difference) json["first_difference"] = *report.first_difference;
  return json;
}

Json DiffStepJson(const analysis::DiffStep& step) {
  return {{"before", step.before},
          {"after", step.after},
          {"before_peak_bytes", step.before_peak},
          {"after_peak_bytes", step.after_peak},
          {"before_time_ns", step.before_time},
          {"after_time_ns", step.after_time}};
}

}  // namespace memprof::cli
