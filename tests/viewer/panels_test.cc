// What surrounds the views: the details beside them, the header above, the leaks' evidence.
#include <gtest/gtest.h>

#include <QClipboard>
#include <QComboBox>
#include <QGuiApplication>
#include <QLabel>
#include <QTabWidget>
#include <QTreeView>

#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/details_panel.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/leak_view.h"
#include "viewer/views/rich_label.h"
#include "viewer/views/stack_view.h"
#include "viewer/views/summary_header.h"
#include "viewer/views/survivor_chart.h"

namespace memprof::viewer {
namespace {

using testing::Count;
using testing::Grab;

class PanelTest : public testing::WindowFixture {
 protected:
  DetailsPanel* details() { return window_.findChild<DetailsPanel*>(); }
  SummaryHeader* header() { return window_.findChild<SummaryHeader*>(); }

  // All texts of a widget's labels.
  static QString Texts(QWidget* widget) {
    QString texts;
    for (QLabel* label : widget->findChildren<QLabel*>()) {
      if (label->isVisibleTo(widget)) texts += label->text() + QLatin1Char('\n');
    }
    for (RichLabel* label : widget->findChildren<RichLabel*>()) {
      if (label->isVisibleTo(widget)) texts += label->text() + QLatin1Char('\n');
    }
    return texts;
  }

