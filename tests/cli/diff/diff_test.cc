// memprof diff and the budgets of --fail-on: text, JSON, statuses, and the meaning of conditions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

using analysis::Layer;
using analysis::testing::LogBuilder;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Ten steps of one call site with `bytes`, and of another from the third on if `more`.
std::string SmallRun(std::uint64_t bytes, bool more, std::uint64_t base, std::uint64_t first = 0) {
  LogBuilder log;
  log.header().clear_argument();
  log.header().set_executable("/opt/train/small");
  log.header().set_hostname("gpu-host");
  log.header().set_pid(7);
  log.Device(0, 1024 * kMiB);
  const int work = log.Stack({"main (small.cc:5)", "Work (small.cc:9)"});
  const int extra = log.Stack({"main (small.cc:5)", "Extra (small.cc:20)"});
  for (std::uint64_t step = 0; step < 10; ++step) {
    log.AdvanceTime(1'000'000);
    log.Step(first + step);
    log.Alloc(Layer::kLinear, base, bytes, {.stack = work});
    if (more && step >= 2) log.Alloc(Layer::kLinear, base + 512 * kMiB, 6 * kMiB, {.stack = extra});
    if (more && step >= 2) log.Free(base + 512 * kMiB);
    log.Free(base);
  }
  return log.Bytes();
}

class DiffVerbTest : public ::testing::Test {
 protected:
  DiffVerbTest() {
    logs_.directory().Write("before.mprof", SmallRun(100 * kMiB, false, 0x7f0000000000));
    logs_.directory().Write("after.mprof", SmallRun(90 * kMiB, true, 0x550000000000));
  }
  Result Run(std::vector<std::string> arguments) const { return Memprof(arguments, logs_.path()); }
  Logs logs_;
};

TEST_F(DiffVerbTest, StepsHaveTheNumbersOfTheLaterRun) {
  logs_.directory().Write("resumed.mprof", SmallRun(90 * kMiB, true, 0x550000000000, 100));
  EXPECT_THAT(Run({"diff", "before.mprof", "resumed.mprof"}).out,
              HasSubstr("is step 100: 100 MiB, then 90.0 MiB"));
}

void ExpectOneLine(const Result& result, int status) {
  EXPECT_EQ(result.status, status);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, StartsWith("memprof: "));
  EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

TEST_F(DiffVerbTest, PrintsWhatItPrinted) {
  const std::vector<std::string> shown[] = {
      {"diff_runs.txt", "diff", "before.mprof", "after.mprof"},
      {"diff_end.txt", "diff", "--at=end", "--threshold=0", "raw.mprof", "train.mprof"},
      {"diff_moments.txt", "diff", "--from=step=3", "--to=step=30", "train.mprof"},
      {"diff_peak.txt", "diff", "--from=start", "--to=peak", "--top=2", "train.mprof"},
      {"diff_same.txt", "diff", "train.mprof", "train.mprof"},
      {"diff_highest.txt", "diff", "--from=step=3", "--to=step=30", "--at=peak", "train.mprof"},
      {"diff_markdown.txt", "diff", "--format=markdown", "--top=2", "--threshold=0", "raw.mprof",
       "train.mprof"},
      {"diff_markdown_moments.txt", "diff", "--format=markdown", "--from=step=3", "train.mprof"},
      {"diff_markdown_same.txt", "diff", "--format=markdown", "train.mprof", "train.mprof"},
      {"help_diff.txt", "diff", "--help"}};
  for (const std::vector<std::string>& one : shown) {
    const Result result = Run({one.begin() + 1, one.end()});
    EXPECT_EQ(result.status, 0) << result.err;
    ExpectGolden(one[0], result.out);
  }
}

