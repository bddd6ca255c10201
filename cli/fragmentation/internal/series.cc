// The part of `memprof fragmentation` over time.
#include "cli/fragmentation/internal/series.h"

#include <algorithm>

#include "analysis/base/units.h"
#include "analysis/store/private_pools.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/table.h"
#include "cli/console/text.h"
#include "cli/fragmentation/internal/largest.h"
#include "cli/shared/names.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FragmentationPoint;
using analysis::PoolKind;
using analysis::PoolSeries;

std::string PoolName(const PoolSeries& series) {
  if (series.kind == PoolKind::kStreamOrdered)
    return Cat("device ", series.device, " pool ", Hex(series.pool));
  return Cat("device ", series.device,
             series.pool == 0 ? "" : Cat(" ", analysis::PrivatePoolName(series.pool)),
             series.stream == 0 ? "" : Cat(" stream ", Hex(series.stream)),
             series.small_blocks ? " small" : " large");
}

std::uint64_t WorstReserved(const PoolSeries& series) { return series.worst.state.reserved; }

Json PointJson(const FragmentationPoint& point) {
  const analysis::PoolState& state = point.state;
  return {{"begin_ns", point.begin},
          {"end_ns", point.end},
          {"time_ns", point.time},
          {"step", point.step},
          {"reserved_bytes", state.reserved},
          {"allocated_bytes", state.allocated},
          {"free_bytes", state.free()},
          {"pinned_bytes", state.pinned},
          {"largest_hole_bytes", state.largest_hole},
          {"hole_count", state.holes},
          {"rounding_bytes", state.rounding},
          {"external", Number(state.external)},
          {"sum_of_squares", Number(state.sum_of_squares)}};
}

}  // namespace

std::string Sparkline(const std::vector<double>& shares) {
  static constexpr std::string_view kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string line;
  for (const double share : shares) {
    if (share < 0) {
      line += ' ';
      continue;
    }
    const auto bar = static_cast<std::size_t>(std::min(share, 1.0) * 8);
    line += kBars[std::min<std::size_t>(bar, 7)];
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

std::string FragmentationSeriesText(const analysis::Session& session,
                                    const std::vector<PoolSeries>& all) {
  if (all.empty()) return "";
  Table table(
      {Align::kLeft, Align::kRight, Align::kRight, Align::kRight, Align::kRight, Align::kLeft});
  table.Header({"pool, at its worst", "reserved", "pinned", "largest hole", "rounding", "when"});
  const std::vector<const PoolSeries*> listed = Largest(all, WorstReserved);
  for (const PoolSeries* one : listed) {
    const PoolSeries& series = *one;
    const FragmentationPoint& worst = series.worst;
    table.Row({PoolName(series), FormatBytes(worst.state.reserved),
               Cat(FormatBytes(worst.state.pinned), " ",
                   Percent(static_cast<double>(worst.state.pinned),
                           static_cast<double>(worst.state.reserved))),
               series.kind == PoolKind::kSegments ? FormatBytes(worst.state.largest_hole) : "-",
               FormatBytes(worst.state.rounding),
               Cat(Since(session, worst.time), StepLabel(session, worst.step))});
  }
  std::string text = Cat(table.Text(kWidth), MoreLine(listed.size(), all.size()));
  text += "\n  Share of each pool that is free and pinned, over time:\n";
  for (const PoolSeries* series : listed) {
    std::vector<double> shares;
    for (const FragmentationPoint& point : series->points)
      shares.push_back(point.state.reserved == 0 ? -1
                                                 : static_cast<double>(point.state.pinned) /
                                                       static_cast<double>(point.state.reserved));
    const std::string line = Sparkline(shares);
    if (!line.empty()) Append(text, "    ", line, "  ", PoolName(*series), "\n");
  }
  return text;
}

Json FragmentationSeriesJson(const std::vector<PoolSeries>& all) {
  Json list = Json::array();
  for (const PoolSeries* one : Largest(all, WorstReserved)) {
    const PoolSeries& series = *one;
    Json points = Json::array();
    for (const FragmentationPoint& point : series.points) points.push_back(PointJson(point));
    Json json = {{"kind", series.kind == PoolKind::kSegments ? "segments" : "stream-ordered"},
                 {"device", series.device}};
    if (series.kind == PoolKind::kSegments) {
      json["stream"] = Hex(series.stream);
      json["private_pool"] = Hex(series.pool);
      json["small_blocks"] = series.small_blocks;
    } else {
      json["pool"] = Hex(series.pool);
    }
    json["worst"] = PointJson(series.worst);
    json["points"] = std::move(points);
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace memprof::cli
