// The source of call sites with bytes: beside the stack, and as a page.
#include "viewer/views/source_view.h"

#include <gtest/gtest.h>

#include <QComboBox>
#include <QMessageBox>
#include <QScrollBar>
#include <QTreeView>

#include "analysis/base/sizes.h"
#include "analysis/log/sources.h"
#include "tests/viewer/model_fixture.h"
#include "tests/viewer/panel_fixture.h"
#include "viewer/models/source_maps.h"
#include "viewer/views/fact_view.h"
#include "viewer/views/source_pane.h"
#include "viewer/views/stack_view.h"

namespace memprof::viewer {
namespace {

using analysis::kMiB;
using analysis::Layer;
using analysis::StackId;
using testing::Lines;
using testing::PanelTest;
using testing::Print;
using testing::S;

// A program of two files, whose text is in the test's folder.
class SourceViewTest : public PanelTest {
 protected:
  void OpenProgram(ViewKind view = ViewKind::kTimeline) {
    const QString train =
        WriteFile(S("train.py"), "import model\n\nfor i in range(9):\n  model.f()\n");
    WriteFile(S("model.py"), "def f():\n  a = g()\n  b = g()\n\ndef g():\n  return new()\n");
    const std::string folder = directory_.path().toStdString();
    const std::string main = "main (" + folder + "/train.py:4)";
    const std::string model = folder + "/model.py:";
    analysis::testing::LogBuilder log;
    log.Device(0, 1 << 30);
    // Text that was written before the run is the text that ran.
    log.header().set_start_unix_ns(std::uint64_t{1} << 62);
    const int first = log.Stack({main, "f (" + model + "2)"});
    const int second = log.Stack({main, "f (" + model + "3)"});
    const int deep = log.Stack({main, "f (" + model + "3)", "f (" + model + "2)"});
    const int direct = log.Stack({main});
    log.Alloc(Layer::kLinear, 0x10000000, 3 * kMiB, {.stack = first});
    log.Alloc(Layer::kLinear, 0x20000000, 2 * kMiB, {.stack = second});
    log.Alloc(Layer::kLinear, 0x30000000, 1 * kMiB, {.stack = deep});
    log.Alloc(Layer::kLinear, 0x40000000, 1 * kMiB, {.stack = direct});
    log.Free(0x20000000);
    OpenLog(log, view);
  }
  SourceView* page() { return window_.findChild<SourceView*>(); }
  static QPoint At(const SourcePane* pane, int line) {
    const QModelIndex index = pane->model().index(pane->model().RowOf(line), SourceModel::kText);
    pane->table()->scrollTo(index);
    QRect cell = pane->table()->visualRect(index);
    return {cell.left() + 4, cell.center().y()};
  }
  void Click(const SourcePane* pane, int line) {
    QTest::mouseClick(pane->table()->viewport(), Qt::LeftButton, {}, At(pane, line));
    window_.WaitUntilSettled();
  }
  std::uint64_t SelectedBytes() {
    std::uint64_t bytes = 0;
    for (const auto& a : window_.document().session()->allocations())
      if (a.stack == window_.selection().site()) bytes += a.bytes;
    return bytes;
  }
};

TEST_F(SourceViewTest, ThePageShowsFilesAndTheLinesOfTheChosenOne) {
  OpenProgram(ViewKind::kSource);
  const QString model = directory_.filePath(S("model.py")),
                train = directory_.filePath(S("train.py"));
  EXPECT_EQ(Print(page()->files()), QStringList({model + S("|6.00 MiB|6.00 MiB|0 B"),
                                                 train + S("|1.00 MiB|1.00 MiB|0 B")}));
  const QTreeView* list = page()->findChild<FactView*>();
  EXPECT_EQ(list->verticalScrollBar()->maximum(), 0) << "no row is cut";
  const SourcePane* pane = page()->pane();
  EXPECT_EQ(Print(pane->model()), Lines({"|||1|def f():", "4.00 MiB|4.00 MiB||2|  a = g()",
                                         "2.00 MiB|2.00 MiB||3|  b = g()", "|||4|",
                                         "|||5|def g():", "|||6|  return new()"}));
  EXPECT_EQ(pane->Note(), QString());
  EXPECT_TRUE(pane->table()->isColumnHidden(SourceModel::kLeaked)) << "nothing leaks";
  pane->measure()->setCurrentIndex(1);
  EXPECT_EQ(Print(pane->model())[2], S("3.00 MiB|3.00 MiB||3|  b = g()"));
  page()->list()->setCurrentIndex(page()->files().index(1, 0));
  window_.WaitUntilSettled();
  EXPECT_EQ(Print(pane->model())[3], S("7.00 MiB|7.00 MiB||4|  model.f()"));
  window_.selection().SetInstant(window_.selection().bounds().end);
  window_.WaitUntilSettled();
  EXPECT_EQ(Print(pane->model())[3], S("5.00 MiB|7.00 MiB||4|  model.f()"));
}

TEST_F(SourceViewTest, TextThatTheLogKeepsIsShownOnAMachineWithoutIt) {
  analysis::testing::LogBuilder log;
  log.header().set_hostname(QSysInfo::machineHostName().toStdString());
  log.Device(0, 1 << 30);
  log.Alloc(Layer::kLinear, 0x10000000, 3 * kMiB, {.stack = log.Stack({"f (/gone/t.py:2)"})});
  const std::string bytes = log.Bytes({});
  const QString path = WriteFile(S("kept.mprof"), QByteArray::fromStdString(bytes));
  const absl::Status kept =
      analysis::AppendSources(path.toStdString(), {{"/gone/t.py", "def f():\n  new()\n"}});
  ASSERT_TRUE(kept.ok()) << kept;
  OpenPath(path, ViewKind::kSource);
  const SourcePane* pane = page()->pane();
  EXPECT_EQ(Print(pane->model()), Lines({"|||1|def f():", "3.00 MiB|3.00 MiB||2|  new()"}));
  EXPECT_TRUE(Texts(page()).contains(S("/gone/t.py, kept in the log")));
  EXPECT_EQ(pane->Note(), QString());
}

TEST_F(SourceViewTest, ClicksSelectTheSitesOfALineInTurnAndTheFileStays) {
  OpenProgram(ViewKind::kSource);
  const SourcePane* pane = page()->pane();
  for (const std::uint64_t bytes : {3 * kMiB, 1 * kMiB, 3 * kMiB}) {
    Click(pane, 2);
    EXPECT_EQ(SelectedBytes(), bytes);
    EXPECT_EQ(pane->model().marked(), 2);
  }
  const StackId before = window_.selection().site();
  Click(pane, 5);
  EXPECT_EQ(window_.selection().site(), before) << "a line without bytes";
  // A frame of train.py is on the stack of a site in model.py.
  page()->list()->setCurrentIndex(page()->files().index(1, 0));
  pane->measure()->setCurrentIndex(1);
  window_.WaitUntilSettled();
  window_.selection().SelectAllocation({}, {});
  window_.WaitUntilSettled();
  Click(pane, 4);
  EXPECT_EQ(SelectedBytes(), 3 * kMiB);
  EXPECT_TRUE(QString::fromStdString(pane->file()).endsWith(S("train.py")));
  EXPECT_EQ(pane->model().marked(), 4);
  EXPECT_TRUE(QString::fromStdString(details()->source()->file()).endsWith(S("model.py")));
}

TEST_F(SourceViewTest, DetailsShowTheSourceOfTheSiteAndOfAChosenFrame) {
  OpenProgram();
  const SourcePane* pane = details()->source();
  EXPECT_FALSE(pane->isVisible()) << "nothing is selected";
  window_.selection().SelectSite(
      window_.document().session()->record(analysis::AllocationId(1)).stack);
  window_.WaitUntilSettled();
  EXPECT_TRUE(pane->isVisible());
  EXPECT_EQ(pane->model().marked(), 3);
  EXPECT_EQ(pane->model().rowCount(), 6);
  auto* stack = details()->findChild<StackView*>();
  stack->setCurrentIndex(stack->model()->index(1, 0));
  window_.WaitUntilSettled();
  EXPECT_EQ(pane->model().marked(), 4);
  EXPECT_EQ(pane->model().rowCount(), 4) << "train.py";
  QTest::keyClick(&window_, Qt::Key_Escape);
  window_.WaitUntilSettled();
  EXPECT_FALSE(pane->isVisible());
}

TEST_F(SourceViewTest, AMissingFileIsNamedAndFoundOnceItsPlaceIsKnown) {
  Open({.steps = 20}, ViewKind::kSource);
  const SourcePane* pane = page()->pane();
  EXPECT_TRUE(pane->Note().contains(S("is not on this machine"))) << qPrintable(pane->Note());
  EXPECT_GT(pane->model().rowCount(), 0) << "figures by line";
  const QString name = QString::fromStdString(pane->file());
  const QString base = name.mid(name.lastIndexOf(QLatin1Char('/')) + 1);
  WriteFile(base, "one line\n");
  SetSourceMaps({directory_.path()});
  page()->list()->setCurrentIndex(page()->files().index(1, 0));
  window_.WaitUntilSettled();
  page()->list()->setCurrentIndex(page()->files().index(0, 0));
  window_.WaitUntilSettled();
  SetSourceMaps({});
  EXPECT_EQ(pane->model().index(0, SourceModel::kText).data().toString(), S("one line"));
  EXPECT_TRUE(pane->Note().startsWith(S("This is not the text that ran: it has 1 lines")))
      << qPrintable(pane->Note());
}

TEST_F(SourceViewTest, ADoubleClickOpensTheEditorAndIsOneClick) {
  qputenv("MEMPROF_EDITOR", "/no/such/editor");
  OpenProgram(ViewKind::kSource);
  const SourcePane* pane = page()->pane();
  QWidget* lines = pane->table()->viewport();
  const QPoint at = At(pane, 2);
  QTest::mouseClick(lines, Qt::LeftButton, {}, at);
  QTest::mouseDClick(lines, Qt::LeftButton, {}, at);
  QTest::mouseRelease(lines, Qt::LeftButton, {}, at);
  window_.WaitUntilSettled();
  const auto* box = window_.findChild<QMessageBox*>();
  ASSERT_NE(box, nullptr);
  EXPECT_TRUE(box->text().contains(S("/no/such/editor")));
  EXPECT_EQ(SelectedBytes(), 3 * kMiB) << "the largest site, not the one after it";
  qunsetenv("MEMPROF_EDITOR");
}

}  // namespace
}  // namespace memprof::viewer
