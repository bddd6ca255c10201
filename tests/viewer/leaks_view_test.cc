// Leaks: suppressed and restored, written as valid suppressions, filtered, exported.
#include <gtest/gtest.h>

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QTreeView>

#include "tests/viewer/model_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/models/leak_suppressions.h"
#include "viewer/views/details_panel.h"
#include "viewer/views/leak_view.h"

namespace memprof::viewer {
namespace {

using testing::S;

LeakRow Row(const char* function, const char* file, const char* module, bool symbolised = true) {
  analysis::SourceFrame frame;
  frame.function = function;
  frame.file = file;
  frame.module = module;
  frame.line = 7;
  frame.symbolised = symbolised;
  analysis::SourceFrame caller;
  caller.function = "main";
  caller.symbolised = true;
  LeakRow row;
  row.leak.stack = analysis::StackId(1);
  row.leak.bytes = 4096;
  row.leak.blocks = 2;
  row.site = frame;
  row.stack = {frame, caller};
  return row;
}

TEST(AsSuppression, IsUnderstoodByWhoReadsIt) {
  const LeakRow kRows[] = {
      Row("a::Leaky<int, std::less<int>>::Keep(int*) const", "/src/leaky.cc", "libleaky.so"),
      Row("operator new(unsigned long)", "", "libc++.so"),
      Row("Matrix::operator*(Matrix const&)", "m.cc", ""),
      Row("<lambda>", "train.py", "python"),
      Row("  odd name $ ", "x.cc", ""),
      Row("two\nlines\r", "x\ny.cc", ""),
      Row("libfoo.so+0x10", "", "libfoo.so", false),
      Row("^start", "", ""),
  };
  for (const LeakRow& row : kRows) {
    const QString text = AsSuppression(row);
    ASSERT_FALSE(text.isEmpty()) << row.site.function;
    const auto read = analysis::Suppressions::Parse(text.toStdString(), "copied");
    ASSERT_TRUE(read.ok()) << read.status() << "\n" << qPrintable(text);
    EXPECT_EQ(read->patterns().size(), 1u) << "one line, below a comment line";
    EXPECT_TRUE(Matches(*read, row)) << qPrintable(text);
    EXPECT_FALSE(Matches(*read, Row("Other", "o.cc", "libother.so"))) << qPrintable(text);
  }
  const LeakRow named = Row("Foo::Bar(int)", "/src/foo.cc", "");
  EXPECT_EQ(AsSuppression(named),
            S("# 4.00 KiB in 2 blocks, Foo::Bar (foo.cc:7)\nleak:^Foo::Bar(int)$\n"));
  LeakRow nameless = Row("0x1234", "", "", false);
  nameless.stack = {nameless.site};
  EXPECT_EQ(AsSuppression(nameless), QString()) << "no other run has this address";
}

TEST(AsSuppression, MatchesAsTheCommandLineDoes) {
  const LeakRow row = Row("a::b::Foo<int>::Bar(int)", "/src/foo.cc", "libfoo.so");
  const auto matches = [&row](const char* text) {
    return Matches(*analysis::Suppressions::Parse(text, "test"), row);
  };
  EXPECT_TRUE(matches("leak:^Foo::Bar$")) << "as displayed";
  EXPECT_TRUE(matches("leak:foo.cc"));
  EXPECT_TRUE(matches("leak:libfoo*"));
  EXPECT_TRUE(matches("leak:^main$")) << "any frame";
  EXPECT_FALSE(matches("leak:^Bar$"));
}

TEST(LeakSuppressions, AreTakenBackOneByOne) {
  const LeakRow a = Row("A", "a.cc", "");
  LeakRow b = Row("B", "b.cc", "");
  b.leak.stack = analysis::StackId(2);
  LeakSuppressions suppressions;
  suppressions.Undo();  // no effect
  suppressions.Hide(a);
  suppressions.Apply(std::make_shared<const analysis::Suppressions>(
                         *analysis::Suppressions::Parse("leak:b.cc", "f")),
                     S("known.supp"));
  EXPECT_TRUE(suppressions.Hides(a));
  EXPECT_TRUE(suppressions.Hides(b));
  EXPECT_EQ(suppressions.LastText(), S("known.supp"));
  suppressions.Undo();
  EXPECT_FALSE(suppressions.Hides(b));
  EXPECT_EQ(suppressions.LastText(), S("A (a.cc:7)"));
  suppressions.Undo();
  EXPECT_FALSE(suppressions.Hides(a));
  EXPECT_TRUE(suppressions.empty());
}

class LeaksTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    Open({.steps = 30}, ViewKind::kLeaks);
    view_ = window_.leaks();
    window_.WaitUntilSettled();
  }
  // Whether the seeded leak has a row.
  bool Shown() {
    const QModelIndex found =
        view_->model().FindSite(window_.document().report()->leaks[0].leak.stack);
    return found.isValid();
  }

  LeakView* view_ = nullptr;
};

