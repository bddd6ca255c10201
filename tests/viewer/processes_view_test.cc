// Processes side by side: figures, texts, lanes, and the filter that a click sets.
#include "viewer/views/processes_view.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QItemSelectionModel>

#include "analysis/base/sizes.h"
#include "tests/viewer/table_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/views/tensors_bars.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::testing::LogBuilder;
using testing::ClickCell;
using testing::Count;
using testing::Csv;
using testing::Grab;
using testing::PrintColumns;

class ProcessesTest : public testing::WindowFixture {
 protected:
  // One log for each figure: a process that holds this many MiB for most of its time.
  void OpenRanks(const std::vector<std::uint64_t>& mib, const QString& host = {},
                 bool first_frees = true) {
    QStringList paths;
    for (std::size_t rank = 0; rank < mib.size(); ++rank) {
      LogBuilder log;
      log.header().set_pid(static_cast<std::uint32_t>(100 + rank));
      log.header().set_hostname(host.isEmpty() ? "node"
                                               : host.toStdString() + std::to_string(rank));
      log.header().add_environment("RANK=" + std::to_string(rank));
      log.header().add_environment("WORLD_SIZE=" + std::to_string(mib.size()));
      log.Device(0, 1 << 30);
      log.AdvanceTime(1'000'000);
      log.Alloc(Layer::kLinear, 0x100000, mib[rank] * kMiB);
      log.AdvanceTime(8'000'000);
      if (rank == 0 && first_frees) log.Free(0x100000);
      const QString path = directory_.filePath(QStringLiteral("r%1.mprof").arg(rank));
      ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
      paths << path;
    }
    window_.resize(1200, 760);
    window_.ShowView(ViewKind::kProcesses);
    window_.show();
    window_.OpenTogether(paths);
    window_.WaitUntilSettled();
    ASSERT_EQ(window_.document().state(), Document::State::kReady)
        << window_.document().error().toStdString();
    view_ = window_.findChild<ProcessesView*>();
    ASSERT_NE(view_, nullptr);
  }
  QVariant Cell(int row, int column, int role = Qt::DisplayRole) {
    return view_->model().index(row, column).data(role);
  }

  ProcessesView* view_ = nullptr;
};

