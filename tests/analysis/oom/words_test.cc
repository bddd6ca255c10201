// The parts of a device's memory at a failure sum to the whole, and every cause and remedy has a
// text.
#include "analysis/oom/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/analysis/oom/case.h"

namespace memprof::analysis {
namespace {

using testing::AllocatorGivesUp;
using testing::Case;
using testing::DriverRefuses;
using ::testing::HasSubstr;
using testing::kBase;
using testing::RandomLog;

// The text about a device with more memory.
std::string LargerDevice(const FailureReport& report) {
  const auto session = testing::LoadLog(testing::LogBuilder());
  return RemedyWords(*session, report, {.kind = RemedyKind::kLargerDevice, .bytes = kMiB}, {});
}

TEST(SpaceParts, SumToTheWholeOnRandomLogs) {
  for (std::uint32_t seed = 1; seed <= 12; ++seed) {
    RandomLog log({.seed = seed, .devices = 1});
    DriverRefuses(log.builder(), 8 * kMiB, 2 * kMiB, 64 * kMiB);
    if (seed % 2 == 0) AllocatorGivesUp(log.builder(), 6 * kMiB);
    const Case c = Load(log.builder());
    ASSERT_FALSE(c.failures.empty());
    std::uint64_t sum = 0;
    for (const SpacePart& part : SpaceParts(c.last)) {
      sum += part.bytes;
      EXPECT_FALSE(part.words.empty());
      EXPECT_EQ(part.layer != Layer::kUnspecified, part.kind == SpaceKind::kDirect);
    }
    EXPECT_EQ(SpaceWhole(c.last.space), 64 * kMiB);
    EXPECT_EQ(sum, 64 * kMiB + c.last.space.elsewhere);
  }
}

TEST(SpaceParts, SayOfOtherProcessesEvenThatThereIsNone) {
  FailureReport report;
  report.space.total = 100;
  report.space.free = 0;
  report.space.others = 0;
  std::set<SpaceKind> kinds;
  for (const SpacePart& part : SpaceParts(report)) kinds.insert(part.kind);
  EXPECT_EQ(kinds, (std::set<SpaceKind>{SpaceKind::kOthers, SpaceKind::kFree}));
  report.space.total = 0;
  report.space.others.reset();
  EXPECT_TRUE(SpaceParts(report).empty());
  report.space.cached = {12, 12, 1};
  EXPECT_EQ(SpaceWhole(report.space), 12u);
}

TEST(SpaceParts, EachHasItsOwnBytes) {
  FailureReport report;
  report.request.framework = true;
  DeviceSpace& space = report.space;
  space.blocks = 1;
  space.rounding = 2;
  space.own_pool = {4, 3, 2};
  space.other_pools = {8, 7, 2};
  space.private_pools = {16, 15, 2};
  space.foreign = {32, 31, 2};
  space.cached = {64, 63, 2};
  space.direct[static_cast<std::size_t>(Layer::kLinear)] = 128;
  space.pools = 256;
  space.modules = 512;
  space.others = 1024;
  space.untracked = 2048;
  space.free = 4096;
  space.total = 8191;
  std::uint64_t next = 1;
  for (const SpacePart& part : SpaceParts(report)) {
    EXPECT_EQ(part.bytes, next) << part.words;
    // The parts are in the order of the kinds: each kind has a different bit as its bytes.
    EXPECT_EQ(std::uint64_t{1} << static_cast<unsigned>(part.kind), next);
    next *= 2;
  }
  EXPECT_EQ(next, 8192u);
}

TEST(FailureVerdict, HasWordsOfItsOwnForEveryCause) {
  FailureReport report;
  report.request.bytes = 3 * kMiB;
  report.space.total = 64 * kMiB;
  std::set<std::string> verdicts;
  for (const FailureCause cause :
       {FailureCause::kCapacity, FailureCause::kFragmentation, FailureCause::kOtherPool,
        FailureCause::kAllocatorRule, FailureCause::kSegmentSize, FailureCause::kReserve,
        FailureCause::kDespiteFree, FailureCause::kTooLarge, FailureCause::kHostMemory,
        FailureCause::kRefused, FailureCause::kUnknown}) {
    report.cause = cause;
    verdicts.insert(FailureVerdict(report));
  }
  EXPECT_EQ(verdicts.size(), 11u);
  report.request.bytes = 0;
  EXPECT_THAT(FailureVerdict(report), HasSubstr("names no size"));
}

TEST(FailureVerdict, SaysFirstWhatFilledTheDevice) {
  FailureReport report;
  report.cause = FailureCause::kFragmentation;
  report.request.bytes = 3 * kMiB;
  report.growth = {.site = {.function = "Keep", .file = "/src/a.py", .line = 9, .symbolised = true},
                   .sites = 3,
                   .bytes = 64 * kMiB,
                   .bytes_per_step = 2.0 * kMiB};
  const std::string verdict = FailureVerdict(report);
  EXPECT_THAT(verdict, ::testing::StartsWith(
                           "Growth: 64.0 MiB are held by Keep (a.py:9) and 2 other sites that "
                           "leak, and 2.00 MiB more stay with every step"));
  EXPECT_THAT(verdict, HasSubstr("For this request: Fragmentation:"));
}

TEST(FailureVerdict, SaysWhetherIterationsFreeWhatTheyMadeBefore) {
  FailureReport report;
  report.growth = {.site = {.function = "Keep", .file = "/src/a.py", .line = 9, .symbolised = true},
                   .iterations = 50,
                   .bytes = 64 * kMiB,
                   .bytes_per_step = 1.0 * kMiB};
  EXPECT_THAT(FailureVerdict(report), HasSubstr("allocated in 50 iterations and did not free"));
  report.growth->replaced = true;
  EXPECT_THAT(FailureVerdict(report),
              HasSubstr("64.0 MiB are held by Keep (a.py:9), which makes 1.00 MiB more in each of "
                        "50 iterations and frees what it made before"));
}

// The same short form as in the tables below the verdict.
TEST(FailureVerdict, NamesItsSiteShort) {
  FailureReport report;
  report.cause = FailureCause::kFragmentation;
  report.request.bytes = 3 * kMiB;
  report.growth = {.site = {.function = "void ns::Cache::Keep<float>(int)",
                            .file = "/src/one/util.cc",
                            .line = 10,
                            .symbolised = true,
                            .shown_file = "one/util.cc"},
                   .sites = 1,
                   .bytes = 64 * kMiB};
  EXPECT_THAT(FailureVerdict(report),
              ::testing::StartsWith("Growth: 64.0 MiB are held by Cache::Keep<float> "
                                    "(one/util.cc:10): that filled the device."));
}

TEST(FailureVerdict, SaysThatTheStepWasLargerAndThatItsRestComesOnTop) {
  FailureReport report;
  report.cause = FailureCause::kCapacity;
  report.request.bytes = 3 * kMiB;
  report.larger_step = {
      .live = 60 * kMiB,
      .highest_before = 10 * kMiB,
      .site = {.function = "Run", .file = "/src/a.py", .line = 9, .symbolised = true},
      .more = 50 * kMiB};
  EXPECT_THAT(FailureVerdict(report),
              ::testing::StartsWith("Larger step: 60.0 MiB are live in it, where no step before "
                                    "held more than 10.0 MiB; 50.0 MiB more than in the step "
                                    "before are held by Run (a.py:9). For this request: Capacity"));
  EXPECT_THAT(LargerDevice(report), HasSubstr("the rest of the step needs comes on top"));
}

TEST(FailureVerdict, SaysHowFarTheFirstStepHadCome) {
  FailureReport report;
  report.cause = FailureCause::kCapacity;
  report.request.bytes = 3 * kMiB;
  report.first_step = {
      .parameters = 10 * kMiB, .gradients = 10 * kMiB, .optimizer_state = 20 * kMiB};
  EXPECT_THAT(FailureVerdict(report),
              HasSubstr("No step had finished. If the run trains, still to come are the backward "
                        "pass with gradients (10.0 MiB, as much as the parameters that were there) "
                        "and the optimizer's state (10.0 MiB with momentum, 20.0 MiB with Adam)"));
  report.first_step->backward = true;
  report.first_step->gradients = 4 * kMiB;
  EXPECT_THAT(FailureVerdict(report),
              HasSubstr("the first backward pass was under way. If the run trains, still to come "
                        "are gradients (at least 4.00 MiB, as much as the parameters, 10.0 MiB, "
                        "in the end)"));
  report.first_step = {.optimizer = true, .parameters = 10 * kMiB, .optimizer_state = 15 * kMiB};
  EXPECT_THAT(FailureVerdict(report),
              HasSubstr("No step had finished: the optimizer ran for the first time. With momentum "
                        "at least 7.50 MiB, with Adam 15.0 MiB of state are still to come"));
  report.first_step->state_there = 15 * kMiB;
  EXPECT_THAT(FailureVerdict(report), HasSubstr("for the first time. With Adam at least 15.0 MiB"));
  report.first_step->adam = true;
  EXPECT_THAT(FailureVerdict(report), HasSubstr("At least 15.0 MiB of Adam's state are still to"));
  report.first_step->optimizer_state = 0;
  EXPECT_THAT(FailureVerdict(report),
              HasSubstr("15.0 MiB of its state are there; the request is for more of it."));
}

TEST(FailureCountWords, CountsThoseThatWereOnlyTemporary) {
  FailedRequest lasting, passing;
  passing.recovered = true;
  EXPECT_EQ(FailureCountWords({lasting}), "1 request for memory failed");
  EXPECT_EQ(FailureCountWords({passing}), "1 request for memory failed only temporarily");
  EXPECT_EQ(FailureCountWords({passing, lasting, passing}),
            "3 requests for memory failed, 2 of them only temporarily");
}

TEST(RemedyWords, NameSitesAndBytes) {
  testing::LogBuilder log;
  log.Device(0, 64 * kMiB);
  const int keep = log.Stack({"main (a.cc:1)", "Keep (a.cc:2)"});
  testing::Segment(log, kBase, 40 * kMiB, {.stack = keep});
  log.Alloc(Layer::kBlock, kBase, 30 * kMiB, {.stack = keep, .aux0 = 30 * kMiB});
  DriverRefuses(log, 32 * kMiB, 20 * kMiB, 64 * kMiB, keep);
  AllocatorGivesUp(log, 32 * kMiB, keep);
  const Case c = Load(log);
  ASSERT_FALSE(c.last.remedies.empty());
  const SiteNamer name = {
      [&](StackId stack) { return "<" + c.symbols->Site(stack).function + ">"; },
      [&](std::uint32_t group) { return "<" + c.sites->Site(group).user.function + ">"; }};
  bool named = false;
  std::set<std::string> all;
  for (const Remedy& remedy : c.last.remedies) {
    const std::string words = RemedyWords(*c.session, c.last, remedy, name);
    EXPECT_FALSE(words.empty());
    all.insert(words);
    named |= words.find("<Keep>") != std::string::npos;
  }
  EXPECT_EQ(all.size(), c.last.remedies.size());
  EXPECT_TRUE(named);
}

TEST(RemedyWords, SayOfRoomThatGrowthFillsAgain) {
  FailureReport report;
  report.growth = {.iterations = 20, .bytes_per_step = 2.0 * kMiB};
  const auto session = LoadLog(testing::LogBuilder());
  Remedy remedy{
      .kind = RemedyKind::kReleaseCache, .fits = true, .bytes = 9 * kMiB, .beyond = 7 * kMiB};
  EXPECT_EQ(
      RemedyWords(*session, report, remedy, {}),
      "releasing unused segments to the driver: 9.00 MiB; the growth fills it in 3 iterations");
  remedy.beyond = kMiB;
  EXPECT_NE(RemedyWords(*session, report, remedy, {}).find("in the next iteration"),
            std::string::npos);
  report.growth.reset();
  EXPECT_EQ(RemedyWords(*session, report, remedy, {}).find("growth"), std::string::npos);
}

}  // namespace
}  // namespace memprof::analysis
