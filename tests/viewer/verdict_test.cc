// The verdict as text. Links are in brackets, with the view to which they lead.
#include "viewer/models/verdict.h"

#include <gtest/gtest.h>

#include <QCoreApplication>
#include <QTemporaryDir>

#include "analysis/base/sizes.h"
#include "tests/viewer/demo_log.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::Op;
using analysis::testing::LogBuilder;

class VerdictTest : public ::testing::Test {
 protected:
  void Open(const std::vector<const LogBuilder*>& logs) {
    QStringList paths;
    for (const LogBuilder* log : logs) {
      paths << directory_.filePath(QStringLiteral("%1.mprof").arg(paths.size()));
      ASSERT_TRUE(log->WriteTo(paths.back().toStdString()).ok());
    }
    document_.OpenTogether(paths);
    while (JobTracker::ActiveJobs() > 0 || document_.categories() == nullptr)
      QCoreApplication::processEvents(QEventLoop::WaitForMoreEvents, 20);
    verdict_ = MakeVerdict(Input());
  }
  void Open(const LogBuilder& log) { Open({&log}); }
  VerdictInput Input() const {
    return {document_.session(), document_.symbols(), document_.timelines(), document_.report(),
            document_.categories()};
  }
  static std::string Marked(const std::vector<VerdictPart>& parts) {
    QString text;
    for (const VerdictPart& part : parts) {
      if (!part.target.has_value()) {
        text += part.text;
        continue;
      }
      static const char* kViews[] = {"", ">timeline", ">categories", ">leaks", ">failures"};
      text += QStringLiteral("[%1%2]").arg(
          part.text, QString::fromUtf8(kViews[static_cast<int>(part.target->view)]));
      EXPECT_FALSE(part.help.isEmpty()) << part.text.toStdString();
    }
    return text.simplified().toStdString();
  }
  std::string Marked() const { return Marked(verdict_.parts); }
  const VerdictTarget* TargetOf(const char* text) const {
    for (const VerdictPart& part : verdict_.parts)
      if (part.target.has_value() && part.text == QString::fromUtf8(text)) return &*part.target;
    return nullptr;
  }
  // A request that the driver refuses with `free` bytes left, on a device of 600 MiB.
  static void Fail(LogBuilder& log, std::uint64_t bytes, std::uint64_t free, const char* site,
                   std::uint32_t result = 2) {
    log.AllocFailed(Layer::kLinear, bytes,
                    {.stack = log.Stack({"main (train.cc:210)", site}),
                     .aux0 = free,
                     .aux1 = 600 * kMiB,
                     .result = result,
                     .api = "cuMemAlloc"});
    log.AdvanceTime(1'000'000);
  }

  QTemporaryDir directory_;
  Document document_;
  RunVerdict verdict_;
};

// A leak that fills a device: the first thing to know is who holds it.
TEST_F(VerdictTest, AFailureAfterGrowthNamesWhatGrew) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 150, .capacity = 800 * kMiB});
  Fail(log, 130 * kMiB, 2 * kMiB, "Big (big.cc:5)");
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 130 * kMiB, 0,
            {.stack = log.Stack({"main (train.cc:210)", "Big (big.cc:5)"})});
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kBad);
  EXPECT_EQ(Marked(),
            "Out of memory at [step 149]: [LossHistory::Append (loss_history.cc:24)] holds [150 "
            "MiB>failures], [+1.00 MiB per step>leaks]; [130 MiB>failures] requested by [main "
            "(train.cc:210)]: capacity, 128 MiB too little [details>failures]");
  EXPECT_TRUE(verdict_.detail.startsWith(QStringLiteral("Growth: ")));
}

TEST_F(VerdictTest, AFailureWithoutGrowthSaysWhyItFailed) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 6, .leak = false, .capacity = 600 * kMiB});
  Fail(log, 64 * kMiB, 2 * kMiB, "Big (big.cc:5)");
  Open(log);
  EXPECT_EQ(verdict_.failures, 1u);
  EXPECT_EQ(Marked(),
            "Out of memory at [step 5]: [64.0 MiB>failures] requested by [main (train.cc:210)]: "
            "reserve, 120 MiB was unused and could have been released; [too short to tell whether "
            "memory leaks>leaks]; most was held by [AdamW::MakeState (adamw.cc:29)], [192 "
            "MiB>failures] [details>failures]");
  const VerdictTarget* site = TargetOf("main (train.cc:210)");
  ASSERT_NE(site, nullptr);
  EXPECT_TRUE(site->site.valid());
  EXPECT_EQ(site->device, 0);
  ASSERT_TRUE(site->instant.has_value());
  EXPECT_EQ(document_.session()->StepAt(*site->instant), 5);
}

