// The table of tensors: cells, queries, order, bars, and its relation to the other views.
#include "viewer/views/tensors_view.h"

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QComboBox>
#include <QHeaderView>
#include <QLineEdit>
#include <QMenu>
#include <QScrollBar>
#include <QSignalSpy>
#include <QToolButton>

#include "tests/viewer/table_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/tensors_bars.h"
#include "viewer/views/tensors_completer.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using analysis::Layer;
using analysis::RowKind;
using analysis::RowScope;
using testing::ClickCell;
using testing::Count;
using testing::Csv;
using testing::Grab;
using testing::PrintColumns;

class TensorsTest : public testing::WindowFixture {
 protected:
  void OpenDemo(const testing::DemoOptions& options = {.steps = 6}) {
    Open(options, ViewKind::kTensors);
    view_ = window_.findChild<TensorsView*>();
    ASSERT_NE(view_, nullptr);
    ASSERT_TRUE(view_->isVisible());
  }
  void Query(const char* text) {
    view_->SetQuery(QString::fromUtf8(text));
    window_.WaitUntilSettled();
  }
  void Sort(int column, Qt::SortOrder order) {
    view_->table()->sortByColumn(column, order);
    window_.WaitUntilSettled();
  }
  const TensorModel& model() { return view_->model(); }
  QStringList Rows(const QList<int>& columns, int rows = -1) {
    return PrintColumns(model(), columns, rows);
  }
  const analysis::Session& session() { return *window_.document().session(); }
  QRectF BarsCell(int row) {
    return view_->table()->visualRect(model().index(row, TensorModel::kBars));
  }

  TensorsView* view_ = nullptr;
};

TEST_F(TensorsTest, ListsTensorsLargestFirst) {
  OpenDemo();
  const QAbstractItemModelTester tester(view_->table()->model(),
                                        QAbstractItemModelTester::FailureReportingMode::Fatal);
  EXPECT_EQ(model().rowCount(), 24 + 6 * (12 + 6 + 1));
  EXPECT_EQ(Rows({TensorModel::kName, TensorModel::kShape, TensorModel::kDtype, TensorModel::kBytes,
                  TensorModel::kBornStep, TensorModel::kFreed},
                 2),
            QStringList({QString::fromUtf8("h.0.adam.m|768×5376|fp32|16.0 MiB|–|alive"),
                         QString::fromUtf8("h.0.adam.v|768×5376|fp32|16.0 MiB|–|alive")}));
  EXPECT_TRUE(view_->SummaryText().startsWith(QStringLiteral("138 tensors, ")))
      << view_->SummaryText().toStdString();
  EXPECT_TRUE(view_->ErrorText().isEmpty());
}

TEST_F(TensorsTest, ColumnsFitTheWindowAndChosenOnesStay) {
  OpenDemo();
  const auto fits = [this] { return view_->table()->horizontalScrollBar()->maximum() == 0; };
  const auto hidden = [this](int column) { return view_->table()->isColumnHidden(column); };
  const auto resize = [this](int width, int height) {
    window_.resize(width, height);
    window_.WaitUntilSettled();
  };
  for (const int width : {1280, 1024}) {
    resize(width, 800);
    EXPECT_TRUE(fits()) << width;
    EXPECT_TRUE(hidden(TensorModel::kRequested));
    for (const int column : {TensorModel::kName, TensorModel::kBytes, TensorModel::kBars})
      EXPECT_FALSE(hidden(column)) << column;
  }
  resize(3200, 800);
  EXPECT_TRUE(fits());
  EXPECT_FALSE(hidden(TensorModel::kRequested));
  EXPECT_TRUE(hidden(TensorModel::kProcess)) << "there is only one";
  // What the user chose.
  auto* menu = view_->findChild<QToolButton*>()->menu();
  emit menu->aboutToShow();
  menu->actions()[TensorModel::kStream]->setChecked(false);
  menu->actions()[TensorModel::kSite]->setChecked(true);
  menu->actions()[TensorModel::kProcess]->setChecked(true);
  resize(1280, 800);
  EXPECT_FALSE(hidden(TensorModel::kProcess));
  resize(3200, 800);
  EXPECT_TRUE(hidden(TensorModel::kStream));
}

