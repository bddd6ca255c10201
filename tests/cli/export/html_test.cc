// export --to=html: one page that is well formed, loads nothing, shows the peak, and takes nothing
// that a log says for markup.
#include "cli/export/internal/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <regex>

#include "analysis/peak/peak.h"
#include "analysis/testing/log_builder.h"
#include "analysis/timeline/timeline.h"
#include "cli/export/internal/html_assets.h"
#include "cli/export/internal/html_charts.h"
#include "tests/cli/cli_test_support.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using analysis::testing::RandomLog;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string ExportPage(const LogBuilder& log) {
  const analysis::testing::TempDirectory directory;
  const Result result =
      Memprof({"export", "--to=html", "-o", "-", directory.Write("in.mprof", log.Bytes())}, ".",
              {"FORCE_COLOR=1"});
  EXPECT_EQ(result.status, 0) << result.err;
  return result.out;
}

struct Tag {
  std::string name;
  std::string attributes;
};

// name="value" any number of times, with nothing between the quotes that would end them.
bool AreQuoted(std::string_view attributes) {
  for (;;) {
    const std::size_t begin = attributes.find_first_not_of(" \n");
    if (begin == std::string_view::npos || attributes.substr(begin) == "/") return true;
    if (begin == 0) return attributes.empty();
    attributes.remove_prefix(begin);
    const std::size_t equals = attributes.find("=\"");
    if (equals == std::string_view::npos || equals == 0) return false;
    for (const char c : attributes.substr(0, equals)) {
      if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-') return false;
    }
    const std::size_t end = attributes.find('"', equals + 2);
    if (end == std::string_view::npos) return false;
    if (attributes.substr(0, end).find('<') != std::string_view::npos) return false;
    attributes.remove_prefix(end + 1);
    if (attributes == "/") return true;
  }
}

// Reads a page as strictly as a reader of XML would: every element is closed in order (but for
// those that HTML leaves open), every attribute is quoted. What scripts and styles hold is skipped.
std::vector<Tag> ParseStrictly(const std::string& page) {
  std::vector<Tag> tags;
  std::vector<std::string> open;
  for (std::size_t at = page.find('<'); at != std::string::npos; at = page.find('<', at)) {
    const std::size_t end = page.find('>', at);
    if (end == std::string::npos) {
      ADD_FAILURE() << "a tag is not closed";
      return tags;
    }
    const std::string inside = page.substr(at + 1, end - at - 1);
    at = end + 1;
    if (inside == "!DOCTYPE html") continue;
    if (inside[0] == '/') {
      EXPECT_FALSE(open.empty());
      if (open.empty()) return tags;
      EXPECT_EQ(inside.substr(1), open.back());
      open.pop_back();
      continue;
    }
    const std::size_t name_end = std::min(inside.find_first_of(" \n/"), inside.size());
    Tag tag = {inside.substr(0, name_end), inside.substr(name_end)};
    EXPECT_TRUE(AreQuoted(tag.attributes)) << inside;
    const bool alone = inside.back() == '/' || tag.name == "meta";
    if (!alone) open.push_back(tag.name);
    if (tag.name == "script" || tag.name == "style") at = page.find("</" + tag.name, at);
    tags.push_back(std::move(tag));
  }
  EXPECT_TRUE(open.empty()) << open.back();
  return tags;
}

std::vector<nlohmann::json> ChartData(const std::string& page) {
  const std::string begin = "<script type=\"application/json\">";
  std::vector<nlohmann::json> charts;
  for (std::size_t at = page.find(begin); at != std::string::npos; at = page.find(begin, at)) {
    at += begin.size();
    charts.push_back(nlohmann::json::parse(page.substr(at, page.find("</script>", at) - at)));
  }
  return charts;
}

TEST(ExportHtmlTest, IsWellFormedAndLoadsNothing) {
  LogBuilder training, raw, shared;
  WriteTraining(training);
  WriteRaw(raw);
  WriteShared(shared);
  for (const LogBuilder* log : {&training, &raw, &shared}) {
    const std::string page = ExportPage(*log);
    for (const Tag& tag : ParseStrictly(page)) {
      EXPECT_THAT(tag.name, Not(AnyOf("link", "img", "iframe", "object", "base")));
      EXPECT_THAT(tag.attributes, Not(HasSubstr("src=")));
      EXPECT_THAT(tag.attributes, Not(HasSubstr(" on")));
      EXPECT_TRUE(tag.name != "a" || tag.attributes.starts_with(" href=\"#")) << tag.attributes;
    }
    EXPECT_THAT(page, Not(HasSubstr("://")));
    EXPECT_THAT(page, Not(HasSubstr("url(")));
    EXPECT_THAT(page, Not(HasSubstr("@import")));
    EXPECT_THAT(page, HasSubstr("default-src 'none'"));
    EXPECT_EQ(page.find('\033'), std::string::npos);  // not even where colour is forced
  }
}

// As all of memprof does: "us".
TEST(ExportHtmlTest, NamesMicrosecondsAsTheReportDoes) {
  EXPECT_EQ(std::string_view(kHtmlScript).find("\xc2\xb5s"), std::string_view::npos);
  EXPECT_NE(std::string_view(kHtmlScript).find("\" us\""), std::string_view::npos);
}

