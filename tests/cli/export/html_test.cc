// export --to=html: one well-formed page that loads nothing, shows the peak, and treats no text of
// a log as markup.
#include "cli/export/internal/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/testing/log_builder.h"
#include "cli/export/internal/html_assets.h"
#include "tests/cli/cli_test_support.h"
#include "tests/cli/export/html_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
    EXPECT_EQ(page.find('\033'), std::string::npos);  // not even with forced colour
  }
}

// Times use "us", as everywhere in memprof.
TEST(ExportHtmlTest, NamesMicrosecondsAsTheReportDoes) {
  EXPECT_EQ(std::string_view(kHtmlScript).find("\xc2\xb5s"), std::string_view::npos);
  EXPECT_NE(std::string_view(kHtmlScript).find("\" us\""), std::string_view::npos);
}

TEST(ExportHtmlTest, HasTheVerdicts) {
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
  EXPECT_EQ(scripts, 2u);  // the data of one chart, and the page's code
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, HasSubstr("&lt;/script&gt;&lt;script&gt;alert(&#39;1&#39;)"));
  EXPECT_THAT(page, HasSubstr("&amp;amp;"));
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
