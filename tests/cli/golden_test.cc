// The exact text of every verb on fixed logs.
#include <gtest/gtest.h>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

struct Case {
  const char* golden;
  std::vector<std::string> arguments;
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.golden; }

class GoldenTest : public ::testing::TestWithParam<Case> {};

std::size_t Columns(const std::string& line) {
  std::size_t columns = 0;
  for (const char c : line) columns += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  return columns;
}

TEST_P(GoldenTest, PrintsWhatItPrinted) {
  const Logs logs;
  const Result result = Memprof(GetParam().arguments, logs.path());
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  ExpectGolden(GetParam().golden, result.out);
  if (GetParam().arguments[0] == "dump" || GetParam().arguments[0] == "export") return;
  for (std::size_t begin = 0; begin < result.out.size();) {
    const std::size_t end = result.out.find('\n', begin);
    const std::string line = result.out.substr(begin, end - begin);
    EXPECT_LE(Columns(line), 100u) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "trailing space: " << line;
    begin = end + 1;
  }
}

std::vector<Case> Cases() {
  return {
      {"report_train.txt", {"report", "train.mprof"}},
      {"report_raw.txt", {"report", "--top=3", "raw.mprof"}},
      {"report_shared.txt", {"report", "shared.mprof"}},
      {"report_alike.txt", {"report", "alike.mprof"}},
      {"report_together.txt", {"report", "--top=3", "raw.mprof", "train.mprof"}},
      {"dump_shared.json", {"dump", "--json", "shared.mprof"}},
      {"leaks_train.txt", {"leaks", "train.mprof"}},
      {"leaks_raw.txt", {"leaks", "raw.mprof"}},
      {"leaks_suppressed.txt", {"leaks", "--suppressions=ours.supp", "train.mprof"}},
      {"steps_train.txt", {"steps", "train.mprof"}},
      {"steps_pattern.txt", {"steps", "--source=pattern", "--top=1", "train.mprof"}},
      {"steps_raw.txt", {"steps", "raw.mprof"}},
      {"categories_train.txt", {"categories", "train.mprof"}},
      {"categories_step.txt",
       {"categories", "--at=step=3", "--no-names", "--device=0", "train.mprof"}},
      {"categories_raw.txt", {"categories", "--at=end", "raw.mprof"}},
      {"help_categories.txt", {"categories", "--help"}},
      {"help_steps.txt", {"steps", "--help"}},
      {"peak_train.txt", {"peak", "train.mprof"}},
      {"peak_step.txt", {"peak", "--step=3", "--device=0", "--top=2", "train.mprof"}},
      {"source_train.txt", {"source", "train.mprof"}},
      {"source_lines.txt", {"source", "--file=history.cc", "--at=end", "train.mprof"}},
      {"help_source.txt", {"source", "--help"}},
      {"fragmentation_train.txt", {"fragmentation", "train.mprof"}},
      {"fragmentation_raw.txt", {"fragmentation", "raw.mprof"}},
      {"fragmentation_pools.txt", {"fragmentation", "pools.mprof"}},
      {"fragmentation_pools.json", {"fragmentation", "--json", "--points=1", "pools.mprof"}},
      {"dump_pools.txt", {"dump", "--layer=segment", "--symbols", "pools.mprof"}},
      {"fragmentation_streams.txt", {"fragmentation", "--points=1", "streams.mprof"}},
      {"advise_streams.txt", {"advise", "--top=3", "streams.mprof"}},
      {"dump_streams.txt",
       {"dump", "--op=stream_use", "--op=waiting", "--symbols", "streams.mprof"}},
      {"dump_raw.txt", {"dump", "--symbols", "raw.mprof"}},
      {"dump_raw.json", {"dump", "--json", "raw.mprof"}},
      {"export_allocations.csv", {"export", "--to", "csv", "-o", "-", "raw.mprof"}},
      {"export_events.csv", {"export", "--table=events", "--output=-", "raw.mprof"}},
      {"budget_serve.txt", {"budget", "serve.mprof"}},
      {"budget_end.txt", {"budget", "--at=end", "--margin=10", "serve.mprof"}},
      {"budget_train.txt", {"budget", "train.mprof"}},
      {"top_train.txt", {"top", "train.mprof"}},
      {"top_raw.txt", {"top", "--once", "--sort=used", "raw.mprof", "shared.mprof"}},
      {"help_top.txt", {"top", "--help"}},
      {"help_watch.txt", {"watch", "--help"}},
      {"help_view.txt", {"view", "--help"}},
      {"help_serve.txt", {"serve", "--help"}},
      {"help_budget.txt", {"budget", "--help"}},
      {"help.txt", {"help"}},
      {"help_report.txt", {"report", "--help"}},
      {"help_leaks.txt", {"leaks", "--help"}},
      {"help_peak.txt", {"help", "peak"}},
      {"help_fragmentation.txt", {"fragmentation", "--help"}},
      {"help_dump.txt", {"dump", "-h"}},
      {"help_export.txt", {"export", "--help"}},
      {"help_verify.txt", {"verify", "--help"}},
      {"help_footprint.txt", {"footprint", "--help"}},
      {"help_doctor.txt", {"doctor", "--help"}},
      {"help_holders.txt", {"holders", "--help"}},
      {"help_attach.txt", {"attach", "--help"}},
      {"help_detach.txt", {"detach", "--help"}},
      {"help_fleet.txt", {"fleet", "--help"}},
      {"help_mcp.txt", {"mcp", "--help"}},
  };
}

std::string Name(const ::testing::TestParamInfo<Case>& info) {
  std::string name = info.param.golden;
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, GoldenTest, ::testing::ValuesIn(Cases()), Name);

TEST(GoldenTest, ColourOnlyWhenRequested) {
  const Logs logs;
  const std::string plain = Memprof({"report", "train.mprof"}, logs.path()).out;
  EXPECT_EQ(plain.find('\033'), std::string::npos);
  const std::string forced = Memprof({"report", "train.mprof"}, logs.path(), {"FORCE_COLOR=1"}).out;
  EXPECT_NE(forced.find("\033["), std::string::npos);
  const std::string refused =
      Memprof({"report", "train.mprof"}, logs.path(), {"FORCE_COLOR=1", "NO_COLOR=1"}).out;
  EXPECT_EQ(refused, plain);
}

}  // namespace
}  // namespace memprof::cli::testing