  QTreeView* Ranking(const QAbstractItemModel& model) {
    for (QTreeView* view : details()->findChildren<QTreeView*>()) {
      if (view->model() == &model) return view;
    }
    return nullptr;
  }
};

TEST_F(PanelTest, RankingsAddUpToWhatIsInUse) {
  Open({.steps = 20});
  // Not at the peak: there the last block has no tensor yet.
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  const std::uint64_t in_use =
      window_.document().bands(0)->in_use.At(window_.selection().instant());
  for (const RankedModel* model : {&details()->sites(), &details()->tensors()}) {
    std::uint64_t sum = 0, last = ~std::uint64_t{0};
    for (int row = 0; row < model->rowCount(); ++row) {
      EXPECT_LE(model->row(row).bytes, last) << "largest first";
      last = model->row(row).bytes;
      sum += last;
    }
    EXPECT_EQ(sum, in_use);
  }
  EXPECT_TRUE(Texts(details()).contains(FormatBytes(in_use)));
  const std::int64_t step = window_.document().session()->StepAt(window_.selection().instant());
  EXPECT_TRUE(Texts(details()).contains(QStringLiteral("step %1").arg(step)));
}

TEST_F(PanelTest, ARowOfARankingSelectsItsSiteEverywhere) {
  Open({.steps = 20});
  int leak_row = -1;
  for (int row = 0; row < details()->sites().rowCount(); ++row) {
    if (details()->sites().row(row).name.startsWith(QString::fromUtf8(testing::kLeakFunction))) {
      leak_row = row;
    }
  }
  ASSERT_GE(leak_row, 0);
  QTreeView* table = Ranking(details()->sites());
  ASSERT_NE(table, nullptr);
  table->setCurrentIndex(table->model()->index(leak_row, 0));
  window_.WaitUntilSettled();
  const analysis::StackId leak = window_.document().report()->leaks[0].leak.stack;
  EXPECT_EQ(window_.selection().site(), leak);
  EXPECT_EQ(window_.leaks()->model().leak(window_.leaks()->table()->currentIndex())->leak.stack,
            leak);
  EXPECT_EQ(details()->stack().rowCount(), 4);
  EXPECT_EQ(details()->stack().index(0, 0).data().toString(),
            QString::fromUtf8(testing::kLeakFunction));
  EXPECT_TRUE(details()->SelectionText().contains(QStringLiteral("Call site")));
  QTest::keyClick(&window_, Qt::Key_Escape);
  EXPECT_FALSE(window_.selection().site().valid());
  EXPECT_TRUE(details()->SelectionText().contains(QStringLiteral("Select a block")));
  EXPECT_EQ(details()->stack().rowCount(), 0);
}

TEST_F(PanelTest, ATensorTellsItsLife) {
  Open({.steps = 20});
  QTreeView* table = Ranking(details()->tensors());
  ASSERT_NE(table, nullptr);
  for (int row = 0; row < details()->tensors().rowCount(); ++row) {
    table->setCurrentIndex(table->model()->index(row, 0));
    const analysis::AllocationId id = window_.selection().allocation();
    ASSERT_TRUE(id.valid());
    const analysis::Allocation& allocation = window_.document().session()->allocation(id);
    const QString text = details()->SelectionText();
    EXPECT_TRUE(text.contains(FormatAddress(allocation.address))) << qPrintable(text);
    EXPECT_TRUE(text.contains(allocation.birth_step < 0
                                  ? QStringLiteral("born before the first step")
                                  : QStringLiteral("born in step %1").arg(allocation.birth_step)));
    EXPECT_EQ(text.contains(QStringLiteral("never freed")), allocation.alive());
    EXPECT_TRUE(text.contains(QStringLiteral("in block (")))
        << "what it lies in: " << qPrintable(text);
    EXPECT_TRUE(text.contains(QStringLiteral("in segment (")));
  }
}

TEST_F(PanelTest, WhatGraphsKeepSaysSo) {
  analysis::testing::LogBuilder log;
  constexpr std::uint64_t kMiB = 1 << 20, kBase = 0x700000000000;
  log.Device(0, 64 * kMiB);
  for (const std::uint64_t pool : {0ull, 3ull << 32}) {
    const std::uint64_t address = kBase + (pool >> 8);
    log.Alloc(analysis::Layer::kLinear, address, 8 * kMiB);
    log.Alloc(analysis::Layer::kSegment, address, 8 * kMiB, {.aux1 = pool});
    log.Alloc(analysis::Layer::kBlock, address, 6 * kMiB, {.aux1 = pool});
  }
  OpenLog(log);
  for (const std::uint32_t row : {1u, 2u, 4u, 5u}) {
    window_.selection().SelectAllocation(analysis::AllocationId(row), analysis::StackId());
    window_.WaitUntilSettled();
    EXPECT_EQ(details()->SelectionText().contains(QStringLiteral("private pool (3, 0)")), row > 3)
        << qPrintable(details()->SelectionText());
  }
}

TEST_F(PanelTest, StacksCanBeCopied) {
  Open({.steps = 20}, ViewKind::kLeaks);
  auto* stack = window_.leaks()->findChild<StackView*>();
  ASSERT_NE(stack, nullptr);
  stack->actions().front()->trigger();
  const QString text = QGuiApplication::clipboard()->text();
  EXPECT_EQ(text.count(QLatin1Char('\n')), 4) << qPrintable(text);
  EXPECT_TRUE(text.startsWith(QString::fromUtf8(testing::kLeakFunction)));
}

TEST_F(PanelTest, TheHeaderGivesTheReportsFigures) {
  Open({.steps = 30});
  const QString texts = Texts(header());
  const analysis::DeviceFigures& device = window_.document().report()->report.devices[0];
  for (const QString& part :
       {FormatBytes(device.peak_bytes) + QStringLiteral(" of 1.00 GiB"),
        FormatBytes(device.framework.peak_bytes), FormatBytes(device.live_bytes),
        QStringLiteral("1 suspected leak, +1.00 MiB per step")}) {
    EXPECT_TRUE(texts.contains(part)) << qPrintable(part) << " in " << qPrintable(texts);
  }
  EXPECT_EQ(header()->BannerText(), QString());
}

TEST_F(PanelTest, TheHeaderChoosesTheDevice) {
  Open({.steps = 10});
  auto* devices = header()->findChild<QComboBox*>();
  ASSERT_EQ(devices->count(), 2);
  EXPECT_EQ(devices->currentText(), QStringLiteral("GPU 0  ·  Simulated GPU"));
  devices->setCurrentIndex(1);
  emit devices->activated(1);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.selection().device(), analysis::kNoDevice);
  EXPECT_EQ(window_.document().bands(window_.selection().device())->bands[0].role,
            BandRole::kPinned);
  EXPECT_FALSE(Texts(header()).contains(QStringLiteral("Framework"))) << "no figures of a GPU";
}

TEST_F(PanelTest, TheHeaderSaysWhenItIsTooShortToTell) {
  Open({.steps = 2});
  EXPECT_TRUE(Texts(header()).contains(QStringLiteral("too short to tell")))
      << qPrintable(Texts(header()));
  Open({.steps = 40, .leak = false});
  EXPECT_TRUE(Texts(header()).contains(QStringLiteral("no leak found")))
      << qPrintable(Texts(header()));
}

// Layer after layer of one pass: neither a leak nor level.
TEST_F(PanelTest, TheHeaderDoesNotSayThatAllIsWellWhereMemoryRises) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const std::vector<std::string> pass = {"main (train.py:9)", "Net.forward (model.py:7)"};
  const int keep = log.Stack({pass[0], pass[1], "attend (model.py:20)"});
  const int norm = log.Stack({pass[0], pass[1], "norm (model.py:21)"});
  for (std::uint64_t i = 0; i < 60; ++i) {
    log.Alloc(analysis::Layer::kBlock, 0x100'0000'0000 + (i << 20), 1 << 20, {.stack = keep});
    log.Alloc(analysis::Layer::kBlock, 0x900'0000'0000, 4096, {.stack = norm});
    log.Free(analysis::Layer::kBlock, 0x900'0000'0000);
  }
  OpenLog(log);
  EXPECT_TRUE(Texts(header()).contains(QStringLiteral("1 rising site, not sure to leak")))
      << qPrintable(Texts(header()));
  const auto& report = window_.document().report();
  ASSERT_NE(report, nullptr);
  ASSERT_EQ(report->rising.size(), 1u);
  EXPECT_TRUE(report->live_at_exit.empty()) << "told once";
}

