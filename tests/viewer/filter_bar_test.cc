// The filter of the window: typed, chosen, taken away, undone; what passes it; and exports.
#include "viewer/views/filter_bar.h"

#include <gmock/gmock.h>

#include <QKeyEvent>
#include <QLineEdit>
#include <QSettings>
#include <QToolButton>

#include "analysis/store/allocation_set.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/views/view.h"
#include "viewer/window/navigation.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using testing::WindowFixture;

class FilterBarTest : public WindowFixture {
 protected:
  int Passing() {
    const analysis::AllocationSet* set = window_.document().passing().get();
    int count = 0;
    for (std::uint32_t i = 0; i < window_.document().session()->records().size(); ++i)
      count += Passes(set, AllocationId(i));
    return count;
  }
  int All() { return static_cast<int>(window_.document().session()->records().size()); }
};

TEST_F(FilterBarTest, ATextFiltersOnceTypingPauses) {
  Open();
  EXPECT_EQ(window_.document().passing(), nullptr);
  QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier);
  QTest::keyClicks(window_.filter_bar()->text(), QStringLiteral("losshistory"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.document().passing() != nullptr; }));
  EXPECT_GT(Passing(), 0);
  EXPECT_LT(Passing(), All() / 2);
  EXPECT_TRUE(window_.filter_bar()->Conditions().isEmpty()) << "the text is said by the field";
  QTest::keyClick(&window_, Qt::Key_Left, Qt::AltModifier);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().passing(), nullptr);
  EXPECT_EQ(window_.filter_bar()->text()->text(), QString()) << "what was undone is not shown";
}

TEST_F(FilterBarTest, EscapeEmptiesTheFieldAndKeysOfTheMenuGoOn) {
  Open();
  QLineEdit* field = window_.filter_bar()->text();
  QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier);
  QTest::keyClicks(field, QStringLiteral("losshistory"));
  QTest::keyClick(field, Qt::Key_Return);
  window_.WaitUntilSettled();
  ASSERT_NE(window_.document().passing(), nullptr);
  QTest::keyClick(field, Qt::Key_Escape);
  EXPECT_EQ(field->text(), QString());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.selection().filter().everything(); }));
  // The field does not take what the menu has.
  QKeyEvent export_key(QEvent::ShortcutOverride, Qt::Key_E, Qt::ControlModifier,
                       QStringLiteral("e"));
  export_key.ignore();
  QCoreApplication::sendEvent(field, &export_key);
  EXPECT_FALSE(export_key.isAccepted());
  QKeyEvent paste(QEvent::ShortcutOverride, Qt::Key_V, Qt::ControlModifier);
  paste.ignore();
  QCoreApplication::sendEvent(field, &paste);
  EXPECT_TRUE(paste.isAccepted()) << "its own keys it keeps";
}

TEST_F(FilterBarTest, ACallSiteIsNamedOnceItIsKnown) {
  Open();
  analysis::AllocationFilter filter;
  filter.site = window_.document().report()->leaks.front().leak.stack;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  ASSERT_EQ(window_.filter_bar()->Conditions().size(), 1);
  EXPECT_TRUE(window_.filter_bar()->Conditions()[0].contains(QStringLiteral("LossHistory::Append")))
      << window_.filter_bar()->Conditions()[0].toStdString();
}

TEST_F(FilterBarTest, ConditionsAreChipsThatTakeThemAway) {
  Open();
  analysis::AllocationFilter filter;
  filter.least_bytes = 1 << 20;
  filter.alive_at_end = true;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.filter_bar()->Conditions(),
            QStringList({QStringLiteral("at least 1.00 MiB"), QStringLiteral("alive at the end")}));
  const int both = Passing();
  QToolButton* chip = nullptr;
  for (auto* button : window_.filter_bar()->findChildren<QToolButton*>())
    if (button->text().startsWith(QStringLiteral("alive"))) chip = button;
  ASSERT_NE(chip, nullptr);
  chip->click();
  window_.WaitUntilSettled();
  EXPECT_FALSE(window_.selection().filter().alive_at_end);
  EXPECT_EQ(window_.selection().filter().least_bytes, 1u << 20);
  EXPECT_GT(Passing(), both);
  QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(window_.selection().filter().everything());
  window_.selection().Back();
  window_.selection().Back();
  EXPECT_TRUE(window_.selection().filter().alive_at_end) << "two steps back";
}

TEST_F(FilterBarTest, AnotherLogIsNotFiltered) {
  Open();
  analysis::AllocationFilter filter;
  filter.least_bytes = 1 << 20;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  ASSERT_NE(window_.document().passing(), nullptr);
  Open();
  EXPECT_TRUE(window_.selection().filter().everything());
  EXPECT_EQ(window_.document().passing(), nullptr);
}

TEST_F(FilterBarTest, ACategoryIsFilteredOnceItIsKnown) {
  Open();
  analysis::AllocationFilter filter;
  filter.category = analysis::Category::kUnknown;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  ASSERT_NE(window_.document().categories(), nullptr);
  const int unknown = Passing();
  filter.category = analysis::Category::kParameters;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_LT(Passing() + unknown, All() + 1);
}

// A view that counts how often it was asked to show itself anew.
class CountingView : public View {
 public:
  using View::View;
  int refreshed = 0;
  void Touch() { Invalidate(); }

 protected:
  void Refresh() override { ++refreshed; }
};

TEST(ViewTest, WorksOnlyWhileItIsSeen) {
  Document document;
  Selection selection;
  CountingView view(&document, &selection);
  view.Touch();
  view.Touch();
  EXPECT_EQ(view.refreshed, 0);
  view.show();
  EXPECT_EQ(view.refreshed, 1) << "once, however often it was touched";
  view.Touch();
  EXPECT_EQ(view.refreshed, 2);
  view.hide();
  view.show();
  EXPECT_EQ(view.refreshed, 2) << "nothing changed in between";
  QString text;
  QTextStream out(&text);
  EXPECT_FALSE(view.WriteCsv(&out));
}

