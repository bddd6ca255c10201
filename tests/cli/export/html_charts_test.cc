// The charts of the page.
#include "cli/export/internal/html_charts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/peak/peak.h"
#include "analysis/testing/log_builder.h"
#include "analysis/timeline/timeline.h"
#include "tests/cli/export/html_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using analysis::testing::RandomLog;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<nlohmann::json> ChartData(const std::string& page) {
  const std::string begin = "<script type=\"application/json\">";
  std::vector<nlohmann::json> charts;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    charts.push_back(nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at)));
  }
  return charts;
}

// The minimum and maximum of every pixel column, against the timeline.
TEST(ExportHtmlTest, NoPeakIsHiddenByThePixels) {
  RandomLog log({.seed = 95, .operations = 6000});
  const auto session = analysis::testing::LoadLog(log.builder());
  ASSERT_GT(session->events().size(), 5000u);  // several in each column
  const std::vector<nlohmann::json> charts = ChartData(ExportPage(log.builder()));
  const auto timelines = analysis::BuildTimelines(*session);
  ASSERT_EQ(charts.size(), timelines.size());
  for (std::size_t i = 0; i < charts.size(); ++i) {
    for (const auto& line : charts[i]["lines"]) {
      const std::string name = line["name"];
      const analysis::Series& series =
          name == "driver"       ? timelines[i].total
          : name == "pools hold" ? timelines[i].reserved
          : name == "segments"   ? timelines[i].framework_reserved
          : name == "blocks"     ? timelines[i].framework_allocated
          : name == "tensors"    ? timelines[i].tensors
                                 : timelines[i].layer[static_cast<int>(
                                    name == "pinned" ? Layer::kPinned : Layer::kRegistered)];
      std::uint64_t most = 0;
      ASSERT_EQ(line["max"].size(), 1110u);
      for (std::size_t column = 0; column < line["max"].size(); ++column) {
        EXPECT_LE(line["min"][column], line["max"][column]);
        most = std::max(most, line["max"][column].get<std::uint64_t>());
      }
      EXPECT_EQ(most, series.max()) << name;
      // The last column ends with the log.
      EXPECT_LE(line["min"].back(), series.values().back());
      EXPECT_GE(line["max"].back(), series.values().back());
    }
  }
}

TEST(ExportHtmlTest, ADrawingReachesItsPeak) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 1000);
  log.AdvanceTime(1'000'000'000);
  log.Alloc(Layer::kLinear, 0x20000, 9000);  // live for a billionth of the run
  log.Free(0x20000);
  log.AdvanceTime(1'000'000'000);
  log.Free(0x10000);
  const auto session = analysis::testing::LoadLog(log);
  const std::string html = TimelineHtml(*session, analysis::BuildTimelines(*session).at(0), 0);
  // 97 % of the 240 pixels above the base line at y = 248 give y = 15.2; a tenth of that gives y =
  // 224.7.
  EXPECT_THAT(html, HasSubstr("V15.2"));
  EXPECT_THAT(html, HasSubstr("V224.7"));
  const nlohmann::json data = ChartData(html).at(0);
  EXPECT_EQ(data["lines"][0]["name"], "driver");
  std::size_t high = 0;
  for (const auto& value : data["lines"][0]["max"]) high += value == 10000;
  EXPECT_EQ(high, 1u);
}

TEST(ExportHtmlTest, CapacityIsDrawnWhereItIsNear) {
  LogBuilder log;
  log.Alloc(Layer::kLinear, 0x10000, 1000);
  const auto session = analysis::testing::LoadLog(log);
  const auto timeline = analysis::BuildTimelines(*session).at(0);
  EXPECT_THAT(TimelineHtml(*session, timeline, 1900), HasSubstr(">capacity 1.86 KiB<"));
  EXPECT_THAT(TimelineHtml(*session, timeline, 1 << 30), Not(HasSubstr("capacity")));
  EXPECT_THAT(TimelineHtml(*session, timeline, 0), Not(HasSubstr("capacity")));
}

TEST(ExportHtmlTest, FlameBoxesAreAsWideAsTheirBytes) {
  RandomLog log({.seed = 96});
  const auto session = analysis::testing::LoadLog(log.builder());
  analysis::Symbols symbols(session);
  const analysis::Peak peak = analysis::FindPeaks(*session).at(0);
  analysis::SiteQuery query;
  query.at = peak.time;
  query.device = peak.device;
  const analysis::FlameTree tree = BuildFlame(*session, symbols, query);
  const std::string html = FlameHtml(tree);
  static const std::regex box("data-x=\"([0-9.]+)\" data-w=\"([0-9.]+)\" data-d=\"([0-9]+)\"");
  std::size_t boxes = 0;
  double leaves = 0;  // widths of one row never overlap
  std::map<int, double> right;
  for (std::sregex_iterator it(html.begin(), html.end(), box), end; it != end; ++it, ++boxes) {
    const double x = std::stod((*it)[1]), w = std::stod((*it)[2]);
    const int depth = std::stoi((*it)[3]);
    EXPECT_GE(x, right[depth] - 0.002);
    right[depth] = x + w;
    EXPECT_LE(right[depth], 100.002);
    if (depth == 1) leaves += w;
  }
  std::size_t wide = 0;
  for (const auto& node : tree.nodes) wide += node.bytes * 1000 >= tree.nodes[0].bytes;
  EXPECT_EQ(boxes, wide);
  EXPECT_GT(boxes, 3u);
  EXPECT_NEAR(leaves, 100, 0.1);
  EXPECT_EQ(FlameHtml({}), "");
}

TEST(ExportHtmlTest, TimesAndSizesThatMakeNoSenseAreDrawn) {
  LogBuilder log;
  log.header().set_start_time_ns(~std::uint64_t{0});
  log.SetTime(~std::uint64_t{0} - 2);
  log.Step(~std::uint64_t{0} >> 1);
  log.Alloc(Layer::kLinear, 0x1000, ~std::uint64_t{0});
  log.Alloc(Layer::kLinear, 0x2000, 5);
  const std::string page = ExportPage(log);
  ParseStrictly(page);
  EXPECT_THAT(page, Not(HasSubstr("nan")));
  EXPECT_THAT(page, Not(HasSubstr("inf")));
  analysis::Leak leak;
  leak.survivors = {{-1, 10, 1}, {INT64_MAX, 20, 1}};
  EXPECT_THAT(SurvivorsHtml(leak), HasSubstr("the highest bar is 20 B"));
  leak.survivors.pop_back();
  EXPECT_EQ(SurvivorsHtml(leak), "");
}

}  // namespace
}  // namespace memprof::cli::testing
