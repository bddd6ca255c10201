// Loading a log in stages: what a document publishes, when, and what it keeps when a log is
// damaged.
#include "viewer/models/document.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <map>

#include "tests/viewer/demo_log.h"
#include "viewer/geometry/names.h"

namespace memprof::viewer {
namespace {

using State = Document::State;

class DocumentTest : public ::testing::Test {
 protected:
  void WaitForJobs() {
    ASSERT_TRUE(QTest::qWaitFor([] { return JobTracker::ActiveJobs() == 0; }, 60000));
    QCoreApplication::processEvents();
  }

  void Open(const QString& path) {
    document_.Open(path);
    EXPECT_EQ(document_.state(), State::kLoading);
    EXPECT_EQ(document_.opening(), path);
    WaitForJobs();
  }

  QString Broken() {
    const QString path = directory_.filePath(QStringLiteral("broken.mprof"));
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("nonsense\nin two lines");
    return path;
  }

  QTemporaryDir directory_;
  Document document_;
};

TEST_F(DocumentTest, IsEmptyBeforeTheFirstLog) {
  EXPECT_EQ(document_.state(), State::kEmpty);
  EXPECT_EQ(document_.session(), nullptr);
  EXPECT_EQ(document_.bands(0), nullptr);
  EXPECT_EQ(document_.device(0), nullptr);
  EXPECT_FALSE(document_.step_clock().known());
  EXPECT_EQ(document_.bounds().end, 1u);
  document_.Cancel();
  EXPECT_EQ(document_.state(), State::kEmpty);
}

// The keys of the sites of a log by their bytes times lifetime, counted allocation by allocation.
QStringList CountSites(const analysis::Session& session, analysis::Symbols& symbols) {
  std::map<QString, double> held;
  for (std::uint32_t i = 0; i < session.records().size(); ++i) {
    const analysis::AllocationRecord& record = session.record(analysis::AllocationId(i));
    bool counts = record.layer != analysis::Layer::kTensor && record.stack.valid();
    for (const analysis::AllocationId child : session.Children(analysis::AllocationId(i)))
      counts = counts && session.record(child).layer == analysis::Layer::kTensor;
    if (!counts) continue;
    const std::size_t end = record.alive() ? session.events().size() : record.death.value;
    held[NameSites(symbols, {&record.stack, 1})[0].key] +=
        static_cast<double>(record.bytes) * static_cast<double>(end - record.birth.value);
  }
  QStringList keys;
  for (const auto& [key, sum] : held) keys << key;
  std::stable_sort(keys.begin(), keys.end(),
                   [&held](const QString& a, const QString& b) { return held[a] > held[b]; });
  return keys;
}

TEST_F(DocumentTest, GivesSitesTheSameColorsInEveryWindow) {
  const QString path = testing::WriteDemoLog(directory_, {.steps = 20});
  Document other;
  other.Open(path);
  Open(path);
  const QStringList keys = RankSitesOfLog(*document_.session(), *document_.symbols());
  EXPECT_EQ(keys, CountSites(*document_.session(), *document_.symbols()));
  ASSERT_GT(keys.size(), 4);
  std::vector<std::vector<int>> forwards;
  for (qsizetype i = 0; i < keys.size(); ++i)
    forwards.push_back(document_.site_colors()->Of(keys.mid(i)));
  for (qsizetype i = keys.size(); i-- > 0;)
    EXPECT_EQ(other.site_colors()->Of(keys.mid(i)), forwards[static_cast<std::size_t>(i)]);
}

TEST_F(DocumentTest, FillsInStages) {
  QSignalSpy states(&document_, &Document::StateChanged);
  QSignalSpy timelines(&document_, &Document::TimelinesReady);
  QSignalSpy reports(&document_, &Document::ReportReady);
  QSignalSpy progress(&document_, &Document::ProgressChanged);
  const QString path = testing::WriteDemoLog(directory_, {.steps = 20});
  Open(path);
  EXPECT_EQ(document_.state(), State::kReady);
  EXPECT_EQ(document_.path(), path);
  EXPECT_EQ(document_.progress(), 1);
  EXPECT_EQ(states.count(), 2) << "loading, ready";
  EXPECT_EQ(timelines.count(), 1);
  EXPECT_EQ(reports.count(), 1);
  double last = 0;
  for (const QList<QVariant>& share : progress) {
    EXPECT_GE(share[0].toDouble(), last);
    EXPECT_LE(share[0].toDouble(), 1);
    last = share[0].toDouble();
  }
  ASSERT_NE(document_.device(0), nullptr);
  EXPECT_EQ(document_.device(0)->name, "Simulated GPU");
  EXPECT_EQ(document_.device(7), nullptr);
  ASSERT_NE(document_.bands(0), nullptr);
  ASSERT_NE(document_.bands(analysis::kNoDevice), nullptr) << "pinned host memory";
  EXPECT_EQ(document_.bands(analysis::kNoDevice)->top.max(), 8u << 20);
  EXPECT_EQ(document_.bands(3), nullptr);
  EXPECT_TRUE(document_.step_clock().known());
  const analysis::TimeWindow bounds = document_.bounds();
  EXPECT_LE(bounds.begin, document_.session()->events().first_time());
  EXPECT_GE(bounds.end, document_.session()->events().last_time());
}

TEST_F(DocumentTest, NamesTheLeakInItsReport) {
  Open(testing::WriteDemoLog(directory_));
  ASSERT_NE(document_.report(), nullptr);
  ASSERT_EQ(document_.report()->leaks.size(), 1u);
  const LeakRow& row = document_.report()->leaks[0];
  EXPECT_EQ(row.site.function, testing::kLeakFunction);
  EXPECT_EQ(row.site.line, 24);
  EXPECT_NEAR(row.leak.bytes_per_step, static_cast<double>(testing::kLeakBytes), 1);
  EXPECT_EQ(row.example, QString::fromUtf8("loss.retained  fp32[256×1024]"));
  ASSERT_GE(row.stack.size(), 4u);
  EXPECT_EQ(row.stack.front().function, testing::kLeakFunction) << "innermost first";
  EXPECT_EQ(row.stack.back().function, "main");
  EXPECT_FALSE(document_.report()->live_at_exit.empty());
}

TEST_F(DocumentTest, ABrokenFirstLogFails) {
  Open(Broken());
  EXPECT_EQ(document_.state(), State::kFailed);
  EXPECT_TRUE(document_.error().contains(QStringLiteral("broken.mprof")));
  EXPECT_FALSE(document_.error().contains(QLatin1Char('\n')));
  EXPECT_EQ(document_.path(), Broken());
  EXPECT_EQ(document_.session(), nullptr);
}

TEST_F(DocumentTest, ABrokenSecondLogLeavesTheFirst) {
  const QString path = testing::WriteDemoLog(directory_, {.steps = 5});
  Open(path);
  const auto session = document_.session();
  const auto timelines = document_.timelines();
  const auto report = document_.report();
  Open(directory_.filePath(QStringLiteral("missing.mprof")));
  EXPECT_EQ(document_.state(), State::kReady);
  EXPECT_TRUE(document_.error().contains(QStringLiteral("missing.mprof")));
  EXPECT_EQ(document_.path(), path);
  EXPECT_EQ(document_.session(), session);
  EXPECT_EQ(document_.timelines(), timelines);
  EXPECT_EQ(document_.report(), report);
  Open(path);
  EXPECT_TRUE(document_.error().isEmpty());
  EXPECT_NE(document_.session(), session);
}

TEST_F(DocumentTest, CancelGoesBackToWhatWasOpen) {
  const QString path = testing::WriteDemoLog(directory_, {.steps = 5});
  document_.Open(path);
  document_.Cancel();
  EXPECT_EQ(document_.state(), State::kEmpty);
  WaitForJobs();
  EXPECT_EQ(document_.session(), nullptr) << "a late result is dropped";
  Open(path);
  const auto session = document_.session();
  document_.Open(path);
  document_.Cancel();
  WaitForJobs();
  EXPECT_EQ(document_.state(), State::kReady);
  EXPECT_EQ(document_.session(), session);
}

TEST_F(DocumentTest, TheLastOfTwoOpensWins) {
  const QString small = testing::WriteDemoLog(directory_, {.steps = 3});
  QTemporaryDir other;
  const QString large = testing::WriteDemoLog(other, {.steps = 30});
  document_.Open(large);
  document_.Open(small);
  WaitForJobs();
  EXPECT_EQ(document_.path(), small);
  EXPECT_EQ(document_.session()->steps().size(), 3u);
}

TEST_F(DocumentTest, TheClockIsThatOfTheChosenAxis) {
  Selection selection;
  selection.SetAxis(AxisKind::kSteps);
  EXPECT_EQ(ShownClock(document_, selection), nullptr) << "no log, no steps";
  Open(testing::WriteDemoLog(directory_, {.steps = 5}));
  EXPECT_EQ(ShownClock(document_, selection), &document_.step_clock());
  selection.SetAxis(AxisKind::kTime);
  EXPECT_EQ(ShownClock(document_, selection), nullptr);
}

TEST_F(DocumentTest, SitesAreCountedInTheLayerThatPeopleMean) {
  using analysis::Layer;
  EXPECT_EQ(SiteLayers(nullptr), analysis::kDeviceLayers);
  TimelineBands bands;
  EXPECT_EQ(SiteLayers(&bands), analysis::kDeviceLayers);
  bands.framework = true;
  EXPECT_EQ(SiteLayers(&bands), analysis::LayerBit(Layer::kBlock));
  bands.device = analysis::kNoDevice;
  EXPECT_EQ(SiteLayers(&bands),
            analysis::LayerBit(Layer::kPinned) | analysis::LayerBit(Layer::kRegistered));
}

TEST_F(DocumentTest, BlocksAreNamedAfterTheTensorInThem) {
  Open(testing::WriteDemoLog(directory_, {.steps = 3}));
  const analysis::Session& session = *document_.session();
  int blocks = 0, nameless = 0;
  for (std::uint32_t i = 0; i < session.allocations().size(); ++i) {
    const analysis::AllocationId id(i);
    const analysis::Allocation& allocation = session.allocation(id);
    const QString label = TensorLabel(session, id);
    if (allocation.layer == analysis::Layer::kBlock) {
      ++blocks;
      ASSERT_EQ(session.Children(id).size(), 1u);
      EXPECT_EQ(label, TensorLabel(session, session.Children(id)[0]));
      EXPECT_TRUE(label.contains(QStringLiteral("fp32["))) << label.toStdString();
    } else if (allocation.layer == analysis::Layer::kPinned) {
      ++nameless;
      EXPECT_EQ(label, QString());
    }
  }
  EXPECT_GT(blocks, 24);
  EXPECT_EQ(nameless, 1);
}

}  // namespace
}  // namespace memprof::viewer
