// Models under Qt's own checker, and as text; the selection and its history of zooms.
#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QSignalSpy>

#include "viewer/models/leak_model.h"
#include "viewer/models/ranked_model.h"
#include "viewer/models/selection.h"
#include "viewer/models/stack_model.h"
#include "viewer/models/zoom_stack.h"

namespace memprof::viewer {
namespace {

using analysis::LeakTier;
using analysis::StackId;

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

// The model as text: one line a row, cells separated by |, children indented.
QStringList Print(const QAbstractItemModel& model, const QModelIndex& parent = {}, int depth = 0) {
  QStringList lines;
  for (int row = 0; row < model.rowCount(parent); ++row) {
    QStringList cells;
    for (int column = 0; column < model.columnCount(parent); ++column) {
      cells << model.index(row, column, parent).data().toString();
    }
    lines << QString(depth * 2, QLatin1Char(' ')) + cells.join(QLatin1Char('|'));
    lines << Print(model, model.index(row, 0, parent), depth + 1);
  }
  return lines;
}

analysis::SourceFrame Frame(const char* function, const char* file, int line) {
  analysis::SourceFrame frame;
  frame.function = function;
  frame.file = file;
  frame.line = line;
  frame.symbolised = true;
  return frame;
}

LeakRow Row(LeakTier tier, std::uint32_t stack, std::uint64_t bytes, const char* function) {
  LeakRow row;
  row.leak.tier = tier;
  row.leak.stack = StackId(stack);
  row.leak.bytes = bytes;
  row.leak.blocks = 2;
  row.leak.layer = analysis::Layer::kBlock;
  row.leak.score = 87;
  row.leak.first_step = 3;
  row.leak.bytes_per_step = tier == LeakTier::kLiveAtExit ? 0 : 1024;
  row.site = Frame(function, "a.cc", 7);
  return row;
}

std::shared_ptr<const ReportData> SampleReport() {
  auto report = std::make_shared<ReportData>();
  report->leaks = {Row(LeakTier::kSuspected, 1, 4096, "Leaky"),
                   Row(LeakTier::kGrowing, 2, 2048, "Grows")};
  report->leaks[0].example = QStringLiteral("loss  fp32[2]");
  report->live_at_exit = {Row(LeakTier::kLiveAtExit, 3, 8192, "Weights"),
                          Row(LeakTier::kLiveAtExit, 4, 512, "Bias")};
  return report;
}

TEST(LeakModel, IsATreeOfTiers) {
  LeakModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  EXPECT_EQ(Print(model), QStringList());
  model.SetReport(SampleReport());
  const QString dash = QString::fromUtf8("–");
  EXPECT_EQ(
      Print(model),
      QStringList({QStringLiteral("Suspected (1)||||4.00 KiB|||"),
                   QStringLiteral("  Leaky (a.cc:7)|loss  fp32[2]|block|87|4.00 KiB|+1.00 KiB|2|3"),
                   QStringLiteral("Growing (1)||||2.00 KiB|||"),
                   QStringLiteral("  Grows (a.cc:7)||block|87|2.00 KiB|+1.00 KiB|2|3"),
                   QStringLiteral("Alive at the end (2)||||8.50 KiB|||"),
                   QStringLiteral("  Weights (a.cc:7)||block||8.00 KiB||2|3"),
                   QStringLiteral("  Bias (a.cc:7)||block||512 B||2|3")}));
  EXPECT_FALSE(Print(model).join(QLatin1Char(' ')).contains(dash));
  model.SetReport(nullptr);
  EXPECT_EQ(model.rowCount(), 0);
}

// What rises and is not sure to leak stands between what leaks and what is merely there, with its
// score; a site in a package with both lines.
TEST(LeakModel, WhatRisesHasABranch) {
  auto report = std::make_shared<ReportData>(*SampleReport());
  report->leaks.clear();
  report->rising = {Row(LeakTier::kLiveAtExit, 5, 4096, "main")};
  report->rising[0].rising = true;
  report->rising[0].library = Frame("forward", "/x/gpt2.py", 9);
  LeakModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetReport(report);
  EXPECT_EQ(Print(model),
            QStringList(
                {QStringLiteral("Rising, not sure to leak (1)||||4.00 KiB|||"),
                 QStringLiteral("  main (a.cc:7), in forward (gpt2.py:9)||block|87|4.00 KiB||2|3"),
                 QStringLiteral("Alive at the end (2)||||8.50 KiB|||"),
                 QStringLiteral("  Weights (a.cc:7)||block||8.00 KiB||2|3"),
                 QStringLiteral("  Bias (a.cc:7)||block||512 B||2|3")}));
  EXPECT_EQ(model.index(0, 0).data(Qt::ToolTipRole).toString(), RisingMeaning());
}

TEST(LeakModel, FindsSites) {
  LeakModel model;
  model.SetReport(SampleReport());
  const QModelIndex index = model.FindSite(StackId(4));
  ASSERT_TRUE(index.isValid());
  EXPECT_EQ(model.leak(index)->leak.bytes, 512u);
  EXPECT_EQ(model.leak(index.parent()), nullptr) << "headings are no leaks";
  EXPECT_FALSE(model.FindSite(StackId(99)).isValid());
  EXPECT_FALSE(model.FindSite({}).isValid());
  EXPECT_DOUBLE_EQ(
      model.index(0, LeakModel::kBytes, model.index(0, 0)).data(LeakModel::kShareRole).toDouble(),
      0.5);
}

TEST(LeakModel, CellsHaveTheirRoles) {
  LeakModel model;
  model.SetReport(SampleReport());
  const QModelIndex heading = model.index(0, 0), row = model.index(0, 0, heading);
  const auto cell = [&](int column, int role) { return row.siblingAtColumn(column).data(role); };
  EXPECT_EQ(cell(LeakModel::kScore, LeakModel::kSortRole).toDouble(), 87);
  EXPECT_EQ(cell(LeakModel::kBytes, LeakModel::kSortRole).toULongLong(), 4096u);
  EXPECT_EQ(cell(LeakModel::kSlope, LeakModel::kSortRole).toDouble(), 1024);
  EXPECT_EQ(cell(LeakModel::kBlocks, LeakModel::kSortRole).toULongLong(), 2u);
  EXPECT_EQ(cell(LeakModel::kFirstStep, LeakModel::kSortRole).toLongLong(), 3);
  EXPECT_FALSE(cell(LeakModel::kSite, LeakModel::kSortRole).isValid());
  EXPECT_EQ(cell(LeakModel::kSite, Qt::ToolTipRole).toString(), QStringLiteral("Leaky"));
  EXPECT_EQ(cell(LeakModel::kExample, Qt::ToolTipRole).toString(), QStringLiteral("loss  fp32[2]"));
  EXPECT_FALSE(cell(LeakModel::kScore, LeakModel::kShareRole).isValid()) << "bars for bytes only";
  for (int column = 0; column < LeakModel::kColumnCount; ++column) {
    EXPECT_EQ(cell(column, Qt::TextAlignmentRole).isValid(), column > LeakModel::kLayer);
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    EXPECT_FALSE(model.headerData(column, Qt::Horizontal, Qt::ToolTipRole).toString().isEmpty());
    EXPECT_FALSE(model.headerData(column, Qt::Vertical, Qt::DisplayRole).isValid());
  }
  EXPECT_EQ(heading.data(Qt::ToolTipRole).toString(), TierMeaning(LeakTier::kSuspected));
  EXPECT_TRUE(heading.data(Qt::FontRole).value<QFont>().bold());
  EXPECT_FALSE(heading.data(LeakModel::kSortRole).isValid());
  EXPECT_FALSE(model.data({}, Qt::DisplayRole).isValid());
}

TEST(LeakModel, TiersAreNamedAndExplained) {
  QStringList titles, meanings;
  for (const LeakTier tier :
       {LeakTier::kDefinite, LeakTier::kSuspected, LeakTier::kGrowing, LeakTier::kLiveAtExit}) {
    titles << TierTitle(tier);
    meanings << TierMeaning(tier);
  }
  EXPECT_EQ(titles, QStringList({QStringLiteral("Definite"), QStringLiteral("Suspected"),
                                 QStringLiteral("Growing"), QStringLiteral("Alive at the end")}));
  meanings.removeDuplicates();
  EXPECT_EQ(meanings.size(), 4);
}

TEST(LeakModel, TiersComeWorstFirstWhateverTheOrder) {
  auto report = std::make_shared<ReportData>();
  report->leaks = {Row(LeakTier::kGrowing, 1, 10, "G"), Row(LeakTier::kDefinite, 2, 20, "D"),
                   Row(LeakTier::kSuspected, 3, 30, "S")};
  report->leaks[2].leak.first_step = -1;
  LeakModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetReport(report);
  EXPECT_EQ(Print(model),
            QStringList({QStringLiteral("Definite (1)||||20 B|||"),
                         QStringLiteral("  D (a.cc:7)||block|87|20 B|+1.00 KiB|2|3"),
                         QStringLiteral("Suspected (1)||||30 B|||"),
                         QString::fromUtf8("  S (a.cc:7)||block|87|30 B|+1.00 KiB|2|–"),
                         QStringLiteral("Growing (1)||||10 B|||"),
                         QStringLiteral("  G (a.cc:7)||block|87|10 B|+1.00 KiB|2|3")}));
}

TEST(RankedModel, ShowsNamesAndShares) {
  RankedModel model(QStringLiteral("Name"));
  const QAbstractItemModelTester tester(&model, kFatal);
  model.SetRows({{QStringLiteral("a"), QStringLiteral("more of a"), 2048, {}, {}},
                 {QStringLiteral("b"), {}, 512, {}, {}}});
  EXPECT_EQ(Print(model), QStringList({QStringLiteral("a|2.00 KiB"), QStringLiteral("b|512 B")}));
  EXPECT_DOUBLE_EQ(model.index(1, 1).data(RankedModel::kShareRole).toDouble(), 0.25);
  EXPECT_EQ(model.index(0, 0).data(Qt::ToolTipRole).toString(), QStringLiteral("more of a"));
  EXPECT_EQ(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString(),
            QStringLiteral("Name"));
  model.SetRows({});
  EXPECT_EQ(model.rowCount(), 0);
}

TEST(StackModel, PointsOutTheSite) {
  StackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  analysis::SourceFrame bare;
  bare.function = "libfoo+0x10";
  bare.module = "libfoo.so";
  const analysis::SourceFrame site = Frame("Train", "/src/train.cc", 12);
  model.SetFrames({Frame("Allocate", "/src/alloc.h", 5), site, bare}, site);
  EXPECT_EQ(Print(model),
            QStringList({QStringLiteral("Allocate|alloc.h:5"), QStringLiteral("Train|train.cc:12"),
                         QStringLiteral("libfoo+0x10|libfoo.so")}));
  EXPECT_FALSE(model.index(0, 0).data(Qt::FontRole).isValid());
  EXPECT_TRUE(model.index(1, 0).data(Qt::FontRole).isValid());
  EXPECT_TRUE(model.index(1, 0)
                  .data(Qt::ToolTipRole)
                  .toString()
                  .contains(QStringLiteral("/src/train.cc:12")));
  EXPECT_EQ(model.Text().count(QLatin1Char('\n')), 3);
}

TEST(StackModel, FoldsWhatIsBetweenTheAllocationAndItsSite) {
  StackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  std::vector<analysis::SourceFrame> frames;
  for (int i = 0; i < 20; ++i)
    frames.push_back(Frame(("at::Inner" + std::to_string(i)).c_str(), "", 0));
  const analysis::SourceFrame site = Frame("Model.forward", "/src/train.py", 39);
  frames.push_back(site);
  frames.push_back(Frame("main", "/src/train.py", 70));
  model.SetFrames(frames, site);
  ASSERT_EQ(model.rowCount(), 3);
  EXPECT_TRUE(model.IsFold(0));
  EXPECT_FALSE(model.IsFold(1));
  EXPECT_TRUE(model.index(0, 0).data().toString().startsWith(QStringLiteral("20 inner frames")));
  EXPECT_TRUE(
      model.index(0, 0).data(Qt::ToolTipRole).toString().contains(QStringLiteral("Inner7")));
  EXPECT_EQ(model.frame(1).function, "Model.forward");
  EXPECT_EQ(model.frame(2).function, "main");
  EXPECT_TRUE(model.index(1, 0).data(Qt::FontRole).value<QFont>().bold());
  EXPECT_EQ(model.Text().count(QLatin1Char('\n')), 22) << "the clipboard has all of it";
  model.Unfold(1);  // no fold
  EXPECT_EQ(model.rowCount(), 3);
  model.Unfold(0);
  ASSERT_EQ(model.rowCount(), 22);
  EXPECT_FALSE(model.IsFold(0));
  EXPECT_EQ(model.frame(20).function, "Model.forward");
  EXPECT_TRUE(model.index(20, 0).data(Qt::FontRole).value<QFont>().bold());
  // Few frames, or none before the site, are shown as they are.
  frames.erase(frames.begin() + 4, frames.begin() + 20);
  model.SetFrames(frames, site);
  EXPECT_EQ(model.rowCount(), 6);
  model.SetFrames(frames, frames[0]);
  EXPECT_EQ(model.rowCount(), 6);
}

TEST(StackModel, FoldsTheInterpreterBetweenLinesOfPython) {
  StackModel model;
  const QAbstractItemModelTester tester(&model, kFatal);
  const auto python = [](const char* function, const char* file) {
    analysis::SourceFrame frame = Frame(function, file, 9);
    frame.python = true;
    return frame;
  };
  const auto interpreter = [](const char* function) {
    analysis::SourceFrame frame = Frame(function, "Python/ceval.c", 6434);
    frame.module = "python3.11";
    return frame;
  };
  const analysis::SourceFrame site = python("Model.forward", "/src/model.py");
  const std::vector<analysis::SourceFrame> frames = {
      Frame("at::mm", "", 0),
      site,
      interpreter("_PyEval_Vector"),
      interpreter("_PyObject_Call"),
      python("Module._call_impl", "/v/site-packages/torch/nn/modules/module.py"),
      python("train", "/src/train.py"),
      interpreter("_PyEval_Vector"),
      python("main", "/src/train.py")};
  model.SetFrames(frames, site);
  ASSERT_EQ(model.rowCount(), 6);
  EXPECT_EQ(model.frame(0).function, "at::mm") << "few inner frames stay";
  EXPECT_TRUE(model.IsFold(2));
  EXPECT_EQ(model.index(2, 0).data().toString(), QStringLiteral("3 frames of libraries"));
  EXPECT_EQ(model.frame(3).function, "train");
  EXPECT_EQ(model.frame(4).function, "_PyEval_Vector") << "a single one takes no more room";
  EXPECT_EQ(model.frame(5).function, "main");
  model.Unfold(2);
  ASSERT_EQ(model.rowCount(), 8);
  EXPECT_EQ(model.frame(4).function, "Module._call_impl");
  EXPECT_EQ(model.Text().count(QLatin1Char('\n')), 8);
  // Without a site nothing is more telling than the rest.
  model.SetFrames(frames, Frame("elsewhere", "", 0));
  EXPECT_EQ(model.rowCount(), 8);
}

TEST(ZoomStack, GoesBackAndForward) {
  ZoomStack stack;
  stack.Reset({{0, 100}, {}});
  EXPECT_FALSE(stack.CanBack());
  stack.Push({{10, 50}, {}});
  stack.Push({{20, 30}, {}});
  stack.Push({{20, 30}, {}});  // no change: no entry
  stack.Back();
  EXPECT_EQ(stack.current().window.begin, 10u);
  stack.Back();
  EXPECT_EQ(stack.current().window.end, 100u);
  EXPECT_FALSE(stack.CanBack());
  stack.Back();  // harmless
  stack.Forward();
  stack.Push({{11, 12}, {}});
  EXPECT_FALSE(stack.CanForward()) << "what was undone is forgotten";
}

TEST(ZoomStack, OneGestureIsOneEntry) {
  ZoomStack stack;
  stack.Reset({{0, 100}, {}});
  for (std::uint64_t i = 1; i < 20; ++i) stack.Push({{i, 100}, {}}, 5);
  stack.Push({{40, 50}, {}}, 6);
  stack.Back();
  EXPECT_EQ(stack.current().window.begin, 19u);
  stack.Back();
  EXPECT_EQ(stack.current().window.begin, 0u);
}

TEST(ZoomStack, IsBounded) {
  ZoomStack stack;
  for (std::uint64_t i = 0; i < 3 * ZoomStack::kLimit; ++i) stack.Push({{i, 1000000}, {}});
  std::size_t steps = 0;
  for (; stack.CanBack(); ++steps) stack.Back();
  EXPECT_EQ(steps, ZoomStack::kLimit - 1);
}

TEST(Selection, SaysWhatChangedOnce) {
  Selection selection;
  selection.Reset({1000, 9000}, 5000, 0);
  QSignalSpy instants(&selection, &Selection::InstantChanged);
  QSignalSpy choices(&selection, &Selection::SelectionChanged);
  QSignalSpy zooms(&selection, &Selection::ZoomChanged);
  selection.SetInstant(100);
  EXPECT_EQ(selection.instant(), 1000u) << "within the recording";
  selection.SetInstant(1000);
  EXPECT_EQ(instants.count(), 1);
  selection.SelectAllocation(analysis::AllocationId(3), StackId(4));
  selection.SelectAllocation(analysis::AllocationId(3), StackId(4));
  EXPECT_EQ(choices.count(), 1);
  selection.SelectSite(StackId(4));
  EXPECT_FALSE(selection.allocation().valid());
  selection.SetWindow({1000, 3000});
  selection.SetFlamePath({QStringLiteral("main")});
  EXPECT_EQ(selection.window().begin, 1000u);
  EXPECT_EQ(zooms.count(), 2);
  EXPECT_TRUE(selection.zoomed());
  selection.Back();
  EXPECT_TRUE(selection.flame_path().isEmpty()) << "zooms of all views are one history";
  EXPECT_EQ(selection.window().end, 3000u);
  selection.Back();
  EXPECT_FALSE(selection.zoomed());
  selection.Forward();
  selection.Forward();
  EXPECT_EQ(selection.flame_path().size(), 1);
  selection.ShowAll();
  EXPECT_EQ(selection.window().end, 9000u);
  QSignalSpy axes(&selection, &Selection::AxisChanged);
  QSignalSpy devices(&selection, &Selection::DeviceChanged);
  selection.SetAxis(AxisKind::kTime);
  EXPECT_EQ(axes.count(), 0) << "it is time already";
  selection.SetAxis(AxisKind::kSteps);
  EXPECT_EQ(axes.count(), 1);
  selection.SetDevice(0);
  EXPECT_EQ(devices.count(), 0);
  selection.SetDevice(2);
  EXPECT_EQ(devices.count(), 1);
  selection.Reset({0, 10}, 0, 1);
  EXPECT_FALSE(selection.can_back());
  EXPECT_EQ(selection.device(), 1);
  EXPECT_EQ(selection.axis(), AxisKind::kSteps) << "kept from log to log";
}

}  // namespace
}  // namespace memprof::viewer