TEST_F(DiffVerbTest, JsonOfRuns) {
  const Result result = Run({"diff", "--json", "before.mprof", "after.mprof"});
  const Json json = Json::parse(result.out, nullptr, false);
  EXPECT_EQ(json["schema"], "memprof.diff/1");
  EXPECT_EQ(json["mode"], "runs");
  EXPECT_EQ(json["sites_at"], "peak");
  EXPECT_EQ(json["threshold_bytes"], 100 * kMiB / 1000);
  EXPECT_EQ(json["before"]["log"], "before.mprof");
  EXPECT_EQ(json["after"]["steps"], 10);
  ASSERT_EQ(json["sites"].size(), 2u);
  const Json& work = json["sites"][0];
  EXPECT_EQ(work["site"], "Work (small.cc:9)");
  EXPECT_EQ(work["before_bytes"], 100 * kMiB);
  EXPECT_EQ(work["after_bytes"], 90 * kMiB);
  for (const char* key :
       {"site", "site_frame", "match", "new", "gone", "before_bytes", "after_bytes",
        "before_blocks", "after_blocks", "variation_bytes", "within_variation", "before_step_bytes",
        "after_step_bytes", "before_growth", "after_growth"})
    EXPECT_TRUE(work.contains(key)) << key;
  EXPECT_EQ(json["sites"][1]["site"], "Extra (small.cc:20)");
  EXPECT_TRUE(json["sites"][1]["new"].get<bool>());
  EXPECT_EQ(json["first_difference"], 0);
  ASSERT_EQ(json["steps"].size(), 10u);
  EXPECT_EQ(json["steps"][4]["after_peak_bytes"], 96 * kMiB);
  EXPECT_EQ(json["figures"][0]["name"], "peak");
  EXPECT_EQ(json["figures"][0]["change"], -4 * static_cast<std::int64_t>(kMiB));
}

TEST_F(DiffVerbTest, JsonOfMoments) {
  const Result result =
      Run({"diff", "--json", "--from", "step=3", "--to", "step=30", "train.mprof"});
  const Json json = Json::parse(result.out, nullptr, false);
  EXPECT_EQ(json["mode"], "moments");
  EXPECT_EQ(json["before"]["moment"], "the end of step 3");
  EXPECT_LT(json["before"]["time_ns"], json["after"]["time_ns"]);
  ASSERT_EQ(json["sites"].size(), 1u);
  EXPECT_EQ(json["sites"][0]["site"], "HistoryLeak (history.cc:42)");
  EXPECT_EQ(json["sites"][0]["after_bytes"].get<std::uint64_t>() -
                json["sites"][0]["before_bytes"].get<std::uint64_t>(),
            27 * kMiB);
}

// The log of `before` has only short-lived blocks of 100 MiB, one a step.
TEST_F(DiffVerbTest, PartOfALog) {
  const auto at = [this](std::vector<std::string> options) {
    options.insert(options.begin(), {"diff", "--json", "--from=step=3", "--to=step=5"});
    options.push_back("after.mprof");
    return Json::parse(Run(options).out, nullptr, false);
  };
  const Json whole = at({});
  EXPECT_TRUE(whole["sites"].empty());
  ASSERT_EQ(whole["in_use"].size(), 1u);
  EXPECT_EQ(
      whole["in_use"][0],
      (Json{{"device", 0}, {"before_bytes", 0}, {"after_bytes", 0}, {"peak_bytes", 96 * kMiB}}));
  const Json highest = at({"--at=peak"});
  EXPECT_EQ(highest["in_use"][0]["after_bytes"], 96 * kMiB);
  ASSERT_EQ(highest["sites"].size(), 2u);
  EXPECT_EQ(highest["sites"][1]["site"], "Extra (small.cc:20)");
  EXPECT_GT(highest["after"]["event"], highest["before"]["event"]);
  // The same instant by its number.
  const std::string event = "--at=event=" + highest["after"]["event"].dump();
  const Json peak = Json::parse(Run({"peak", "--json", event, "after.mprof"}).out, nullptr, false);
  EXPECT_EQ(peak["peaks"][0]["bytes"], 96 * kMiB);
}

TEST_F(DiffVerbTest, OnlyWhatIsNew) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  const int old = log.Stack({"main (a.cc:5)"}), made = log.Stack({"main (a.cc:9)"});
  log.Alloc(Layer::kLinear, 0x1000000000, 8 * kMiB, {.stack = old});
  log.Snapshot("begins");
  log.Alloc(Layer::kLinear, 0x2000000000, 8 * kMiB, {.stack = made});
  log.Free(0x1000000000);
  logs_.directory().Write("part.mprof", log.Bytes());
  const auto sites = [this](std::vector<std::string> options) {
    options.insert(options.begin(), {"diff", "--json", "--from=snapshot=begins"});
    options.push_back("part.mprof");
    return Json::parse(Run(options).out, nullptr, false)["sites"];
  };
  EXPECT_EQ(sites({}).size(), 2u);
  ASSERT_EQ(sites({"--new"}).size(), 1u);
  EXPECT_EQ(sites({"--new"})[0]["site"], "main (a.cc:9)");
  EXPECT_EQ(sites({"--new"})[0]["after_bytes"], 8 * kMiB);
}