TEST_F(LeaksTest, SuppressedLeaksCanBePutBack) {
  ASSERT_TRUE(Shown());
  view_->table()->setFocus();
  QTest::keyClick(view_->table(), Qt::Key_Delete);
  window_.WaitUntilSettled();
  EXPECT_FALSE(Shown());
  EXPECT_TRUE(view_->VerdictText().contains(S("1 suppressed")));
  QTest::keyClick(view_->table(), Qt::Key_Z, Qt::ControlModifier);
  window_.WaitUntilSettled();
  EXPECT_TRUE(Shown());
  EXPECT_FALSE(view_->VerdictText().contains(S("suppressed")));
}

TEST_F(LeaksTest, WhatIsCopiedSuppressesItFromAFile) {
  const QString text = view_->CurrentAsSuppression();
  EXPECT_TRUE(text.contains(S("\nleak:^LossHistory::Append$\n"))) << qPrintable(text);
  EXPECT_EQ(view_->ApplyFile(WriteFile(S("known.supp"), text.toUtf8())), QString());
  window_.WaitUntilSettled();
  EXPECT_FALSE(Shown());
  const QString wrong = view_->ApplyFile(WriteFile(S("wrong.supp"), "race:Foo\n"));
  EXPECT_TRUE(wrong.contains(S("wrong.supp:1"))) << qPrintable(wrong);
  EXPECT_TRUE(view_->ApplyFile(directory_.filePath(S("none.supp"))).contains(S("No such file")));
  view_->UndoSuppression();
  window_.WaitUntilSettled();
  EXPECT_TRUE(Shown());
}

TEST_F(LeaksTest, TheFilterHidesLeaksWithoutASurvivorThatPasses) {
  analysis::AllocationFilter filter;
  filter.text = "Linear::Linear";
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_FALSE(Shown());
  EXPECT_TRUE(view_->VerdictText().contains(S("filtered out")));
  EXPECT_GT(view_->model().rowCount(), 0) << "the weights are live at the end";
  filter.text = testing::kLeakFunction;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_TRUE(Shown());
  window_.selection().SetFilter({});
  window_.WaitUntilSettled();
  EXPECT_EQ(view_->VerdictText(),
            QString::fromStdString(window_.document().report()->report.leaks.verdict));
}

TEST_F(LeaksTest, SaysThatNoUseWasRecorded) {
  EXPECT_TRUE(view_->EvidenceText().contains(S("no kernel or copy was recorded")))
      << qPrintable(view_->EvidenceText());
}

TEST_F(LeaksTest, SortsWithinTiers) {
  QTreeView* table = view_->table();
  const auto sizes = [&] {
    std::vector<std::uint64_t> bytes;
    const QModelIndex tier = table->model()->index(table->model()->rowCount() - 1, 0);
    for (int row = 0; row < table->model()->rowCount(tier); ++row)
      bytes.push_back(view_->model().leak(table->model()->index(row, 0, tier))->leak.bytes);
    return bytes;
  };
  ASSERT_GT(sizes().size(), 2u);
  const LeakRow* current = view_->model().leak(table->currentIndex());
  table->sortByColumn(LeakModel::kBytes, Qt::AscendingOrder);
  const std::vector<std::uint64_t> ascending = sizes();
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
  EXPECT_LT(ascending.front(), ascending.back());
  EXPECT_EQ(view_->model().leak(table->currentIndex()), current);
  table->sortByColumn(LeakModel::kBytes, Qt::DescendingOrder);
  EXPECT_EQ(sizes(), std::vector<std::uint64_t>(ascending.rbegin(), ascending.rend()));
}

TEST_F(LeaksTest, ExportsRowsWithTheirWords) {
  QString text;
  QTextStream out(&text);
  ASSERT_TRUE(view_->WriteCsv(&out));
  out.flush();
  const QStringList lines = text.trimmed().split(QLatin1Char('\n'));
  const ReportData& report = *window_.document().report();
  EXPECT_EQ(lines.size(), 1 + static_cast<int>(report.leaks.size() + report.live_at_exit.size()));
  EXPECT_TRUE(lines[1].startsWith(S("suspected,")) || lines[1].startsWith(S("growing,")));
  EXPECT_TRUE(lines[1].contains(S("LossHistory::Append,loss_history.cc,24,block,0,31457280,30,")))
      << qPrintable(lines[1]);
  EXPECT_TRUE(lines[1].contains(S(",1048576,")))
      << "bytes a step, in full: " << qPrintable(lines[1]);
  EXPECT_FALSE(text.contains(S("e+0")));
}

TEST_F(LeaksTest, DetailsShowEveryFactOfTheSurvivor) {
  window_.ShowView(ViewKind::kTimeline);
  const LeakRow& leak = window_.document().report()->leaks[0];
  window_.selection().SelectAllocation(leak.leak.example, leak.leak.stack);
  window_.WaitUntilSettled();
  auto* details = window_.findChild<DetailsPanel*>();
  const QString text = details->SelectionText();
  for (const char* fact :
       {"Size", "1.00 MiB", "1,048,480 bytes requested", "Kind", "block on GPU 0", "Address",
        "loss.retained", "Category", "Life", "born in step 3", "never freed", "Last use",
        "no kernel or copy was recorded", "segment"})
    EXPECT_TRUE(text.contains(S(fact))) << fact << " in " << qPrintable(text);
  EXPECT_EQ(details->stack().rowCount(), 4);
}

}  // namespace
}  // namespace memprof::viewer
