// The model of other allocators, tested with Qt's model tester and as text.
#include "viewer/models/what_if_model.h"

#include <gtest/gtest.h>

#include <QSignalSpy>

#include "analysis/base/sizes.h"
#include "tests/viewer/compare_models.h"
#include "tests/viewer/model_fixture.h"

namespace memprof::viewer {
namespace {

using analysis::DeviceReplay;
using analysis::kMiB;
using analysis::WhatIf;
using testing::CompareModels;
using testing::kFatal;
using testing::Print;
using testing::S;
using testing::Show;

// A hand-made replay: 64 MiB recorded, one other allocator finished and one pending.
DeviceReplay Replay() {
  DeviceReplay replay;
  replay.device = 0;
  replay.requests = 7;
  replay.streams = 1;
  replay.recorded.peak_reserved = 64 * kMiB;
  replay.recorded.allocated_at_peak = 48 * kMiB;
  replay.recorded.peak_segments = 4;
  replay.recorded_driver_calls = 9;
  replay.recorded_reserved = {{10, 64 * kMiB}};
  replay.replayed.figures = replay.recorded;
  replay.replayed.done = true;
  WhatIf done;
  done.spec = *analysis::allocators::ParseSpec("caching:expandable");
  done.figures.peak_reserved = 60 * kMiB;
  done.figures.allocated_at_peak = 54 * kMiB;
  done.figures.peak_segments = 2;
  done.driver_calls = 3;
  done.saving = 4 * static_cast<std::int64_t>(kMiB);
  done.done = true;
  done.reserved = {{10, 60 * kMiB}};
  WhatIf coming;
  coming.spec = *analysis::allocators::ParseSpec("bfc");
  replay.others = {done, coming};
  replay.max_live = 50 * kMiB;
  return replay;
}

TEST_F(CompareModels, AllocatorsSideBySide) {
  const auto session = Load(2);
  WhatIfModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Show(Print(model)), Show(QStringList()));
  model.SetDevice(DescribeReplay(*session, Replay(), false));
  EXPECT_EQ(Show(Print(model)),
            Show(QStringList({S("as recorded|64.0 MiB||25 %|||4|9|"),
                              S("caching, replayed as recorded|64.0 MiB||25 %|0|exact|4||"),
                              S("caching:expandable|60.0 MiB||10 %|+4.00 MiB (6.2 %)|exact|2|3|"),
                              S("bfc|…|||||||"),
                              S("bound: most alive|50.0 MiB||0 %|+14.0 MiB (22 %)|exact|||")})));
  DeviceReplay replay = Replay();
  replay.capacity = 62 * kMiB;
  replay.placement.height = 52 * kMiB;
  replay.residual = -static_cast<std::int64_t>(kMiB);
  replay.others[1].done = true;
  replay.others[1].fits = false;
  replay.others[1].figures.peak_reserved = 62 * kMiB;
  replay.others[1].figures.failed_bytes = 3 * kMiB;
  model.SetDevice(DescribeReplay(*session, replay, true));
  EXPECT_EQ(
      Show(Print(model).mid(2)),
      Show(QStringList({S("caching:expandable|60.0 MiB||10 %|+4.00 MiB (6.2 %)|± 1.00 MiB|2|3|"
                          "yes"),
                        S("bfc|62.0 MiB||100 %|0|± 1.00 MiB|||no"),
                        S("offline optimum|52.0 MiB||3.8 %|+12.0 MiB (19 %)|± 1.00 MiB|||"),
                        S("bound: most alive|50.0 MiB||0 %|+14.0 MiB (22 %)|± 1.00 MiB|||")})));
  EXPECT_TRUE(model.index(3, 0).data(Qt::ToolTipRole).toString().contains(S("3.00 MiB")));
  model.SetDevice({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST_F(CompareModels, VerdictsSayHowWellTheRecordedOneIsKnown) {
  const auto session = Load(2);
  const auto verdict = [&](const DeviceReplay& replay) {
    return DescribeReplay(*session, replay, true).verdict;
  };
  DeviceReplay replay = Replay();
  EXPECT_TRUE(verdict(replay).contains(S("the recorded peak exactly")));
  replay.residual = static_cast<std::int64_t>(kMiB);
  EXPECT_TRUE(verdict(replay).contains(S("1.00 MiB more than the recorded peak")));
  EXPECT_TRUE(verdict(replay).contains(S("uncertain by")));
  replay.uncertain = true;
  EXPECT_TRUE(verdict(replay).contains(S("savings are uncertain.")));
  replay.samples = 5;
  EXPECT_TRUE(verdict(replay).contains(S("at the worst of 5 samples")));
  replay.residual = 0;
  EXPECT_TRUE(verdict(replay).contains(S("5 samples of free memory agree exactly")));
  replay.unchecked = true;
  EXPECT_TRUE(verdict(replay).contains(S("not checked")));
  EXPECT_EQ(DescribeReplay(*session, replay, true).doubt, S("unchecked"));
  replay.origin = analysis::SpecOrigin::kEnvironment;
  EXPECT_TRUE(verdict(replay).contains(S("from the recorded environment")));
}

TEST_F(CompareModels, TheLogsFiguresComeBeforeAnySimulation) {
  const auto session = Load(2);
  DeviceReplay replay = Replay();
  replay.replayed = {};
  replay.others = {replay.others[1]};
  replay.max_live = 0;
  const WhatIfDevice device = DescribeReplay(*session, replay, false);
  EXPECT_EQ(device.verdict, S("Replaying the recorded allocator …"));
  WhatIfModel model;
  model.SetDevice(device);
  EXPECT_EQ(Show(Print(model)),
            Show(QStringList({S("as recorded|64.0 MiB||25 %|||4|9|"),
                              S("the recorded allocator, replayed|…|||||||"), S("bfc|…|||||||")})));
}

TEST_F(CompareModels, OwnConfigurationsComeBeforeTheLimits) {
  const auto session = Load(2);
  WhatIfDevice device = DescribeReplay(*session, Replay(), true);
  DeviceReplay own = Replay();
  own.others.pop_back();
  own.others[0].spec = *analysis::allocators::ParseSpec("pool");
  own.others[0].figures.peak_reserved = 70 * kMiB;
  // relative to another model of the recorded allocator, so it must not be used
  own.others[0].saving = 12345;
  AddOwn(own, &device);
  ASSERT_EQ(device.rows.size(), 6u);
  EXPECT_EQ(device.rows[4].name, S("pool"));
  EXPECT_TRUE(device.rows[4].own);
  EXPECT_EQ(device.rows[4].saving, -6 * static_cast<std::int64_t>(kMiB));
  EXPECT_EQ(device.rows[5].kind, WhatIfRow::Kind::kBound);
  own.others[0].figures.peak_reserved = 71 * kMiB;
  AddOwn(own, &device);
  ASSERT_EQ(device.rows.size(), 6u) << "replaced";
  EXPECT_EQ(device.rows[4].reserved, 71 * kMiB);
  WhatIfDevice empty;
  AddOwn(own, &empty);
  EXPECT_TRUE(empty.rows.empty());
}

TEST_F(CompareModels, TheScaleEndsAtTheCapacityWhereThatIsNear) {
  const auto session = Load(2);
  WhatIfDevice device = DescribeReplay(*session, Replay(), true);
  EXPECT_EQ(ScaleOf(device).most, 64 * kMiB);
  EXPECT_EQ(ScaleOf(device).recorded, 64 * kMiB);
  EXPECT_FALSE(ScaleOf(device).capacity_shown);
  EXPECT_EQ(ScaleOf(device).beyond, 0) << "there is no capacity";
  device.capacity = 128 * kMiB;
  EXPECT_TRUE(ScaleOf(device).capacity_shown);
  EXPECT_EQ(ScaleOf(device).most, 128 * kMiB);
  device.capacity = 32 * kMiB;
  EXPECT_TRUE(ScaleOf(device).capacity_shown);
  EXPECT_EQ(ScaleOf(device).most, 64 * kMiB);
  device.capacity = 640 * kMiB;
  EXPECT_FALSE(ScaleOf(device).capacity_shown);
  EXPECT_DOUBLE_EQ(ScaleOf(device).beyond, 10);
  EXPECT_EQ(ScaleOf({}).most, 1u);
}

TEST_F(CompareModels, TickedRowsHaveColoursOfTheirOwn) {
  const auto session = Load(2);
  WhatIfModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetDevice(DescribeReplay(*session, Replay(), true));
  QSignalSpy spy(&model, &WhatIfModel::DrawnChanged);
  const QModelIndex cell = model.index(2, WhatIfModel::kName);
  EXPECT_EQ(cell.data(Qt::CheckStateRole).toInt(), Qt::Unchecked);
  EXPECT_EQ(model.ColorOf(2), -1);
  EXPECT_TRUE(model.setData(cell, Qt::Checked, Qt::CheckStateRole));
  EXPECT_EQ(spy.count(), 1);
  EXPECT_TRUE(model.Drawn(2));
  EXPECT_EQ(model.ColorOf(2), 0);
  model.SetDrawn(0, true);
  EXPECT_EQ(model.ColorOf(0), -1) << "the recorded allocator has the text colour";
  model.SetDrawn(3, true);
  EXPECT_EQ(model.ColorOf(3), 1);
  model.SetDrawn(2, false);
  model.SetDrawn(4, true);
  EXPECT_EQ(model.ColorOf(4), 0) << "a colour that became free";
  model.SetDevice(DescribeReplay(*session, Replay(), true));
  EXPECT_TRUE(model.Drawn(3)) << "kept by name";
  EXPECT_FALSE(model.setData(model.index(2, 1), Qt::Checked, Qt::CheckStateRole));
  EXPECT_FALSE(model.index(3, 0).data(Qt::CheckStateRole).isValid()) << "nothing to draw yet";
  EXPECT_FALSE(model.flags(model.index(3, 0)).testFlag(Qt::ItemIsUserCheckable));
  EXPECT_TRUE(model.flags(cell).testFlag(Qt::ItemIsUserCheckable));
}

TEST_F(CompareModels, SharesWithTheirSign) {
  EXPECT_EQ(SignedShare(0, 10), S("0"));
  EXPECT_EQ(SignedShare(512, 1024), S("+512 B (50 %)"));
  EXPECT_EQ(SignedShare(-2048, 1024), S("-2.00 KiB (200 %)"));
  EXPECT_EQ(SignedShare(-2048, 0), S("-2.00 KiB"));
  EXPECT_EQ(SignedBytes(0), S("="));
  EXPECT_EQ(SignedBytes(1024), S("+1.00 KiB"));
  EXPECT_EQ(SignedBytes(-512), S("-512 B"));
}

}  // namespace
}  // namespace memprof::viewer