TEST_F(DiffVerbTest, MarkdownFromALogIsNoMarkup) {
  LogBuilder log;
  log.Device(0, 1024 * kMiB);
  const int stack = log.Stack({"a|b<img>@me[x]`#1_*\\\n (a.cc:5)"});
  log.Alloc(Layer::kLinear, 0x1000000000, 8 * kMiB, {.stack = stack});
  logs_.directory().Write("a@b.mprof", log.Bytes());
  const std::string text =
      Run({"diff", "--format=markdown", "--threshold=0", "before.mprof", "a@b.mprof"}).out;
  EXPECT_THAT(text, HasSubstr("a&#124;b&#60;img&#62;&#64;me&#91;x&#93;&#96;&#35;1&#95;&#42;"));
  for (const char* raw : {"<img>", "@", "[", "`", "\\"})
    EXPECT_EQ(text.find(raw), std::string::npos) << raw;
}

TEST_F(DiffVerbTest, FragmentationAtItsWorst) {
  const auto at = [this](std::vector<std::string> options) {
    options.insert(options.begin(), {"fragmentation", "--json"});
    options.push_back("train.mprof");
    return Json::parse(Run(options).out, nullptr, false);
  };
  const Json worst = at({"--at-worst", "--points=7"});
  EXPECT_EQ(worst["series"][0]["points"].size(), 7u);
  EXPECT_EQ(worst["time_ns"], worst["series"][0]["worst"]["time_ns"]);
  EXPECT_EQ(worst["pools"][0]["pinned_bytes"], worst["series"][0]["worst"]["pinned_bytes"]);
  EXPECT_EQ(at({})["series"][0]["points"].size(), 41u);  // set-up, and 40 steps
  for (const char* wrong : {"--points=-1", "--points=100001", "--at-end"})
    ExpectOneLine(Run({"fragmentation", "--at-worst", wrong, "train.mprof"}), 2);
}

TEST_F(DiffVerbTest, WrongUse) {
  const std::vector<std::string> wrong[] = {
      {"train.mprof"},
      {},
      {"a", "b", "c"},
      {"--to=end", "train.mprof"},
      {"--from=middle", "train.mprof"},
      {"--from=step=", "train.mprof"},
      {"--from=step=-1", "train.mprof"},
      {"--from=event=x", "train.mprof"},
      {"--from=start", "train.mprof", "raw.mprof"},
      {"--from=start", "--at=end", "train.mprof"},
      {"--new", "train.mprof", "raw.mprof"},
      {"--format=html", "train.mprof", "raw.mprof"},
      {"--at=middle", "train.mprof", "raw.mprof"},
      {"--threshold=some", "train.mprof", "raw.mprof"},
      {"--threshold=-1", "train.mprof", "raw.mprof"},
      {"--top=-1", "train.mprof", "raw.mprof"},
      {"--fail-on=peek>+5%", "train.mprof", "raw.mprof"},
      {"--from=start", "--fail-on=step-time>+5%", "train.mprof"}};
  for (std::vector<std::string> arguments : wrong) {
    arguments.insert(arguments.begin(), "diff");
    SCOPED_TRACE(arguments.back());
    ExpectOneLine(Run(arguments), 2);
  }
  EXPECT_THAT(Run({"diff", "train.mprof"}).err, HasSubstr("--from step=3 --to end"));
  ExpectOneLine(Run({"diff", "--from=step=99", "train.mprof"}), 1);
  ExpectOneLine(Run({"diff", "--from=event=99999", "train.mprof"}), 1);
  ExpectOneLine(Run({"diff", "--from=end", "--to=start", "--at=peak", "train.mprof"}), 1);
  ExpectOneLine(Run({"peak", "--at=event=99999", "train.mprof"}), 1);
  ExpectOneLine(Run({"diff", "none.mprof", "train.mprof"}), 1);
  ExpectOneLine(Run({"diff", "train.mprof", "none.mprof"}), 1);
}