TEST(ViewTest, FieldsOfTablesAreQuotedWhereTheyMust) {
  EXPECT_EQ(CsvField(QStringLiteral("plain")), QStringLiteral("plain"));
  EXPECT_EQ(CsvField(QStringLiteral("a,b")), QStringLiteral("\"a,b\""));
  EXPECT_EQ(CsvField(QStringLiteral("say \"hi\"")), QStringLiteral("\"say \"\"hi\"\"\""));
  EXPECT_EQ(CsvField(QStringLiteral("two\nlines")), QStringLiteral("\"two\nlines\""));
}

TEST(ViewTableTest, NamesAreDifferentAndEveryViewHasAGroup) {
  QStringList names;
  for (const ViewEntry& view : ViewTable()) {
    names << QString::fromUtf8(view.name);
    EXPECT_GT(std::string_view(view.group).size(), 2u);
    EXPECT_GT(std::string_view(view.help).size(), 10u);
    EXPECT_EQ(ViewTable()[static_cast<std::size_t>(ViewIndex(view.kind))].kind, view.kind);
  }
  EXPECT_EQ(names.removeDuplicates(), 0);
  EXPECT_EQ(ViewNames().count(QStringLiteral(" or ")), 1);
}

// The user's settings, in a folder of the test's own.
class SettingsTest : public WindowFixture {
 protected:
  void SetUp() override {
    QCoreApplication::setOrganizationName(QStringLiteral("memprof-test"));
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, directory_.path());
  }
};

TEST_F(SettingsTest, AWindowComesBackAsItWasLeft) {
  const QString log = testing::WriteDemoLog(directory_, {.steps = 5});
  {
    MainWindow window(MainWindow::Settings::kKept);
    window.show();
    window.resize(1111, 777);
    window.Open(log);
    window.ShowView(ViewKind::kLeaks);
    window.selection().SetAxis(AxisKind::kSteps);
    window.WaitUntilSettled();
    window.close();
  }
  MainWindow window(MainWindow::Settings::kKept);
  EXPECT_EQ(window.view(), ViewKind::kTimeline) << "where a log is looked at first";
  EXPECT_EQ(window.size(), QSize(1111, 777));
  EXPECT_EQ(window.selection().axis(), AxisKind::kSteps);
  window.show();
  EXPECT_EQ(QSettings().value(QStringLiteral("recent")).toStringList(), QStringList({log}));
  // Settings that somebody spoilt are no reason to fail.
  QSettings store;
  store.setValue(QStringLiteral("window/geometry"), QStringLiteral("nonsense"));
  store.setValue(QStringLiteral("window/view"), 17);
  store.setValue(QStringLiteral("window/axis"), -3);
  MainWindow spoilt(MainWindow::Settings::kKept);
  EXPECT_EQ(spoilt.view(), ViewKind::kTimeline);
  EXPECT_EQ(spoilt.selection().axis(), AxisKind::kTime);
}

using ExportTest = WindowFixture;

TEST_F(ExportTest, EveryViewIsWrittenAsPictureAndDrawing) {
  Open();
  for (const ViewEntry& view : ViewTable()) {
    window_.ShowView(view.kind);
    window_.WaitUntilSettled();
    const QString base = directory_.filePath(QString::fromUtf8(view.name));
    ASSERT_EQ(window_.Export(base + QStringLiteral(".png")), QString());
    ASSERT_EQ(window_.Export(base + QStringLiteral(".svg")), QString());
    EXPECT_GT(testing::Colors(QImage(base + QStringLiteral(".png"))), 5) << view.name;
    QFile drawing(base + QStringLiteral(".svg"));
    ASSERT_TRUE(drawing.open(QIODevice::ReadOnly));
    const QByteArray svg = drawing.readAll();
    EXPECT_TRUE(svg.contains("<svg")) << view.name;
    EXPECT_TRUE(svg.contains("<text")) << view.name << ": text stays text";
  }
}

TEST_F(ExportTest, RowsAreWrittenOrNothingIs) {
  Open();
  for (const ViewEntry& view : ViewTable()) {
    window_.ShowView(view.kind);
    window_.WaitUntilSettled();
    const QString path = directory_.filePath(QStringLiteral("rows.csv"));
    QFile::remove(path);
    const QString problem = window_.Export(path);
    if (!problem.isEmpty()) {
      EXPECT_TRUE(problem.contains(QStringLiteral("no rows"))) << problem.toStdString();
      EXPECT_FALSE(QFile::exists(path)) << view.name;
      continue;
    }
    QFile table(path);
    ASSERT_TRUE(table.open(QIODevice::ReadOnly));
    const QByteArrayList lines = table.readAll().split('\n');
    EXPECT_GT(lines.size(), 2) << view.name;
    EXPECT_GE(lines[0].count(','), 1) << view.name << ": headings";
  }
}

TEST_F(ExportTest, SaysWhatIsWrong) {
  Open();
  EXPECT_TRUE(window_.Export(QStringLiteral("/nowhere/at/all.png"))
                  .contains(QStringLiteral("cannot be written")));
  EXPECT_TRUE(window_.Export(directory_.filePath(QStringLiteral("x.jpg")))
                  .contains(QStringLiteral(".png, .svg or .csv")));
  EXPECT_FALSE(QFile::exists(directory_.filePath(QStringLiteral("x.jpg"))));
}

}  // namespace
}  // namespace memprof::viewer