TEST_F(TensorsTest, QueriesNarrowAndAddUp) {
  OpenDemo();
  Query("name:attn.scores born:2..3");
  EXPECT_EQ(model().rowCount(), 12);
  for (const QString& step : Rows({TensorModel::kBornStep}))
    EXPECT_TRUE(step == QStringLiteral("2") || step == QStringLiteral("3"));
  EXPECT_EQ(view_->SummaryText(),
            QStringLiteral("12 of 138 tensors, 72.0 MiB of %1 in all")
                .arg(FormatBytes(model().contents().table->bytes(RowKind::kTensors))));
  Query("alive -adam bytes<2MiB");
  EXPECT_EQ(model().rowCount(), 6) << "the leak";
  Query("site:Append");
  EXPECT_EQ(model().rowCount(), 6);
  Query("nothing.has.this.name");
  EXPECT_EQ(model().rowCount(), 0);
  EXPECT_EQ(view_->SummaryText(),
            QStringLiteral("None of 138 tensors is left by the query. Widen it to see more."));
  Query("");
  EXPECT_EQ(model().rowCount(), 138);
}

TEST_F(TensorsTest, MistakesAreReportedAndTheRowsStay) {
  OpenDemo();
  Query("alive");
  const int rows = model().rowCount();
  Query("alive byts>1");
  EXPECT_TRUE(view_->ErrorText().contains(QStringLiteral("\"byts\" is no field")));
  EXPECT_EQ(model().rowCount(), rows);
  Query("alive bytes>1");
  EXPECT_TRUE(view_->ErrorText().isEmpty());
}

TEST_F(TensorsTest, TypingAsksByItself) {
  OpenDemo();
  ASSERT_TRUE(view_->FocusSearch());
  QTest::keyClicks(view_->query(), QStringLiteral("alive"));
  QTest::keyClick(view_->query(), Qt::Key_Return);
  window_.WaitUntilSettled();
  EXPECT_EQ(model().rowCount(), 24 + 6);
}

TEST_F(TensorsTest, SortsByAnyColumn) {
  OpenDemo();
  Sort(TensorModel::kName, Qt::AscendingOrder);
  EXPECT_EQ(Rows({TensorModel::kName}, 1), QStringList(QStringLiteral("h.0.adam.m")));
  Sort(TensorModel::kName, Qt::DescendingOrder);
  EXPECT_EQ(Rows({TensorModel::kName}, 1), QStringList(QStringLiteral("loss.retained")));
  Sort(TensorModel::kLifetime, Qt::DescendingOrder);
  EXPECT_EQ(Rows({TensorModel::kName}, 1), QStringList(QStringLiteral("h.0.attn.weight")));
  Sort(TensorModel::kBars, Qt::DescendingOrder);
  EXPECT_EQ(model().allocation(0).value, model().allocation(1).value > model().allocation(0).value
                                             ? 0u
                                             : model().allocation(0).value)
      << "by birth, the youngest first";
  std::uint64_t last = ~std::uint64_t{0};
  for (int row = 0; row < model().rowCount(); ++row) {
    const std::uint64_t born = model().record(row).birth.value;
    EXPECT_LT(born, last);
    last = born;
  }
}

TEST_F(TensorsTest, ListsBlocksAndDriverMemoryToo) {
  OpenDemo();
  view_->SetKind(RowKind::kBlocks);
  window_.WaitUntilSettled();
  EXPECT_EQ(Rows({TensorModel::kName, TensorModel::kBytes, TensorModel::kRequested}, 1),
            QStringList(QStringLiteral("h.0.adam.m|16.0 MiB|16.0 MiB")))
      << "a block has the name of the tensor in it";
  view_->SetKind(RowKind::kDriver);
  window_.WaitUntilSettled();
  const QStringList driver = Rows({TensorModel::kLayer, TensorModel::kDevice});
  EXPECT_TRUE(driver.contains(QStringLiteral("pinned|host")));
  EXPECT_TRUE(driver.contains(QStringLiteral("linear|0")));
  EXPECT_FALSE(view_->table()->isColumnHidden(TensorModel::kLayer));
  EXPECT_TRUE(view_->table()->isColumnHidden(TensorModel::kProcess)) << "there is only one";
}

TEST_F(TensorsTest, WithoutTensorsItListsWhatThereIs) {
  OpenDemo({.steps = 3, .framework = false});
  EXPECT_EQ(model().contents().rows->kind, RowKind::kDriver);
  EXPECT_TRUE(view_->SummaryText().contains(QStringLiteral("memprof_tensor_create()")));
  view_->SetKind(RowKind::kTensors);
  window_.WaitUntilSettled();
  EXPECT_TRUE(view_->SummaryText().startsWith(QStringLiteral("No tensor is named in this log.")));
  view_->SetKind(RowKind::kBlocks);
  window_.WaitUntilSettled();
  EXPECT_TRUE(view_->SummaryText().startsWith(QStringLiteral("No block: ")));
}

