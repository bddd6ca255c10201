// Pictures of advice, holes and failures, from small logs.
#include <gtest/gtest.h>

#include "analysis/base/sizes.h"
#include "analysis/load/load.h"
#include "tests/viewer/demo_log.h"
#include "viewer/models/advice_model.h"
#include "viewer/models/fact_table.h"
#include "viewer/models/fragmentation_picture.h"
#include "viewer/models/oom_picture.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::Op;
using analysis::Pattern;
using analysis::Session;
using analysis::testing::LogBuilder;

class PictureTest : public ::testing::Test {
 protected:
  void Load(const LogBuilder& log) {
    const std::string path = directory_.filePath(QStringLiteral("x.mprof")).toStdString();
    ASSERT_TRUE(log.WriteTo(path).ok());
    auto session = analysis::LoadLogs({path}, {.find_steps = false});
    ASSERT_TRUE(session.ok());
    session_ = *session;
    symbols_ = std::make_shared<analysis::Symbols>(session_);
  }
  std::shared_ptr<const AdvicePicture> Advice() {
    return MakeAdvicePicture(*session_, *symbols_, {}, {});
  }

  QTemporaryDir directory_;
  std::shared_ptr<const Session> session_;
  std::shared_ptr<analysis::Symbols> symbols_;
};

TEST_F(PictureTest, AdviceOfALeakNamesItsAllocations) {
  LogBuilder log;
  testing::FillDemoLog(log);
  Load(log);
  const auto picture = Advice();
  ASSERT_NE(picture, nullptr);
  const AdviceEntry* leak = nullptr;
  for (const AdviceEntry& entry : picture->entries)
    if (entry.finding.pattern == Pattern::kLeak) leak = &entry;
  ASSERT_NE(leak, nullptr);
  EXPECT_TRUE(leak->site.startsWith(QLatin1String(testing::kLeakFunction)));
  EXPECT_EQ(leak->peak_before, leak->finding.new_peak.bytes + leak->finding.saves_bytes);
  EXPECT_FALSE(leak->stack.empty());
  const std::vector<FactRow> rows = AffectedRows(*session_, *leak);
  EXPECT_GT(rows.size(), 3u);
  for (const FactRow& row : rows) {
    EXPECT_EQ(session_->record(row.allocation).bytes, testing::kLeakBytes);
    EXPECT_TRUE(row.cells[3].text.contains(QStringLiteral("loss.retained")));
    EXPECT_EQ(row.cells.size(), AffectedColumns().size());
  }
  EXPECT_FALSE(picture->notes.isEmpty());  // the log has no launches
}

TEST_F(PictureTest, AdviceGivesUpWhenAsked) {
  LogBuilder log;
  testing::FillDemoLog(log);
  Load(log);
  std::stop_source stop;
  stop.request_stop();
  EXPECT_EQ(MakeAdvicePicture(*session_, *symbols_, {}, stop.get_token()), nullptr);
  EXPECT_EQ(MakePoolsPicture(*session_, {}, stop.get_token()), nullptr);
}

TEST_F(PictureTest, AFilterLeavesTheFindingsOfOtherSitesOut) {
  LogBuilder log;
  testing::FillDemoLog(log);
  Load(log);
  const auto picture = Advice();
  analysis::AllocationFilter filter;
  filter.text = testing::kLeakFunction;
  const auto passing = analysis::Matching(*session_, *symbols_, nullptr, filter);
  const auto shown = PassingEntries(*session_, *symbols_, *picture, passing);
  ASSERT_EQ(shown.size(), picture->entries.size());
  std::size_t left_out = 0;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const bool leaky = picture->entries[i].site.startsWith(QLatin1String(testing::kLeakFunction));
    EXPECT_EQ(shown[i], leaky) << picture->entries[i].site.toStdString();
    left_out += !shown[i];
  }
  EXPECT_GT(left_out, 0u);
}

TEST_F(PictureTest, HolesAreThoseOfTheInstant) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 12});
  Load(log);
  const auto pools = MakePoolsPicture(*session_, {}, {});
  ASSERT_EQ(pools->Of(0).size(), 1u);
  EXPECT_TRUE(pools->Of(1).empty());
  EXPECT_EQ(pools->Worst(1), nullptr);
  const analysis::FragmentationPoint* worst = pools->Worst(0);
  ASSERT_NE(worst, nullptr);
  const auto at =
      MakeHolesPicture(analysis::FragmentationHistory(session_), *symbols_, 0, worst->time);
  EXPECT_EQ(at->pinned, worst->state.pinned);
  EXPECT_EQ(at->largest_hole, worst->state.largest_hole);
  EXPECT_EQ(at->holes, worst->state.holes);
  EXPECT_EQ(at->free_bytes, at->pinned + at->releasable);
  ASSERT_FALSE(at->pin_rows.empty());
  ASSERT_FALSE(at->hole_rows.empty());
  EXPECT_EQ(at->pin_rows[0].cells.size(), PinColumns().size());
  EXPECT_EQ(at->hole_rows[0].cells.size(), HoleColumns().size());
  EXPECT_EQ(at->hole_rows[0].cells[0].sort, static_cast<double>(at->largest_hole));
  for (const FactRow& row : at->pin_rows) {
    EXPECT_TRUE(row.allocation.valid());
    EXPECT_EQ(row.site, session_->record(row.allocation).stack);
  }
}

