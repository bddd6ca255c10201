// The window of a fleet with a memprof that succeeds, fails or is missing; logs of ranks in Diff.
#include "viewer/window/fleet_window.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QPointer>
#include <QTemporaryDir>
#include <QTest>

#include "tests/viewer/demo_log.h"
#include "tests/viewer/fleet_file.h"
#include "viewer/views/diff_view.h"
#include "viewer/views/fleet_canvas.h"
#include "viewer/views/fleet_view.h"
#include "viewer/window/open_windows.h"

namespace memprof::viewer {
namespace {

using testing::FileRank;
using testing::FleetBytes;
using testing::FleetHead;
using testing::FourSteps;
using testing::WriteBytes;

class FleetWindowTest : public ::testing::Test {
 protected:
  FleetWindowTest() {
    EXPECT_TRUE(WriteBytes(Path("_schema.json"), "{\"version\": 1}"));
    Write("grid", FourSteps());
    Memprof("cp \"$(dirname \"$0\")/grid\" \"$5\"; echo \"$@\" > \"$(dirname \"$0\")/said\"\n");
  }
  QString Path(const char* name) { return directory_.filePath(QString::fromUtf8(name)); }
  void Write(const char* name, const std::vector<FileRank>& ranks) {
    EXPECT_TRUE(WriteBytes(Path(name), FleetBytes(FleetHead(ranks, 4), ranks)));
  }
  // The program that the window starts: memprof fleet grid FLEET -o FILE …
  void Memprof(const QByteArray& script) {
    QFile::remove(Path("memprof"));
    EXPECT_TRUE(WriteBytes(Path("memprof"), "#!/bin/sh\n" + script));
    EXPECT_TRUE(QFile::setPermissions(Path("memprof"),
                                      QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
  }
  void Open(const FleetChoice& choice = {}) {
    window_.Open(directory_.path(), choice);
    window_.WaitUntilSettled();
  }
  QByteArray Said() {
    QFile file(Path("said"));
    EXPECT_TRUE(file.open(QIODevice::ReadOnly));
    return file.readAll();
  }

  QTemporaryDir directory_;
  FleetWindow window_{MainWindow::Settings::kIgnored, directory_.path()};
};

TEST_F(FleetWindowTest, AFleetIsAFolderWithTables) {
  EXPECT_TRUE(IsFleet(directory_.path()));
  EXPECT_FALSE(IsFleet(Path("grid")));
  EXPECT_FALSE(IsFleet(Path("none")));
  ASSERT_TRUE(QFile::remove(Path("_schema.json")));
  EXPECT_FALSE(IsFleet(directory_.path()));
}

TEST_F(FleetWindowTest, ShowsWhatMemprofMakes) {
  Open();
  EXPECT_EQ(window_.error(), QString());
  ASSERT_NE(window_.view()->grid(), nullptr);
  EXPECT_EQ(window_.view()->grid()->rows.size(), 5u);
  EXPECT_TRUE(Said().startsWith("fleet grid " + directory_.path().toUtf8() + " -o "));
  EXPECT_EQ(Said().count("--job"), 0);
  Open({QStringLiteral("-a b"), 3, QStringLiteral("peak")});
  EXPECT_TRUE(Said().endsWith(" --job=-a b --attempt=3 --figure=peak\n")) << Said().toStdString();
}

TEST_F(FleetWindowTest, AProblemIsTheLastLineOfMemprof) {
  Memprof(
      "echo warning >&2; echo \"memprof fleet grid: the Python module duckdb is missing\" >&2; "
      "exit 1\n");
  Open();
  EXPECT_EQ(window_.error(),
            QStringLiteral("memprof fleet grid: the Python module duckdb is missing"));
  EXPECT_EQ(window_.view()->Waiting(), window_.error());
  EXPECT_EQ(window_.view()->grid(), nullptr);
  Memprof("exit 3\n");
  Open();
  EXPECT_TRUE(window_.error().contains(QStringLiteral("status 3")));
  Memprof("kill -9 $$\n");
  Open();
  EXPECT_TRUE(window_.error().contains(QStringLiteral("signal")));
  Memprof("echo nonsense > \"$5\"\n");
  Open();
  EXPECT_TRUE(window_.error().contains(QStringLiteral("no grid of a fleet")));
  Memprof("exit 0\n");
  Open();
  EXPECT_FALSE(window_.error().isEmpty()) << "no file";
  QFile::remove(Path("memprof"));
  Open();
  EXPECT_TRUE(window_.error().contains(QStringLiteral("cannot be started")));
}

TEST_F(FleetWindowTest, AProblemLaterKeepsThePicture) {
  Open();
  Memprof("echo 'memprof fleet grid: gone' >&2; exit 1\n");
  Open({QStringLiteral("4711"), 1, QStringLiteral("duration")});
  EXPECT_EQ(window_.view()->Note(), QStringLiteral("memprof fleet grid: gone"));
  EXPECT_EQ(window_.view()->grid()->rows.size(), 5u);
}

TEST_F(FleetWindowTest, TheLastChoiceWins) {
  Memprof("case \"$*\" in *slow*) exec sleep 60;; esac; cp \"$(dirname \"$0\")/grid\" \"$5\"\n");
  window_.Open(directory_.path(), {QStringLiteral("slow"), {}, {}});
  Open();
  EXPECT_EQ(window_.error(), QString());
  EXPECT_NE(window_.view()->grid(), nullptr);
}

TEST_F(FleetWindowTest, ALogThatIsNotHereIsSaid) {
  Open();
  EXPECT_EQ(window_.OpenLog(1), nullptr);
  EXPECT_TRUE(window_.view()->Note().contains(QStringLiteral("/logs/0.mprof")))
      << window_.view()->Note().toStdString();
  EXPECT_EQ(window_.Compare(0), nullptr);
  EXPECT_TRUE(window_.view()->Note().contains(QStringLiteral("/logs/2.mprof")));
  EXPECT_EQ(window_.Compare(4), nullptr);
  EXPECT_TRUE(window_.view()->Note().contains(QStringLiteral("No rank is typical")));
}

TEST_F(FleetWindowTest, ARankOpensBesideATypicalOneInDiff) {
  std::vector<FileRank> ranks = FourSteps();
  const QString log = testing::WriteDemoLog(directory_, {.steps = 6});
  const QString typical = Path("typical.mprof");
  ASSERT_TRUE(QFile::copy(log, typical));
  ranks[0].log = log;
  Write("grid", ranks);
  Open();
  EXPECT_EQ(window_.Compare(0), nullptr);
  EXPECT_TRUE(window_.view()->Note().contains(QStringLiteral("/logs/0.mprof")))
      << "the typical one";
  ranks[1].log = typical;
  Write("grid", ranks);
  Open();
  const QPointer<MainWindow> both = window_.Compare(0);
  ASSERT_NE(both, nullptr);
  both->WaitUntilSettled();
  EXPECT_EQ(both->view(), ViewKind::kDiff);
  EXPECT_EQ(both->document().path(), log);
  const auto* diff = static_cast<DiffView*>(both->page(ViewKind::kDiff));
  EXPECT_TRUE(diff->Verdict().contains(QStringLiteral("typical.mprof")))
      << diff->Verdict().toStdString();
  EXPECT_EQ(window_.view()->Note(), QString());
  const QPointer<MainWindow> alone = window_.OpenLog(0);
  ASSERT_NE(alone, nullptr);
  alone->WaitUntilSettled();
  EXPECT_EQ(alone->document().path(), log);
  both->close();
  alone->close();
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  EXPECT_TRUE(both.isNull() && alone.isNull());
}

TEST_F(FleetWindowTest, ExportsPictureAndTable) {
  EXPECT_NE(window_.Export(Path("a.csv")), QString()) << "nothing yet";
  Open();
  EXPECT_EQ(window_.Export(Path("a.png")), QString());
  EXPECT_FALSE(QImage(Path("a.png")).isNull());
  EXPECT_EQ(window_.Export(Path("a.csv")), QString());
  EXPECT_NE(window_.Export(Path("a.svg")), QString());
  EXPECT_NE(window_.Export(QStringLiteral("/nowhere/a.png")), QString());
}

template <typename Window>
QList<Window*> WindowsBeside(const QWidget* known) {
  QList<Window*> found;
  for (QWidget* widget : QApplication::topLevelWidgets())
    if (auto* window = qobject_cast<Window*>(widget); window != nullptr && window != known)
      found << window;
  return found;
}

TEST_F(FleetWindowTest, TheWindowOfLogsHandsAFleetOn) {
  MainWindow logs(MainWindow::Settings::kIgnored);
  logs.OpenTogether({directory_.path()});
  EXPECT_EQ(logs.document().state(), Document::State::kEmpty);
  const QList<FleetWindow*> opened = WindowsBeside<FleetWindow>(&window_);
  ASSERT_EQ(opened.size(), 1);
  opened[0]->WaitUntilSettled();
  opened[0]->close();
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

TEST_F(FleetWindowTest, TheProgramOpensAFleetWithoutAWindowOfLogs) {
  OpenWindows({.logs = {directory_.path()}}, MainWindow::Settings::kIgnored);
  const QList<FleetWindow*> opened = WindowsBeside<FleetWindow>(&window_);
  EXPECT_TRUE(WindowsBeside<MainWindow>(nullptr).isEmpty());
  ASSERT_EQ(opened.size(), 1);
  opened[0]->WaitUntilSettled();
  opened[0]->close();
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
}

}  // namespace
}  // namespace memprof::viewer