// As a snapshot has it that knows of no segment: what was in use is known, and shown.
TEST_F(PanelTest, BlocksWithoutSegmentsAreShown) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int stack = log.Stack({"main (train.py:1)", "Forward (model.py:7)"});
  log.AdvanceTime(1'000'000);
  log.Alloc(analysis::Layer::kBlock, 0x10000, 3 << 20, {.stack = stack});
  log.AdvanceTime(1'000'000);
  log.Free(analysis::Layer::kBlock, 0x10000);
  log.AdvanceTime(1'000'000);
  log.RangePush("end");
  OpenLog(log);
  const QString texts = Texts(header());
  EXPECT_TRUE(texts.contains(QStringLiteral("Peak in use"))) << qPrintable(texts);
  EXPECT_TRUE(texts.contains(QStringLiteral("3.00 MiB"))) << qPrintable(texts);
  EXPECT_FALSE(texts.contains(QStringLiteral("reserved"))) << qPrintable(texts);
  const TimelineBands* bands = window_.document().bands(0);
  ASSERT_NE(bands, nullptr);
  EXPECT_EQ(bands->in_use.At(window_.selection().instant()), 3u << 20) << "opened at its peak";
  ASSERT_EQ(bands->bands.size(), 1u);
  EXPECT_EQ(bands->bands[0].role, BandRole::kBlocks);
}