TEST_F(PictureTest, ColumnsHoldTheExtremesOfTheirTimes) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 12});
  Load(log);
  const auto pools = MakePoolsPicture(*session_, {}, {});
  const analysis::PoolTimeline& pool = pools->pools[0];
  const analysis::EventTable& events = session_->events();
  const TimeScale scale{{events.first_time(), events.last_time() + 1}, 0, 50, nullptr};
  const PoolColumns columns = MakePoolColumns(pool, scale, 50);
  EXPECT_TRUE(columns.Fit(scale, 50));
  EXPECT_FALSE(columns.Fit(scale, 51));
  std::uint64_t reserved = 0, share = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    const TimelineColumns& stack = columns.stack;
    EXPECT_LE(stack.high[PoolColumns::kInUse][i], stack.high[PoolColumns::kReserved][i]);
    EXPECT_LE(stack.low[PoolColumns::kInUse][i], stack.high[PoolColumns::kInUse][i]);
    EXPECT_EQ(stack.low[PoolColumns::kReserved][i], stack.high[PoolColumns::kReserved][i]);
    reserved = std::max(reserved, stack.high[PoolColumns::kReserved][i]);
    share = std::max(share, columns.share[i]);
  }
  EXPECT_EQ(reserved, pool.reserved.max());
  EXPECT_EQ(share, pool.share.max());
}

// The demo's log, then an allocator that gives up while another pool has a large hole.
void FillOomLog(LogBuilder& log) {
  testing::FillDemoLog(log, {.steps = 6, .capacity = 600 * kMiB});
  const int site =
      log.Stack({"main (train.cc:210)", "Model::Forward (model.cc:64)", "Big (big.cc:5)"});
  log.AllocFailed(
      Layer::kLinear, 64 * kMiB,
      {.stack = site, .aux0 = 2 * kMiB, .aux1 = 600 * kMiB, .result = 2, .api = "cuMemAlloc_v2"});
  log.Event(Op::kFrameworkOom, Layer::kBlock, 0, 60 * kMiB, 0, {.stack = site});
  log.AdvanceTime(1000);
}

TEST_F(PictureTest, EveryByteAtAFailureIsInTheBars) {
  LogBuilder log;
  FillOomLog(log);
  Load(log);
  const auto failures = MakeFailuresPicture(session_, symbols_);
  ASSERT_EQ(failures->failures.size(), 1u);
  EXPECT_EQ(failures->first, 0);
  EXPECT_EQ(failures->rows[0].cells.size(), FailureColumns().size());
  EXPECT_TRUE(failures->rooms.empty());
  const analysis::Categories categories(*session_, symbols_.get());
  const auto picture =
      MakeOomPicture(*session_, *failures->explainer, &categories, failures->failures[0]);
  EXPECT_EQ(picture->whole, 600 * kMiB);
  EXPECT_EQ(picture->by_site.bytes(), 600 * kMiB);
  EXPECT_EQ(picture->by_category.bytes(), 600 * kMiB);
  EXPECT_TRUE(picture->headline.startsWith(QStringLiteral("60.0 MiB on device 0 at step 5")));
  EXPECT_TRUE(picture->driver_call.contains(QStringLiteral("64.0 MiB")));
  double space = 0;
  for (const FactRow& row : picture->space) space += row.cells[0].sort;
  EXPECT_EQ(space, 600.0 * kMiB);
  ASSERT_FALSE(picture->scale.empty());
  EXPECT_EQ(picture->scale[0].bytes(), 60 * kMiB);
  EXPECT_FALSE(picture->remedies.empty());
  EXPECT_FALSE(picture->live.empty());
  const auto without =
      MakeOomPicture(*session_, *failures->explainer, nullptr, failures->failures[0]);
  EXPECT_TRUE(without->by_category.parts.empty());
}

TEST_F(PictureTest, TheFailureToBeginWithIsTheLastForGood) {
  LogBuilder log;
  log.Device(0, 600 * kMiB);
  const auto fail = [&](std::uint64_t bytes) {
    log.AllocFailed(Layer::kLinear, bytes, {.aux0 = kMiB, .aux1 = 600 * kMiB, .result = 2});
    log.AdvanceTime(1000);
  };
  fail(64 * kMiB);
  fail(32 * kMiB);
  log.Alloc(Layer::kLinear, 0x100000000, 32 * kMiB);  // the second request then succeeded
  Load(log);
  const auto failures = MakeFailuresPicture(session_, symbols_);
  ASSERT_EQ(failures->failures.size(), 2u);
  EXPECT_EQ(failures->first, 0);
  EXPECT_EQ(failures->rows[1].cells[4].text, QStringLiteral("succeeded"));
}

TEST_F(PictureTest, WithoutAFailureItShowsHowNearItCame) {
  LogBuilder log;
  testing::FillDemoLog(log, {.steps = 6});
  Load(log);
  const auto failures = MakeFailuresPicture(session_, symbols_);
  EXPECT_EQ(failures->first, -1);
  EXPECT_EQ(failures->explainer, nullptr);
  ASSERT_EQ(failures->rooms.size(), 1u);
  const QString sentence = HeadroomSentence(*session_, failures->rooms);
  EXPECT_TRUE(sentence.contains(QStringLiteral("Device 0 came nearest"))) << sentence.toStdString();
  const std::vector<ByteBar> bars = HeadroomBars(failures->rooms);
  ASSERT_EQ(bars.size(), 1u);
  EXPECT_EQ(bars[0].bytes(), std::uint64_t{1} << 30);
  EXPECT_TRUE(HeadroomSentence(*session_, {}).contains(QStringLiteral("not known")));
}

}  // namespace
}  // namespace memprof::viewer