TEST_F(TensorsTest, FollowsInstantAndWindow) {
  OpenDemo();
  Selection& selection = window_.selection();
  const auto alive_at = [&](analysis::TimeNs time) {
    return static_cast<int>(session().LiveAt(time, analysis::LayerBit(Layer::kTensor)).size());
  };
  view_->SetScope(RowScope::kAliveAtInstant);
  window_.WaitUntilSettled();
  EXPECT_EQ(model().rowCount(), alive_at(selection.instant()));
  const analysis::TimeNs middle = session().steps()[3].begin;
  selection.SetInstant(middle);
  window_.WaitUntilSettled();
  EXPECT_EQ(model().rowCount(), alive_at(middle));
  view_->SetScope(RowScope::kBornInWindow);
  selection.SetWindow({session().steps()[2].begin, session().steps()[3].begin - 1});
  window_.WaitUntilSettled();
  EXPECT_EQ(model().rowCount(), 12 + 6 + 1) << "of one step";
  selection.Back();
  window_.WaitUntilSettled();
  EXPECT_EQ(model().rowCount(), 138);
}

TEST_F(TensorsTest, RespectsTheFilterOfAllViews) {
  OpenDemo();
  analysis::AllocationFilter filter;
  filter.alive_at_end = true;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(model().rowCount(), 24 + 6);
  Query("-name:.");
  EXPECT_EQ(model().rowCount(), 0);
  EXPECT_TRUE(view_->SummaryText().contains(QStringLiteral("the query and the filter above")));
}

TEST_F(TensorsTest, ClicksSelectForAllViewsAndSelectionsAreFollowed) {
  OpenDemo();
  Selection& selection = window_.selection();
  ClickCell(view_->table(), 3, TensorModel::kName);
  EXPECT_EQ(selection.allocation(), model().allocation(3));
  EXPECT_EQ(selection.site(), model().record(3).stack);
  // If another view selects a block, its tensor is shown, and the selection stays the block.
  const AllocationId tensor = model().allocation(100);
  const AllocationId block = session().record(tensor).parent;
  ASSERT_EQ(session().record(block).layer, Layer::kBlock);
  selection.SelectAllocation(block, session().record(block).stack);
  EXPECT_EQ(view_->table()->currentIndex().row(), 100);
  EXPECT_TRUE(view_->table()->viewport()->rect().intersects(
      view_->table()->visualRect(view_->table()->currentIndex())));
  EXPECT_EQ(selection.allocation(), block) << "following does not change the selection";
  Sort(TensorModel::kBorn, Qt::AscendingOrder);
  const int row = view_->table()->currentIndex().row();
  EXPECT_EQ(model().allocation(row), tensor) << "kept when the order changes";
  EXPECT_EQ(selection.allocation(), block);
}

TEST_F(TensorsTest, EnterGoesToTheBirth) {
  OpenDemo();
  view_->table()->setCurrentIndex(model().index(50, 0));
  view_->table()->setFocus();
  QTest::keyClick(view_->table(), Qt::Key_Return);
  EXPECT_EQ(window_.selection().instant(), session().events().time(model().record(50).birth.value));
}

TEST_F(TensorsTest, BarsAreDrawnWhereTheyLive) {
  OpenDemo();
  Sort(TensorModel::kBorn, Qt::AscendingOrder);
  window_.selection().SetInstant(window_.document().bounds().begin);
  const QImage image = Grab(view_->table()->viewport());
  const Theme colors = theme();
  int drawn = 0;
  for (int row = 0; row < 20; ++row) {
    const QRectF cell = BarsCell(row);
    if (!view_->table()->viewport()->rect().contains(cell.toRect())) break;
    const auto bar = view_->bars().BarOf(row, cell);
    ASSERT_TRUE(bar.has_value());
    const QColor color = CategoryColor(
        colors, window_.document().categories()->Of(model().allocation(row)).category);
    const QRectF solid = bar->adjusted(1, 1, -3 * kSpace, -1);
    EXPECT_GT(Count(image, solid.toRect(), color), solid.width() * solid.height() * 0.8) << row;
    EXPECT_EQ(
        Count(
            image,
            QRectF(cell.left(), cell.top(), bar->left() - cell.left() - 2, cell.height()).toRect(),
            color),
        0)
        << "nothing before its birth";
    ++drawn;
  }
  EXPECT_GT(drawn, 10);
  // There are none outside of the time window.
  window_.selection().SetWindow({session().steps()[1].begin, session().steps()[2].begin});
  Query("freed born:0");
  for (int row = 0; row < model().rowCount(); ++row)
    EXPECT_FALSE(view_->bars().BarOf(row, BarsCell(row)).has_value());
}