TEST_F(PanelTest, ManyArgumentsAreNotShown) {
  analysis::RunInfo run;
  run.executable = "/bin/x";
  run.arguments.assign(300'000, "argument");
  EXPECT_LT(ProgramName(run).size(), 1100);
  EXPECT_TRUE(ProgramName(run).endsWith(QStringLiteral("…")));
}

// Two runs, one after the other, in one folder: told, and offered as a comparison.
TEST_F(PanelTest, TwoRunsInOneFolderAreToldAsTwo) {
  QStringList paths;
  for (int i = 0; i < 2; ++i) {
    analysis::testing::LogBuilder log;
    const std::uint64_t start = 1'000'000'000ull * static_cast<std::uint64_t>(1 + 60 * i);
    log.SetTime(start);
    log.header().set_start_time_ns(start);
    log.header().set_start_unix_ns(1'700'000'000'000'000'000 + start);
    testing::FillDemoLog(log, {.steps = 30, .leak = i == 1});
    log.header().set_pid(static_cast<std::uint32_t>(100 + i));
    paths << directory_.filePath(QStringLiteral("run%1.mprof").arg(i));
    ASSERT_TRUE(log.WriteTo(paths.back().toStdString()).ok());
  }
  window_.show();
  window_.OpenTogether(paths);
  window_.WaitUntilSettled();
  const QString banner = header()->BannerText();
  EXPECT_TRUE(banner.contains(QStringLiteral("of 2 runs"))) << qPrintable(banner);
  EXPECT_TRUE(Texts(header()).contains(QStringLiteral("Open as a comparison")));
  EXPECT_TRUE(Texts(header()).contains(QStringLiteral("1 suspected leak"))) << "of the second";
  header()->Compare();
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().paths(), QStringList{paths[1]});
  EXPECT_EQ(window_.view(), ViewKind::kDiff);
  const auto* diff = static_cast<DiffView*>(window_.page(ViewKind::kDiff));
  EXPECT_TRUE(diff->Verdict().contains(QStringLiteral("Before: run0.mprof")))
      << qPrintable(diff->Verdict());
  EXPECT_EQ(header()->BannerText(), QString()) << "one run is open now";
}

TEST_F(PanelTest, SeveralProcessesAreCounted) {
  QStringList paths;
  for (int i = 0; i < 2; ++i) {
    analysis::testing::LogBuilder log;
    testing::FillDemoLog(log, {.steps = 10});
    log.header().set_pid(static_cast<std::uint32_t>(100 + i));
    paths << directory_.filePath(QStringLiteral("r%1.mprof").arg(i));
    ASSERT_TRUE(log.WriteTo(paths.back().toStdString()).ok());
  }
  window_.show();
  window_.OpenTogether(paths);
  window_.WaitUntilSettled();
  bool said = false;
  for (const QWidget* part : header()->findChildren<QWidget*>())
    said |= part->toolTip().startsWith(QStringLiteral("2 processes of "));
  EXPECT_TRUE(said);
}

TEST_F(PanelTest, ACutLogIsToldInTheBanner) {
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 10});
  const QString path = directory_.filePath(QStringLiteral("cut.mprof"));
  ASSERT_TRUE(log.WriteTo(path.toStdString(), {.trailer = false, .index = false}).ok());
  OpenPath(path);
  EXPECT_TRUE(header()->BannerText().contains(QStringLiteral("was not closed")))
      << qPrintable(header()->BannerText());
}

TEST_F(PanelTest, OneBrokenLogAmongManyIsLeftOutAndSaid) {
  ASSERT_FALSE(testing::WriteDemoLog(directory_, {.steps = 10}).isEmpty());
  WriteFile(QStringLiteral("a.mprof"), QByteArray("no log at all"));
  WriteFile(QStringLiteral("z.mprof"), {});
  OpenPath(directory_.path());
  ASSERT_EQ(window_.document().state(), Document::State::kReady);
  EXPECT_EQ(window_.document().session()->steps().size(), 10u);
  EXPECT_EQ(window_.document().left_out().size(), 2);
  for (const char* name : {"a.mprof", "z.mprof"})
    EXPECT_TRUE(header()->BannerText().contains(QString::fromUtf8(name)))
        << qPrintable(header()->BannerText());
}

TEST(ProgramName, IsWhatAPersonWouldSay) {
  analysis::RunInfo run;
  EXPECT_EQ(ProgramName(run), QStringLiteral("unknown program"));
  run.executable = "/usr/bin/python3.11";
  run.arguments = {"python3", "train.py", "--lr", "1"};
  EXPECT_EQ(ProgramName(run), QStringLiteral("python3.11 train.py --lr 1"));
}

class LeakViewTest : public PanelTest {
 protected:
  void SetUp() override { Open({.steps = 30}, ViewKind::kLeaks); }
};

