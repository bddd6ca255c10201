// The modes of the call sites' view, operated like a user: trees, callers, search, filter,
// selection, the editor, export.
#include <gtest/gtest.h>

#include <QCheckBox>
#include <QDir>
#include <QElapsedTimer>
#include <QFile>
#include <QLineEdit>
#include <QMessageBox>
#include <QScrollArea>
#include <QTabBar>

#include "tests/viewer/model_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/geometry/units.h"
#include "viewer/views/call_tree_panel.h"
#include "viewer/views/callers_panel.h"
#include "viewer/views/flame_view.h"
#include "viewer/views/frame_actions.h"

namespace memprof::viewer {
namespace {

using testing::S;

using Mode = FlameView::Mode;

class CallViewsTest : public testing::WindowFixture {
 protected:
  void SetUp() override {
    Open({.steps = 20}, ViewKind::kFlame);
    view_ = window_.flame();
    window_.selection().SetInstant(window_.selection().bounds().end);
    window_.WaitUntilSettled();
  }
  void Show(Mode mode) {
    view_->SetMode(mode);
    window_.WaitUntilSettled();
  }
  QString Csv() {
    QString text;
    QTextStream out(&text);
    EXPECT_TRUE(view_->WriteCsv(&out));
    out.flush();
    return text;
  }
  // The row of a table whose first cell begins with the text.
  static QModelIndex Find(const QAbstractItemModel* model, const char* name,
                          const QModelIndex& parent = {}) {
    for (int row = 0; row < model->rowCount(parent); ++row) {
      const QModelIndex index = model->index(row, 0, parent);
      if (index.data().toString() == S(name)) return index;
      const QModelIndex below = Find(model, name, index);
      if (below.isValid()) return below;
    }
    return {};
  }
  std::uint64_t InUse() {
    return window_.document().bands(0)->in_use.At(window_.selection().instant());
  }