TEST_F(TensorsTest, CellsExplainThemselves) {
  OpenDemo();
  const auto tip = [&](int column) {
    return model().index(0, column).data(Qt::ToolTipRole).toString();
  };
  EXPECT_EQ(tip(TensorModel::kBytes), QStringLiteral("16,777,216 bytes"));
  EXPECT_TRUE(tip(TensorModel::kCategory)
                  .contains(QStringLiteral("optimizer state: concluded from the call stack")))
      << tip(TensorModel::kCategory).toStdString();
  EXPECT_TRUE(tip(TensorModel::kBars).endsWith(QStringLiteral("alive when the log ended")));
  for (int column = 0; column < TensorModel::kColumnCount; ++column) {
    EXPECT_FALSE(model().headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
    EXPECT_TRUE(model()
                    .headerData(column, Qt::Horizontal, Qt::ToolTipRole)
                    .toString()
                    .contains(QStringLiteral("Filter with")));
  }
  EXPECT_DOUBLE_EQ(model().index(0, TensorModel::kBytes).data(TensorModel::kShareRole).toDouble(),
                   1);
  EXPECT_FALSE(model().index(0, TensorModel::kName).data(TensorModel::kShareRole).isValid());
}

TEST_F(TensorsTest, CopiesAndExports) {
  OpenDemo();
  Query("loss.retained born:2");
  ASSERT_EQ(model().rowCount(), 1);
  view_->table()->setCurrentIndex(model().index(0, 0));
  view_->table()->setFocus();
  QTest::keyClick(view_->table(), Qt::Key_C, Qt::ControlModifier);
  EXPECT_TRUE(QApplication::clipboard()->text().startsWith(
      QString::fromUtf8("loss.retained\t256×1024\tfp32\t")));
  const QStringList lines = Csv(*view_).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  ASSERT_EQ(lines.size(), 2);
  EXPECT_TRUE(lines[0].startsWith(
      QStringLiteral("name,shape,dtype,category,bytes,lifetime_s,birth_step,death_step,")));
  const QStringList cells = lines[1].split(QLatin1Char(','));
  EXPECT_EQ(cells.size(), lines[0].split(QLatin1Char(',')).size());
  EXPECT_EQ(cells[1], QStringLiteral("256x1024"));
  EXPECT_EQ(cells[4], QString::number(testing::kLeakBytes));
  EXPECT_EQ(cells[6], QStringLiteral("2"));
  EXPECT_EQ(cells[7], QString()) << "never freed";
  const auto seconds =
      model().contents().table->Number(analysis::TensorField::kLifetime, model().allocation(0));
  EXPECT_NEAR(cells[5].toDouble(), static_cast<double>(*seconds) / 1e9, 1e-9);
}

TEST_F(TensorsTest, ALogWithoutAnythingSaysSo) {
  analysis::testing::LogBuilder empty;
  OpenLog(empty, ViewKind::kTensors);
  view_ = window_.findChild<TensorsView*>();
  EXPECT_EQ(view_->SummaryText(), QStringLiteral("No driver allocation is in this log."));
}

TEST(TensorsCompletions, OfFieldsThenOfWords) {
  const auto of = [](const char* text) { return CompletionsOf(QString::fromUtf8(text)); };
  EXPECT_EQ(of("na"), QStringList({QStringLiteral("name:"), QStringLiteral("name=")}));
  EXPECT_EQ(of("alive by"), QStringList({QStringLiteral("bytes:"), QStringLiteral("bytes>"),
                                         QStringLiteral("bytes<")}));
  EXPECT_EQ(of("-dt"), QStringList({QStringLiteral("-dtype:"), QStringLiteral("-dtype=")}));
  EXPECT_EQ(of("category:opt"), QStringList(QStringLiteral("category:optimizer_state")));
  EXPECT_TRUE(of("cat").contains(QStringLiteral("category:")));
  EXPECT_FALSE(of("cat").contains(QStringLiteral("category:gradients"))) << "not yet";
  EXPECT_TRUE(of("").isEmpty());
  EXPECT_TRUE(of("name:").isEmpty());
  EXPECT_TRUE(of("alive ").isEmpty());
}

}  // namespace
}  // namespace memprof::viewer
