// A log that is still being written: it is read again as it grows, and all choices are kept. Also
// several logs in one window.
#include <gtest/gtest.h>

#include <QFileInfo>
#include <fstream>

#include "tests/viewer/table_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/views/summary_header.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::testing::LogBuilder;

class GrowingLogTest : public testing::WindowFixture {
 protected:
  // A log of `steps` steps by this process, which is alive; closed or not.
  void Write(int steps, bool closed) {
    LogBuilder log;
    testing::RecordedByThisProcess(log, directory_);
    log.Device(0, 1 << 30);
    if (other_stack_first_) log.Stack({"main (train.py:1)", "Other (train.py:5)"});
    const int stack = log.Stack({"main (train.py:1)", "Keep (train.py:9)"});
    for (int step = 0; step < steps; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      log.Alloc(analysis::Layer::kLinear, 0x10000 * static_cast<std::uint64_t>(step + 1),
                first_bytes_, {.stack = stack});
      log.AdvanceTime(1'000'000);
    }
    // Replaced in one operation, so that a reader never sees a part.
    const QString path = Path(), part = path + QStringLiteral(".part");
    const std::string bytes = log.Bytes({.events_per_chunk = 8, .trailer = closed});
    std::ofstream(part.toStdString(), std::ios::binary) << bytes;
    ASSERT_EQ(std::rename(qPrintable(part), qPrintable(path)), 0);
  }
  std::uint64_t first_bytes_ = 1 << 16;  // bytes of each early allocation
  bool other_stack_first_ = false;
  QString Path() const { return directory_.filePath(QStringLiteral("live.mprof")); }
  std::size_t Events() { return window_.document().session()->events().size(); }
  bool WaitForMoreThan(std::size_t events) {
    return QTest::qWaitFor([&] { return Events() > events; }, 30'000);
  }
};

TEST_F(GrowingLogTest, IsFollowedUntilItIsClosed) {
  Write(5, false);
  OpenPath(Path());
  ASSERT_EQ(window_.document().state(), Document::State::kReady);
  EXPECT_TRUE(window_.document().following());
  EXPECT_FALSE(window_.document().grew());
  const AllocationId chosen(2);
  const auto site = window_.document().session()->record(chosen).stack;
  window_.selection().SelectAllocation(chosen, site);
  const analysis::TimeNs instant = window_.selection().instant();
  std::size_t before = Events();
  Write(9, false);
  ASSERT_TRUE(WaitForMoreThan(before));
  EXPECT_TRUE(window_.document().grew());
  EXPECT_EQ(window_.selection().allocation(), chosen);
  EXPECT_EQ(window_.selection().window().end, window_.document().bounds().end)
      << "a window over the whole log follows its growth";
  EXPECT_GE(window_.selection().instant(), instant);
  EXPECT_NE(window_.document().timelines(), nullptr) << "no empty picture in between";
  EXPECT_NE(window_.document().report(), nullptr);
  // A time window in the past stays unchanged.
  const analysis::TimeWindow bounds = window_.document().bounds();
  const analysis::TimeWindow past{bounds.begin, bounds.begin + (bounds.end - bounds.begin) / 3};
  window_.selection().SetWindow(past);
  before = Events();
  Write(14, true);
  ASSERT_TRUE(WaitForMoreThan(before));
  EXPECT_EQ(window_.selection().window().begin, past.begin);
  EXPECT_EQ(window_.selection().window().end, past.end);
  window_.WaitUntilSettled();
  EXPECT_FALSE(window_.document().following()) << "it is closed now";
}

TEST_F(GrowingLogTest, AnAllocationThatIsAnotherNowIsNotChosen) {
  Write(5, false);
  OpenPath(Path());
  window_.selection().SelectAllocation(AllocationId(4), {});
  const std::size_t before = Events();
  first_bytes_ = 1 << 20;
  Write(9, false);
  ASSERT_TRUE(WaitForMoreThan(before));
  EXPECT_FALSE(window_.selection().allocation().valid());
}

// Ids of stacks may have another meaning in the grown log.
TEST_F(GrowingLogTest, APictureOfBeforeHasTheNamesOfItsOwnLog) {
  Write(5, false);
  OpenPath(Path(), ViewKind::kAllocations);
  const View* view = window_.page(ViewKind::kAllocations);
  const QString before = testing::Csv(*view);
  ASSERT_TRUE(before.contains(QStringLiteral("Keep"))) << before.toStdString();
  const auto session = window_.document().session();
  QString after;  // when the document has the new log, but the view still the old one
  QObject::connect(&window_.document(), &Document::StateChanged, &window_, [&] {
    if (window_.document().session() != session && after.isEmpty()) after = testing::Csv(*view);
  });
  other_stack_first_ = true;
  Write(9, false);
  ASSERT_TRUE(QTest::qWaitFor([&] { return !after.isEmpty(); }, 30'000));
  EXPECT_EQ(after, before);
}

TEST_F(GrowingLogTest, AFileThatIsGoneLeavesWhatThereIs) {
  Write(5, false);
  OpenPath(Path());
  const auto session = window_.document().session();
  QFile::remove(Path());
  QTest::qWait(1500);
  EXPECT_EQ(window_.document().session(), session);
  EXPECT_EQ(window_.document().state(), Document::State::kReady);
}

TEST_F(GrowingLogTest, IsFollowedOnWhenAnotherIsGivenUp) {
  Write(5, false);
  OpenPath(Path());
  window_.document().Open(testing::WriteDemoLog(directory_));
  EXPECT_FALSE(window_.document().following());
  window_.document().Cancel();
  EXPECT_TRUE(window_.document().following());
  const std::size_t before = Events();
  Write(9, false);
  EXPECT_TRUE(WaitForMoreThan(before));
}

TEST_F(GrowingLogTest, WhatIsOpenedWhileItIsReadAgainIsNotFollowed) {
  const QString closed = testing::WriteDemoLog(directory_);
  for (const int milliseconds : {0, 20, 60, 120}) {
    Write(5, false);
    OpenPath(Path());
    Write(4000, false);
    ASSERT_TRUE(QTest::qWaitFor([&] { return !window_.document().following(); }, 30'000));
    QTest::qWait(milliseconds);  // stop at different points of reading
    OpenPath(closed);
    EXPECT_EQ(window_.document().path(), closed);
    EXPECT_FALSE(window_.document().following());
    EXPECT_FALSE(window_.document().grew());
  }
}

TEST_F(GrowingLogTest, AClosedLogIsNotFollowed) {
  Open();
  EXPECT_FALSE(window_.document().following());
}

using SeveralLogsTest = testing::WindowFixture;

TEST_F(SeveralLogsTest, OpenAsOneSession) {
  const QString a = testing::WriteDemoLog(directory_);
  QTemporaryDir other;
  const QString b = other.filePath(QStringLiteral("b.mprof"));
  LogBuilder log;  // another process of the same job
  testing::FillDemoLog(log, {.steps = 30});
  log.header().set_pid(log.header().pid() + 1);
  ASSERT_TRUE(log.WriteTo(b.toStdString()).ok());
  window_.show();
  window_.OpenTogether({a, b});
  window_.WaitUntilSettled();
  ASSERT_EQ(window_.document().state(), Document::State::kReady)
      << window_.document().error().toStdString();
  EXPECT_EQ(window_.document().session()->processes().size(), 2u);
  EXPECT_TRUE(window_.windowTitle().contains(QStringLiteral("1 more")));
  EXPECT_EQ(window_.document().paths(), QStringList({a, b}));
  // A folder means the logs in it.
  window_.Open(directory_.path());
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().session()->processes().size(), 1u);
}

TEST_F(SeveralLogsTest, AFolderWithoutLogsIsReportedInOneLine) {
  QTemporaryDir empty;
  window_.show();
  window_.Open(empty.path());
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().state(), Document::State::kFailed);
  EXPECT_TRUE(window_.document().error().contains(QStringLiteral("no log (*.mprof)")));
}

}  // namespace
}  // namespace memprof::viewer