TEST_F(LeakViewTest, BarsShowEvidenceAndWhatIsTooYoung) {
  SurvivorChart* chart = window_.leaks()->chart();
  const QImage image = Grab(chart);
  const LeakRow& row = window_.document().report()->leaks[0];
  const QRectF plot = chart->PlotRect();
  const std::vector<SurvivorBar> bars =
      LayOutSurvivors(row.leak.survivors, 30, row.leak.guard_steps, plot, 5);
  ASSERT_EQ(bars.size(), 30u);
  int young = 0;
  for (const SurvivorBar& bar : bars) {
    ASSERT_EQ(bar.bytes, testing::kLeakBytes) << "a block a step";
    EXPECT_TRUE(testing::Near(image.pixelColor(bar.rect.center().toPoint()),
                              theme().Categorical(bar.evidence ? 5 : -1)))
        << "step " << bar.first_step;
    young += !bar.evidence;
  }
  EXPECT_EQ(young, row.leak.guard_steps);
  const QRect below(0, static_cast<int>(plot.bottom()) + 2, chart->width(), 30);
  EXPECT_GT(Count(image, below, theme().muted), 5) << "numbers of steps";
  const QString tip = testing::TipAt(chart, bars[7].rect.center().toPoint());
  EXPECT_EQ(tip, QStringLiteral("step 7: 1.00 MiB in 1 block survive"));
  EXPECT_EQ(testing::TipAt(chart, {2, 2}), QString());
}

TEST_F(LeakViewTest, EvidenceIsWhyAndWhatWouldDisproveIt) {
  const QString text = window_.leaks()->EvidenceText();
  const LeakRow& row = window_.document().report()->leaks[0];
  EXPECT_TRUE(text.contains(ToQString(row.leak.why).toHtmlEscaped())) << qPrintable(text);
  EXPECT_TRUE(text.contains(ToQString(row.leak.disproof).toHtmlEscaped()));
  EXPECT_TRUE(text.contains(QStringLiteral("loss.retained")));
  EXPECT_TRUE(text.contains(QStringLiteral("Out of memory")));
}

TEST_F(LeakViewTest, TheTableIsAsHighAsItsRows) {
  QTreeView* table = window_.leaks()->table();
  const QModelIndex last = table->model()->index(0, 0, table->model()->index(1, 0));
  EXPECT_TRUE(last.isValid());
  EXPECT_LT(table->height(), window_.leaks()->height() / 2) << "the evidence has the rest";
  EXPECT_TRUE(table->viewport()->rect().contains(
      table->visualRect(table->model()->index(0, 0, table->model()->index(0, 0))).center()));
}

TEST_F(LeakViewTest, ShareBarsLieBehindTheirNumbers) {
  QTreeView* table = window_.leaks()->table();
  const QModelIndex heading = table->model()->index(1, 0);  // alive at the end, by size
  const QImage image = Grab(table->viewport());
  const auto filled = [&](int row) {
    const QModelIndex cell = table->model()->index(row, LeakModel::kBytes, heading);
    const QRect rect = table->visualRect(cell);
    QColor accent = theme().accent;
    int count = 0;
    const QColor base =
        table->palette().color(row % 2 == 0 ? QPalette::Base : QPalette::AlternateBase);
    for (int x = rect.left() + 1; x < rect.right() - 1; ++x) {
      const QColor pixel = image.pixelColor(x, rect.top() + 3);
      count += testing::Near(pixel, testing::Blend(accent, base, 56 / 255.0), 12) &&
               !testing::Near(pixel, base, 6);
    }
    return static_cast<double>(count) / rect.width();
  };
  const QModelIndex first = table->model()->index(0, LeakModel::kBytes, heading);
  const QModelIndex second = table->model()->index(1, LeakModel::kBytes, heading);
  ASSERT_TRUE(second.isValid());
  const double share = second.data(LeakModel::kShareRole).toDouble();
  ASSERT_EQ(first.data(LeakModel::kShareRole).toDouble(), 1);
  EXPECT_GT(filled(0), 0.85);
  EXPECT_NEAR(filled(1), share, 0.12);
}

}  // namespace
}  // namespace memprof::viewer
