// What a window writes: its settings, images and rows.
#include <gmock/gmock.h>

#include <QSettings>

#include "tests/viewer/window_fixture.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

using testing::WindowFixture;

// The user's settings, in a folder of the test.
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
    window.resize(1111, 666);
    window.Open(log);
    window.ShowView(ViewKind::kLeaks);
    window.selection().SetAxis(AxisKind::kSteps);
    window.WaitUntilSettled();
    window.close();
  }
  MainWindow window(MainWindow::Settings::kKept);
  EXPECT_EQ(window.view(), ViewKind::kTimeline) << "the first view of a log";
#if QT_VERSION < QT_VERSION_CHECK(6, 8, 0)
  EXPECT_EQ(window.width(), 1111);
#endif  // later, none is wider than the screen, which is 800x800 on the platform "offscreen"
  EXPECT_EQ(window.height(), 666);
  EXPECT_EQ(window.selection().axis(), AxisKind::kSteps);
  window.show();
  EXPECT_EQ(QSettings().value(QStringLiteral("recent")).toStringList(), QStringList({log}));
  // Damaged settings must not cause a failure.
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
    EXPECT_TRUE(svg.contains("<text")) << view.name << ": text is not converted";
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