TEST_F(VerdictTest, ALogThatLostMuchTellsOnlyThat) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 40, .capacity = 600 * kMiB});
  log.Count("events_lost", 1'000'000);
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kBad);
  EXPECT_TRUE(Marked().starts_with("1,000,000 of its 1,00")) << Marked();
  EXPECT_TRUE(Marked().ends_with("events are lost: no figure is right.")) << Marked();
  EXPECT_TRUE(MakeFigures(Input(), 0).empty());
}

TEST_F(VerdictTest, ARefusalIsNoLackOfMemory) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 6, .leak = false, .capacity = 600 * kMiB});
  Fail(log, 64 * kMiB, 2 * kMiB, "Big (big.cc:5)", 1);
  Open(log);
  EXPECT_EQ(
      Marked(),
      "A request failed at [step 5]: [64.0 MiB>failures] requested by [main (train.cc:210)]: not a "
      "lack of memory, CUresult 1; [too short to tell whether memory leaks>leaks] "
      "[details>failures]");
}

TEST_F(VerdictTest, AFailureThatALaterAttemptRecoveredIsAWarning) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 6, .leak = false, .capacity = 600 * kMiB});
  Fail(log, 32 * kMiB, 2 * kMiB, "Big (big.cc:5)");
  log.Alloc(Layer::kLinear, 0x7e0000000000, 32 * kMiB,
            {.stack = log.Stack({"main (train.cc:210)", "Big (big.cc:5)"})});
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kWarning);
  EXPECT_EQ(Marked(),
            "1 request for memory failed only temporarily at [step 5]: [32.0 "
            "MiB>failures] requested by [Big (big.cc:5)]: reserve, 120 MiB was unused and could "
            "have been released; [too short to tell whether memory leaks>leaks]; most was held by "
            "[AdamW::MakeState (adamw.cc:29)], [192 MiB>failures] [details>failures]");
}

TEST_F(VerdictTest, ALeakWithARecoveredFailureNamesBoth) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 40, .capacity = 600 * kMiB});
  Fail(log, 32 * kMiB, 2 * kMiB, "Big (big.cc:5)");
  log.Alloc(Layer::kLinear, 0x7e0000000000, 32 * kMiB,
            {.stack = log.Stack({"main (train.cc:210)", "Big (big.cc:5)"})});
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kBad);
  EXPECT_EQ(Marked(),
            "1 suspected leak: [LossHistory::Append (loss_history.cc:24)], [+1.00 MiB per "
            "step>leaks], out of memory in about 60 steps; [1 request for memory failed only "
            "temporarily>failures] [details>leaks]");
}

TEST_F(VerdictTest, ALeakGivesItsSiteSlopeAndTheStepsLeft) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 40});
  Open(log);
  EXPECT_EQ(Marked(),
            "1 suspected leak: [LossHistory::Append (loss_history.cc:24)], [+1.00 MiB per "
            "step>leaks], out of memory in about 570 steps [details>leaks]");
  const VerdictTarget* show = TargetOf("details");
  ASSERT_NE(show, nullptr);
  EXPECT_EQ(show->site, document_.report()->leaks[0].leak.stack);
}

TEST_F(VerdictTest, WithoutALeakItSaysWhatThePeakIs) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 40, .leak = false});
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kGood);
  EXPECT_EQ(Marked(),
            "No leak found. Peak [512 MiB>timeline] at [step 0>timeline]: most is [optimizer "
            "state>categories] [192 MiB>categories], then [allocator slack>categories] [98.0 "
            "MiB>categories]");
  VerdictInput early = Input();
  early.categories = nullptr;
  EXPECT_EQ(Marked(MakeVerdict(early).parts),
            "No leak found. Peak [512 MiB>timeline] at [step 0>timeline]")
      << "the contents of the peak are not known yet";
}

TEST_F(VerdictTest, AShortLogIsNotJudged) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 2});
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kPlain);
  EXPECT_EQ(Marked(),
            "Too short to tell whether memory leaks, [1 completed step>leaks]. Peak [512 "
            "MiB>timeline] at [step 1>timeline]: most is [optimizer state>categories] [192 "
            "MiB>categories], then [parameters>categories] [96.0 MiB>categories]");
}