TEST(ExportHtmlTest, TellsTheVerdicts) {
  LogBuilder log;
  WriteTraining(log);
  const std::string page = ExportPage(log);
  EXPECT_THAT(page, HasSubstr("<title>memprof: train_gpt --steps=40</title>"));
  EXPECT_THAT(page, HasSubstr("Peak 64.0 MiB on device 0 at step 39"));
  EXPECT_THAT(page, HasSubstr("1 request for memory failed."));
  EXPECT_THAT(page, HasSubstr("1.00 MiB per step at <b>HistoryLeak (history.cc:42)</b>"));
  EXPECT_THAT(page, HasSubstr("survivors by step of birth, 0 to 39; the highest bar is 1.00 MiB"));
  EXPECT_THAT(page, HasSubstr("HistoryLeak at history.cc:42\nTrainStep at train.cc:77\n"));
  EXPECT_THAT(page, HasSubstr("<h2 id=\"peak1\">Live at the peak of device 1"));
  EXPECT_THAT(page, HasSubstr("<td>loss_history</td>"));
}

// Least and most of every pixel column, against the timeline itself.
TEST(ExportHtmlTest, NoPeakIsHiddenByThePixels) {
  RandomLog log({.seed = 95, .operations = 6000});
  const auto session = analysis::testing::LoadLog(log.builder());
  ASSERT_GT(session->events().size(), 5000u);  // several of one column
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
  log.Alloc(Layer::kLinear, 0x20000, 9000);  // for a billionth of the run
  log.Free(0x20000);
  log.AdvanceTime(1'000'000'000);
  log.Free(0x10000);
  const auto session = analysis::testing::LoadLog(log);
  const std::string html = TimelineHtml(*session, analysis::BuildTimelines(*session).at(0), 0);
  // 97 % of the 240 pixels above the base line at 248: 15.2; a tenth of it: 224.7.
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

TEST(ExportHtmlTest, HostileTextStaysText) {
  const std::string attack = "</script><script>alert('1')</script><img src=x onerror=\"a\">&amp;";
  LogBuilder log;
  log.header().clear_argument();
  log.header().add_argument(attack);
  log.header().set_hostname("<b>host");
  log.Device(0, 1 << 20, attack);
  const int site = log.Stack({"main (a.cc:1)", "<script>f</script> (<i>.cc:3)"});
  log.Alloc(Layer::kLinear, 0x10000, 4096, {.stack = site, .api = attack});
  log.TensorCreate(0x10000, 64, log.Tensor(attack, "<u>", {2, 3}), {.stack = site});
  for (int step = 0; step < 40; ++step) {
    log.Step(step);
    log.Alloc(Layer::kLinear, 0x100000 + 0x10000 * step, 4096, {.stack = site});
  }
  const std::string page = ExportPage(log);
  std::size_t scripts = 0;
  for (const Tag& tag : ParseStrictly(page)) {
    scripts += tag.name == "script";
    EXPECT_THAT(tag.name, Not(AnyOf("img", "b>host", "i", "u")));
  }
  EXPECT_EQ(scripts, 2u);  // the data of one drawing, and ours
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)"));
  EXPECT_THAT(page, HasSubstr("&amp;amp;"));
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

TEST(ExportHtmlTest, AnEmptyLogIsAPage) {
  LogBuilder log;
  const std::string page = ExportPage(log);
  ParseStrictly(page);
  EXPECT_THAT(page, HasSubstr("No device memory was allocated."));
}

TEST(ExportHtmlTest, StaysSmallHoweverLongTheLog) {
  LogBuilder log;
  for (int i = 0; i < 20'000; ++i) {
    const int site = log.Stack({"main (a.cc:1)", "F" + std::to_string(i) + " (f.cc:2)"});
    log.TensorCreate(0x10000 + 0x1000 * static_cast<std::uint64_t>(i), 64,
                     log.Tensor("t" + std::to_string(i), "float32", {64}), {.stack = site});
    log.Alloc(Layer::kLinear, 0x10000 + 0x1000 * static_cast<std::uint64_t>(i), 4096,
              {.stack = site});
  }
  EXPECT_LT(ExportPage(log).size(), 1u << 20);
}

TEST(HtmlTest, EscapesWhatMeansSomething) {
  EXPECT_EQ(EscapeHtml("a<b>&\"'\n"), "a&lt;b&gt;&amp;&quot;&#39;\n");
  EXPECT_EQ(EscapeHtml("\x01\x7f"), "\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(EscapeHtml("\xe2\x80\xae"
                       "abc"),
            "\xef\xbf\xbd"
            "abc");  // right to left
  EXPECT_EQ(EscapeHtml("\xe2\x81\xa9"), "\xef\xbf\xbd");
  EXPECT_EQ(EscapeHtml("…é✓"), "…é✓");
  EXPECT_THAT(EscapeHtml("\xff\xfe"), Not(HasSubstr("\xff")));
  EXPECT_EQ(WithoutColour("\033[1mbold\033[0m plain\033["), "bold plain");
}

TEST(HtmlTest, TablesSortByValue) {
  HtmlTable table({{"bytes", HtmlTable::Kind::kNumber}, {"who"}});
  EXPECT_TRUE(table.empty());
  table.Number(2048, "2.00 KiB").Text("a<b").EndRow();
  EXPECT_EQ(
      table.Html(),
      "<table class=\"sortable\"><thead><tr><th class=\"n\">bytes</th><th>who</th></tr></thead>"
      "<tbody>\n<tr><td class=\"n\" data-v=\"2048\">2.00 KiB</td><td>a&lt;b</td></tr>\n"
      "</tbody></table>\n");
}

}  // namespace
}  // namespace memprof::cli::testing