  FlameView* view_ = nullptr;
};

TEST_F(CallViewsTest, EveryModeAddsUpToWhatIsInUse) {
  Show(Mode::kTopDown);
  const QAbstractItemModel* tree = view_->tree()->table()->model();
  const auto sum = [&](int column) {
    std::uint64_t bytes = 0;
    for (int row = 0; row < tree->rowCount(); ++row)
      bytes += view_->tree()->model().node(tree->index(row, column))->inclusive.bytes;
    return bytes;
  };
  EXPECT_EQ(sum(0), InUse());
  Show(Mode::kBottomUp);
  EXPECT_EQ(sum(0), InUse());
  EXPECT_GT(tree->rowCount(), 2) << "each function that allocates";
  Show(Mode::kCallers);
  const QModelIndex main = Find(view_->callers()->functions()->model(), "main");
  ASSERT_TRUE(main.isValid());
  EXPECT_EQ(main.siblingAtColumn(FunctionModel::kInclusive).data().toString(),
            FormatBytes(InUse()));
  Show(Mode::kIcicle);
  EXPECT_EQ(view_->canvas()->tree()->nodes[0].bytes, InUse());
}

TEST_F(CallViewsTest, AFlameGraphRisesFromTheBottom) {
  const FlameBox root = view_->canvas()->Layout().boxes.front();
  EXPECT_EQ(view_->canvas()->Place(root.rect).top(), 0) << "an icicle grows downwards";
  Show(Mode::kFlame);
  FlameCanvas* canvas = view_->canvas();
  EXPECT_EQ(canvas->Place(root.rect).bottom(), canvas->height());
  const QString tip = testing::TipAt(canvas, {canvas->width() / 2, canvas->height() - 4});
  EXPECT_TRUE(tip.startsWith(S("all"))) << qPrintable(tip);
  const QImage image = testing::Grab(canvas);
  for (const FlameBox& box : canvas->Layout().boxes) {
    if (box.depth != 1) continue;
    const QRectF at = canvas->Place(box.rect);
    const analysis::FlameNode& node = canvas->tree()->nodes[static_cast<std::size_t>(box.node)];
    EXPECT_TRUE(testing::Near(
        image.pixelColor(static_cast<int>(at.left()) + 2, static_cast<int>(at.top()) + 2),
        theme().Frame(node.python, ToQString(node.function))));
  }
}

TEST_F(CallViewsTest, SearchWorksInEveryMode) {
  view_->search()->setText(S("Append"));
  const double share = view_->canvas()->matched();
  EXPECT_GT(share, 0);
  Show(Mode::kTopDown);
  EXPECT_NEAR(view_->tree()->matched(), share, 1e-9);
  const QModelIndex current = view_->tree()->table()->currentIndex();
  EXPECT_EQ(current.data().toString(), S("LossHistory::Append")) << "the first match is shown";
  EXPECT_FALSE(Find(view_->tree()->table()->model(), "Attention::Forward").isValid());
  Show(Mode::kCallers);
  EXPECT_EQ(view_->callers()->functions()->model()->rowCount(), 1);
  EXPECT_EQ(view_->callers()->Title(), S("LossHistory::Append (loss_history.cc:24)"));
  view_->search()->clear();
  EXPECT_GT(view_->callers()->functions()->model()->rowCount(), 5);
}

TEST_F(CallViewsTest, CallersAndCalleesLeadFromOneToTheNext) {
  Show(Mode::kCallers);
  CallersPanel* panel = view_->callers();
  panel->functions()->setCurrentIndex(Find(panel->functions()->model(), "Trainer::Run"));
  window_.WaitUntilSettled();
  EXPECT_EQ(panel->callers_model().rowCount(), 1);
  EXPECT_EQ(panel->callers_model().frame(0).function, "main");
  EXPECT_EQ(panel->callers_model().row(0).inclusive.bytes, InUse());
  const QModelIndex step = Find(&panel->callees_model(), "Trainer::Step");
  ASSERT_TRUE(step.isValid());
  EXPECT_EQ(panel->callees_model().row(step.row()).inclusive.bytes, 20 * testing::kLeakBytes);
  panel->callees()->setCurrentIndex(step);
  QTest::keyClick(panel->callees(), Qt::Key_Return);
  window_.WaitUntilSettled();
  EXPECT_TRUE(panel->Title().startsWith(S("Trainer::Step")));
  EXPECT_EQ(panel->callers_model().frame(0).function, "Trainer::Run");
  EXPECT_EQ(panel->callees_model().frame(0).function, "LossHistory::Append");
  EXPECT_EQ(window_.selection().site(), window_.document().report()->leaks[0].leak.stack)
      << "its costliest stack is selected";
}

TEST_F(CallViewsTest, TheSelectionIsFoundInTreesAndGraphs) {
  const analysis::StackId leak = window_.document().report()->leaks[0].leak.stack;
  Show(Mode::kTopDown);
  window_.selection().SelectSite(leak);
  EXPECT_EQ(view_->tree()->table()->currentIndex().data().toString(), S("LossHistory::Append"));
  EXPECT_EQ(window_.selection().site(), leak) << "the selection does not change";
  const QModelIndex mlp = Find(view_->tree()->table()->model(), "Linear::Linear");
  ASSERT_TRUE(mlp.isValid());
  view_->tree()->table()->setCurrentIndex(mlp);
  EXPECT_EQ(window_.selection().site(), view_->tree()->model().Stack(mlp));
  EXPECT_NE(window_.selection().site(), leak);
  Show(Mode::kIcicle);
  FlameCanvas* canvas = view_->canvas();
  const int before = testing::Count(testing::Grab(canvas), canvas->rect(), theme().accent);
  window_.selection().SelectSite({});
  EXPECT_EQ(testing::Count(testing::Grab(canvas), canvas->rect(), theme().accent), 0);
  EXPECT_GT(before, 100) << "the frames of the stack are underlined";
}

TEST_F(CallViewsTest, EveryModeIsReachedInANarrowWindow) {
  for (const int width : {1280, 940, 840}) {
    window_.resize(width, 700);
    window_.WaitUntilSettled();
    ASSERT_LE(window_.width(), width) << "no wider than requested";
    const QTabBar* modes = view_->findChild<QTabBar*>();
    ASSERT_NE(modes, nullptr);
    ASSERT_EQ(modes->count(), 5);
    EXPECT_LE(modes->mapTo(view_, QPoint(modes->width(), 0)).x(), view_->width()) << width;
    if (width >= 940) {
      EXPECT_LT(modes->tabRect(4).right(), modes->width()) << "Callers";
    }
    Show(Mode::kCallers);  // scrolls to the tab
    EXPECT_LT(modes->tabRect(4).right(), modes->width()) << "Callers, at " << width;
    Show(Mode::kIcicle);
    EXPECT_GE(modes->tabRect(0).left(), 0);
    for (const QCheckBox* box : view_->findChildren<QCheckBox*>())
      EXPECT_LE(box->mapTo(view_, QPoint(box->width(), 0)).x(), view_->width()) << width;
  }
}

TEST_F(CallViewsTest, KeysWalkTheGraph) {
  FlameCanvas* canvas = view_->canvas();
  canvas->setFocus();
  QTest::keyClick(canvas, Qt::Key_Down);
  QTest::keyClick(canvas, Qt::Key_Down);
  const analysis::FlameTree& tree = *canvas->tree();
  ASSERT_GT(canvas->current(), 0);
  EXPECT_EQ(tree.nodes[static_cast<std::size_t>(canvas->current())].function, "Trainer::Run");
  QTest::keyClick(canvas, Qt::Key_Down);
  const int first = canvas->current();
  QTest::keyClick(canvas, Qt::Key_Right);
  EXPECT_NE(canvas->current(), first);
  QTest::keyClick(canvas, Qt::Key_Left);
  EXPECT_EQ(canvas->current(), first);
  QTest::keyClick(canvas, Qt::Key_Space);
  EXPECT_EQ(window_.selection().flame_path().size(), 3);
  QTest::keyClick(canvas, Qt::Key_Backspace);
  EXPECT_EQ(window_.selection().flame_path().size(), 2);
  window_.selection().Back();
  EXPECT_EQ(window_.selection().flame_path().size(), 3);
}

TEST_F(CallViewsTest, TheFilterIsRespected) {
  analysis::AllocationFilter filter;
  filter.text = "Append";
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(view_->canvas()->tree()->nodes[0].bytes, 20 * testing::kLeakBytes);
  Show(Mode::kBottomUp);
  ASSERT_EQ(view_->tree()->model().rowCount(), 1);
  window_.selection().Back();
  window_.WaitUntilSettled();
  EXPECT_GT(view_->tree()->model().rowCount(), 1);
}

TEST_F(CallViewsTest, WhatIsAliveAtTheEndAndFromTheSiteOnly) {
  window_.selection().SetInstant(window_.selection().bounds().begin);
  view_->SetChoice(FlameView::Choice::kLiveAtEnd);
  window_.WaitUntilSettled();
  std::uint64_t alive = 0;
  for (const analysis::AllocationRecord& a : window_.document().session()->records())
    if (a.alive() && a.layer == analysis::Layer::kBlock) alive += a.bytes;
  EXPECT_EQ(view_->canvas()->tree()->nodes[0].bytes, alive);
  view_->SetFromSite(true);
  window_.WaitUntilSettled();
  EXPECT_EQ(view_->canvas()->tree()->nodes[0].bytes, alive) << "no byte is lost";
}

TEST_F(CallViewsTest, EveryModeIsExported) {
  const QString header =
      S("relation,depth,function,file,line,module,language,bytes,self_bytes,allocations");
  const QString graph = Csv();
  EXPECT_TRUE(graph.startsWith(header));
  EXPECT_TRUE(
      graph.contains(S(",LossHistory::Append,loss_history.cc,24,python,python,20971520,"
                       "20971520,20\n")))
      << qPrintable(graph);
  Show(Mode::kTopDown);
  const QString tree = Csv();
  EXPECT_TRUE(tree.contains(S("top-down,0,main,train.cc,210,python,python,")));
  EXPECT_FALSE(tree.contains(S("Append"))) << "only expanded rows";
  view_->tree()->table()->expandAll();
  EXPECT_TRUE(Csv().contains(S("top-down,3,LossHistory::Append")));
  Show(Mode::kCallers);
  const QString callers = Csv();
  EXPECT_TRUE(callers.contains(S("\ncaller,")) && callers.contains(S("\nfunction,0,main,")))
      << qPrintable(callers);
}

TEST_F(CallViewsTest, EnterOpensTheEditorAtTheLine) {
  const QString program = WriteFile(S("editor.sh"),
                                    "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$0.new\"\n"
                                    "mv \"$0.new\" \"$0.done\"\n");
  ASSERT_TRUE(
      QFile::setPermissions(program, QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
  const QString source = WriteFile(S("a b.cc"), "int x;\n");
  qputenv("MEMPROF_EDITOR",
          QStringLiteral("\"%1\" --goto {file}:{line}").arg(program).toLocal8Bit());
  analysis::SourceFrame frame;
  frame.function = "Train";
  frame.file = source.toStdString();
  frame.line = 42;
  EXPECT_EQ(OpenInEditor(&window_, window_.document(), frame), QString());
  QFile done(program + S(".done"));
  QElapsedTimer waited;
  for (waited.start(); !done.exists() && waited.elapsed() < 20'000;) QTest::qWait(5);
  ASSERT_TRUE(done.open(QIODevice::ReadOnly));
  EXPECT_EQ(done.readAll(), QStringLiteral("--goto\n%1:42\n").arg(source).toUtf8());
  // A file that cannot be opened causes a message, and nothing stops.
  frame.file = "/no/such/file.cc";
  EXPECT_TRUE(OpenInEditor(&window_, window_.document(), frame).contains(S("not on this machine")));
  auto* box = window_.findChild<QMessageBox*>();
  ASSERT_NE(box, nullptr);
  box->close();
  frame.file.clear();
  EXPECT_TRUE(OpenInEditor(&window_, window_.document(), frame).contains(S("build it with -g")));
  frame.file = source.toStdString();
  qputenv("MEMPROF_EDITOR", "/no/such/editor");
  EXPECT_TRUE(
      OpenInEditor(&window_, window_.document(), frame).contains(S("could not be started")));
  qunsetenv("MEMPROF_EDITOR");
  // A row of a tree opens the editor in the same way.
  Show(Mode::kTopDown);
  view_->tree()->table()->setCurrentIndex(view_->tree()->model().index(0, 0));
  QTest::keyClick(view_->tree()->table(), Qt::Key_Return);
  bool told = false;
  for (QMessageBox* shown : view_->findChildren<QMessageBox*>())
    told |= shown->text().contains(S("train.cc is not on this machine"));
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace memprof::viewer