TEST_F(ProcessesTest, OneRowForEachRank) {
  OpenRanks({100, 100, 102, 160});
  const QAbstractItemModelTester tester(view_->table()->model(),
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_EQ(PrintColumns(view_->model(),
                         {ProcessModel::kProcess, ProcessModel::kPid, ProcessModel::kDevices,
                          ProcessModel::kDriverPeak, ProcessModel::kAtEnd, ProcessModel::kLog}),
            QStringList({QStringLiteral("rank 0|100|0|100 MiB|0 B|r0.mprof"),
                         QStringLiteral("rank 1|101|0|100 MiB|100 MiB|r1.mprof"),
                         QStringLiteral("rank 2|102|0|102 MiB|102 MiB|r2.mprof"),
                         QStringLiteral("rank 3|103|0|▲ 160 MiB|160 MiB|r3.mprof")}));
  EXPECT_EQ(Cell(3, ProcessModel::kDriverPeak, ProcessModel::kOutlierRole).toInt(), 1);
  EXPECT_FALSE(Cell(1, ProcessModel::kDriverPeak, ProcessModel::kOutlierRole).isValid());
  EXPECT_TRUE(Cell(3, ProcessModel::kDriverPeak, Qt::ToolTipRole)
                  .toString()
                  .contains(QStringLiteral("58 % above the median")))
      << Cell(3, ProcessModel::kDriverPeak, Qt::ToolTipRole).toString().toStdString();
  EXPECT_TRUE(view_->table()->isColumnHidden(ProcessModel::kHost)) << "all are on one device";
  EXPECT_TRUE(view_->table()->isColumnHidden(ProcessModel::kInUsePeak)) << "no framework";
  const QString text = view_->SummaryText();
  EXPECT_TRUE(text.contains(QStringLiteral("4 processes on host node, with memory of 1 device.")));
  EXPECT_TRUE(text.contains(QStringLiteral("most 160 MiB (rank 3)")));
  EXPECT_TRUE(text.contains(QStringLiteral("imbalance 39 %"))) << text.toStdString();
  EXPECT_TRUE(text.contains(QStringLiteral("rank 0, rank 3.")));
  EXPECT_TRUE(text.contains(QStringLiteral("No process opened memory of another.")));
}

TEST_F(ProcessesTest, AClickShowsOneProcessInAllViews) {
  OpenRanks({10, 20, 30});
  ClickCell(view_->table(), 1, ProcessModel::kProcess);
  window_.WaitUntilSettled();
  ASSERT_TRUE(window_.selection().filter().process.has_value());
  EXPECT_EQ(*window_.selection().filter().process, 1u);
  EXPECT_EQ(view_->model().rowCount(), 3) << "here all are still compared";
  EXPECT_EQ(Cell(2, ProcessModel::kDriverPeak).toString(), QStringLiteral("▲ 30.0 MiB").mid(2));
  window_.selection().Back();
  EXPECT_FALSE(window_.selection().filter().process.has_value());
}

TEST_F(ProcessesTest, OtherConditionsOfTheFilterHold) {
  OpenRanks({10, 20, 30});
  analysis::AllocationFilter filter;
  filter.least_bytes = 15 * kMiB;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(Cell(0, ProcessModel::kDriverPeak, ProcessModel::kPlainRole).toString(),
            QStringLiteral("0"));
  EXPECT_EQ(Cell(1, ProcessModel::kDriverPeak, ProcessModel::kPlainRole).toString(),
            QString::number(20 * kMiB));
}

TEST_F(ProcessesTest, LanesAreOnOneScale) {
  OpenRanks({40, 20});
  window_.selection().SetInstant(window_.document().bounds().begin);
  const QImage image = Grab(view_->table()->viewport());
  const QColor color = theme().Band(BandRole::kLinear);
  int pixels[2];
  for (int row = 0; row < 2; ++row)
    pixels[row] = Count(
        image,
        view_->table()->visualRect(view_->table()->model()->index(row, ProcessModel::kOverTime)),
        color);
  EXPECT_GT(pixels[0], 2000);
  EXPECT_NEAR(static_cast<double>(pixels[1]) / pixels[0], 0.5, 0.08)
      << "half the memory for about as long";
}

// The chosen process's lane is as visible as the others, although its row is highlighted.
TEST_F(ProcessesTest, TheChosenLaneIsAsClearAsTheOthers) {
  OpenRanks({40, 40, 40}, {}, false);
  const QColor color = theme().Band(BandRole::kLinear);
  const auto lane = [&](int row) {
    const QRect rect =
        view_->table()->visualRect(view_->table()->model()->index(row, ProcessModel::kOverTime));
    const QImage image = Grab(view_->table()->viewport());
    return std::pair(Count(image, rect, color),
                     Count(image, rect, window_.palette().color(QPalette::Highlight)));
  };
  const int before = lane(1).first;
  ClickCell(view_->table(), 1, ProcessModel::kProcess);
  window_.WaitUntilSettled();
  ASSERT_TRUE(view_->table()->selectionModel()->isRowSelected(1, {}));
  EXPECT_GT(before, 2000);
  EXPECT_NEAR(lane(1).first, before, before / 10);
  EXPECT_LT(lane(1).second, before / 10) << "pixels of the highlight";
}

TEST_F(ProcessesTest, OfTwoNoneIsOdd) {
  OpenRanks({10, 200});
  EXPECT_TRUE(view_->SummaryText().contains(QStringLiteral("With two processes, no outlier can")));
  EXPECT_FALSE(Cell(1, ProcessModel::kDriverPeak, ProcessModel::kOutlierRole).isValid());
}

TEST_F(ProcessesTest, WhatIsTooLittleIsMarkedToo) {
  OpenRanks({10, 10, 10, 5});
  EXPECT_EQ(Cell(3, ProcessModel::kDriverPeak, ProcessModel::kOutlierRole).toInt(), -1);
  EXPECT_EQ(Cell(3, ProcessModel::kDriverPeak).toString(), QStringLiteral("▼ 5.00 MiB"));
}

TEST_F(ProcessesTest, HostsAreShownWhereTheyDiffer) {
  OpenRanks({10, 10, 10}, QStringLiteral("node"), false);
  EXPECT_FALSE(view_->table()->isColumnHidden(ProcessModel::kHost));
  EXPECT_TRUE(view_->SummaryText().contains(QStringLiteral("3 processes on 3 hosts")));
  EXPECT_TRUE(view_->SummaryText().contains(QStringLiteral("10.0 MiB in each.")));
  EXPECT_TRUE(view_->SummaryText().contains(QStringLiteral("None stands out")));
}

TEST_F(ProcessesTest, OneProcessSaysHowToOpenSeveral) {
  OpenRanks({10});
  EXPECT_TRUE(view_->SummaryText().contains(QString::fromUtf8("File › Open log …")));
  EXPECT_EQ(view_->model().rowCount(), 1);
  ClickCell(view_->table(), 0, ProcessModel::kProcess);
  EXPECT_TRUE(window_.selection().filter().everything()) << "there is nothing to choose";
}

TEST_F(ProcessesTest, SortsAndExportsAsShown) {
  OpenRanks({30, 10, 20});
  view_->table()->sortByColumn(ProcessModel::kDriverPeak, Qt::AscendingOrder);
  const QStringList lines = Csv(*view_).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), 4);
  EXPECT_TRUE(lines[0].startsWith(QStringLiteral("process,pid,host,devices,driver_peak_bytes,")));
  EXPECT_TRUE(lines[1].startsWith(QStringLiteral("rank 1,101,node,0,%1,").arg(10 * kMiB)));
  EXPECT_TRUE(lines[3].startsWith(QStringLiteral("rank 0,100,node,0,%1,").arg(30 * kMiB)));
  ClickCell(view_->table(), 0, ProcessModel::kProcess);
  EXPECT_EQ(*window_.selection().filter().process, 1u) << "the process of the row, not its place";
}

}  // namespace
}  // namespace memprof::viewer