TEST_F(DiffVerbTest, BudgetsOfReport) {
  const Result kept =
      Run({"report", "--fail-on=peak>1GiB,failed>1", "--fail-on=definite", "train.mprof"});
  EXPECT_EQ(kept.status, 0);
  EXPECT_EQ(kept.err, "");
  const Result exceeded =
      Run({"report", "--json", "--fail-on=peak>63MiB,growth>1MiB/step", "--fail-on",
           "suspected, failed>0", "--fail-on=headroom<1GiB", "train.mprof"});
  EXPECT_EQ(exceeded.status, 3);
  EXPECT_FALSE(Json::parse(exceeded.out, nullptr, false).is_discarded());
  EXPECT_EQ(exceeded.err,
            "memprof: train.mprof: budget exceeded: peak>63MiB: 64.0 MiB on device 0\n"
            "memprof: train.mprof: budget exceeded: suspected: 1 leak of this tier or a worse one\n"
            "memprof: train.mprof: budget exceeded: failed>0: 1\n"
            "memprof: train.mprof: budget exceeded: headroom<1GiB: 180 MiB on device 0\n");
  // With several logs, one violation is enough; a log that cannot be read is skipped.
  EXPECT_EQ(Run({"report", "--fail-on=peak>63MiB", "raw.mprof", "train.mprof"}).status, 3);
  EXPECT_EQ(Run({"report", "--fail-on=peak>63MiB", "none.mprof", "train.mprof"}).status, 3);
  EXPECT_EQ(Run({"report", "--fail-on=peak>63MiB", "none.mprof", "no.mprof"}).status, 1);
}

TEST_F(DiffVerbTest, BudgetsOfDiff) {
  const auto status = [this](const std::string& condition, const char* a, const char* b) {
    return Run({"diff", "--fail-on=" + condition, a, b}).status;
  };
  EXPECT_EQ(status("peak>+3%", "after.mprof", "before.mprof"), 3);  // 96 MiB, then 100
  EXPECT_EQ(status("peak>+5%", "after.mprof", "before.mprof"), 0);
  EXPECT_EQ(status("peak>+3MiB", "after.mprof", "before.mprof"), 3);
  EXPECT_EQ(status("peak>+4MiB", "after.mprof", "before.mprof"), 0);
  EXPECT_EQ(status("peak>+0", "before.mprof", "after.mprof"), 0);  // it fell
  // the limit applies to the second log
  EXPECT_EQ(status("peak>95MiB", "before.mprof", "after.mprof"), 3);
  EXPECT_EQ(status("growing", "before.mprof", "train.mprof"), 3);
  EXPECT_EQ(status("growing", "train.mprof", "before.mprof"), 0);
  EXPECT_EQ(status("growth>+1KiB/step", "before.mprof", "train.mprof"), 3);
  EXPECT_EQ(status("failed>+0", "before.mprof", "train.mprof"), 3);
  const Result moments = Run({"diff", "--from=step=3", "--to=step=30",
                              "--fail-on=live-at-end>+0,reserved>+1", "train.mprof"});
  EXPECT_EQ(moments.status, 0);  // the allocator's segment existed before
  EXPECT_EQ(Run({"diff", "--from=start", "--fail-on=live-at-end>+1MiB", "train.mprof"}).status, 3);
}

TEST_F(DiffVerbTest, LeaksKeepsItsTiersAndHasGrowth) {
  EXPECT_EQ(Run({"leaks", "--fail-on=suspected", "train.mprof"}).status, 3);
  EXPECT_EQ(Run({"leaks", "--fail-on=growth>0.9MiB/step", "train.mprof"}).status, 3);
  EXPECT_EQ(Run({"leaks", "--fail-on=growth>1.1MiB/step", "train.mprof"}).status, 0);
  EXPECT_EQ(Run({"leaks", "--fail-on=growth>0", "--suppressions=ours.supp", "train.mprof"}).status,
            0);
  ExpectOneLine(Run({"leaks", "--fail-on=peak>1", "train.mprof"}), 2);
}

}  // namespace
}  // namespace memprof::cli::testing