// Layer after layer of a single pass: neither a leak nor constant memory.
TEST_F(VerdictTest, RisingMemoryIsAWarning) {
  LogBuilder log;
  log.Device(0, 1 << 30);
  const std::vector<std::string> pass = {"main (train.py:9)", "Net.forward (model.py:7)"};
  const int keep = log.Stack({pass[0], pass[1], "attend (model.py:20)"});
  const int norm = log.Stack({pass[0], pass[1], "norm (model.py:21)"});
  for (std::uint64_t i = 0; i < 60; ++i) {
    log.Alloc(Layer::kBlock, 0x100'0000'0000 + (i << 20), 1 << 20, {.stack = keep});
    log.Alloc(Layer::kBlock, 0x900'0000'0000, 4096, {.stack = norm});
    log.Free(Layer::kBlock, 0x900'0000'0000);
  }
  Open(log);
  EXPECT_EQ(verdict_.tone, VerdictTone::kWarning);
  EXPECT_EQ(Marked(),
            "1 rising site, not sure to leak: [attend (model.py:20)>leaks]. Peak in use [60.0 "
            "MiB>timeline] after [178 µs>timeline]: most is [attend (model.py:20)] [60.0 MiB], "
            "then [norm (model.py:21)] [4.00 KiB]");
}

TEST_F(VerdictTest, SeveralLogsNameTheRank) {
  LogBuilder good, leaks, fails;
  for (LogBuilder* log : {&good, &leaks, &fails})
    testing::FillDemoLog(*log, {.steps = 30, .leak = log == &leaks, .capacity = 600 * kMiB});
  good.header().set_pid(100);
  leaks.header().set_pid(101);
  fails.header().set_pid(102);
  Fail(fails, 64 * kMiB, 2 * kMiB, "Big (big.cc:5)");
  Open({&good, &leaks});
  EXPECT_EQ(Marked(),
            "1 suspected leak in process 2: [LossHistory::Append (loss_history.cc:24)], [+1.00 MiB "
            "per step>leaks], out of memory in about 170 steps [details>leaks]");
  Open({&good, &leaks, &fails});
  EXPECT_EQ(Marked(),
            "Out of memory in process 3 at [step 29]: [64.0 MiB>failures] requested by [main "
            "(train.cc:210)]: reserve, 120 MiB was unused and could have been released; [1 "
            "suspected leak>leaks]; most was held by [AdamW::MakeState (adamw.cc:29)], [576 "
            "MiB>failures] [details>failures]");
}

TEST_F(VerdictTest, HostMemoryAlone) {
  LogBuilder log;
  log.AdvanceTime(1'000'000);
  log.Alloc(Layer::kPinned, 0x1000, 12 * kMiB);
  log.AdvanceTime(1'000'000);
  log.Free(Layer::kPinned, 0x1000);
  Open(log);
  EXPECT_EQ(Marked(),
            "Too short to tell whether memory leaks, [no steps>leaks]. No device memory; of the "
            "host at most [12.0 MiB>timeline] after [1.00 ms>timeline]");
  EXPECT_EQ(Marked(MakeFigures(Input(), analysis::kNoDevice)),
            "Peak [12.0 MiB] · at the end [0 B]");
}

TEST_F(VerdictTest, AnEmptyLog) {
  Open(LogBuilder());
  EXPECT_EQ(verdict_.Text(), QStringLiteral("The log has no allocation."));
  EXPECT_TRUE(MakeFigures(Input(), 0).empty());
}

TEST_F(VerdictTest, FiguresLeadToTheirInstants) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 10});
  Open(log);
  const std::vector<VerdictPart> parts = MakeFigures(Input(), 0);
  EXPECT_EQ(
      Marked(parts),
      "Peak [512 MiB] of 1.00 GiB · in use [392 MiB] / reserved [480 MiB] · at the end [512 MiB]");
  const analysis::DeviceFigures& device = document_.report()->report.devices[0];
  std::vector<analysis::TimeNs> instants;
  for (const VerdictPart& part : parts)
    if (part.target.has_value()) instants.push_back(part.target->instant.value());
  ASSERT_EQ(instants.size(), 4u);
  const TimelineBands* bands = document_.bands(0);
  EXPECT_EQ(bands->allocated.At(instants[0]), device.peak_bytes);
  EXPECT_EQ(bands->in_use.At(instants[1]), device.framework.peak_bytes);
  const auto timelines = analysis::TimelinesOf(*document_.session());
  EXPECT_EQ((*timelines)[0].framework_reserved.At(instants[2]),
            device.framework.peak_reserved_bytes);
  EXPECT_EQ(bands->allocated.At(instants[3]), device.live_bytes);
}

}  // namespace
}  // namespace memprof::viewer
