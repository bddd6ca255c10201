// Recording the demo, with programs that succeed, fail, or are missing.
#include "viewer/jobs/demo_recorder.h"

#include <gtest/gtest.h>

#include <QDateTime>
#include <QFile>
#include <QPushButton>
#include <QSignalSpy>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/welcome_page.h"

namespace memprof::viewer {
namespace {

class DemoRecorderTest : public ::testing::Test {
 protected:
  void WriteProgram(const QString& name, const QByteArray& script) {
    QFile file(programs_.filePath(name));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write("#!/bin/sh\n" + script);
    file.close();
    ASSERT_TRUE(file.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
  }
  QString Log() const { return folder_.filePath(QStringLiteral("sub/demo.mprof")); }

  QTemporaryDir programs_, folder_;
  DemoRecorder recorder_{programs_.path(), folder_.filePath(QStringLiteral("sub"))};
  QSignalSpy recorded_{&recorder_, &DemoRecorder::Recorded};
  QSignalSpy failed_{&recorder_, &DemoRecorder::Failed};
};

TEST(FolderOfPrograms, IsTheViewersOrThatOfThePrefix) {
  const QTemporaryDir prefix;
  const QString bin = prefix.filePath(QStringLiteral("bin"));
  const QString own = prefix.filePath(QStringLiteral("lib/memprof/viewer"));
  ASSERT_TRUE(QDir().mkpath(bin) && QDir().mkpath(own));
  EXPECT_EQ(FolderOfPrograms(own), own);  // nowhere
  QFile above(bin + QStringLiteral("/memprof"));
  ASSERT_TRUE(above.open(QIODevice::WriteOnly));
  EXPECT_EQ(FolderOfPrograms(own), bin);
  EXPECT_EQ(FolderOfPrograms(bin), bin);
  QFile beside(own + QStringLiteral("/memprof"));
  ASSERT_TRUE(beside.open(QIODevice::WriteOnly));
  EXPECT_EQ(FolderOfPrograms(own), own);
}

TEST_F(DemoRecorderTest, RecordsOnceAndKeepsTheLog) {
  EXPECT_FALSE(recorder_.available());
  // memprof run -o LOG --sim=… -- trainer …
  WriteProgram(QStringLiteral("memprof"), "echo \"$@\" > \"$3\"\n");
  WriteProgram(QStringLiteral("demo_trainer"), "exit 0\n");
  EXPECT_TRUE(recorder_.available());
  QFile trainer(programs_.filePath(QStringLiteral("demo_trainer")));
  ASSERT_TRUE(trainer.open(QIODevice::ReadWrite));
  const QDateTime before = QDateTime::currentDateTime().addSecs(-60);
  ASSERT_TRUE(trainer.setFileTime(before, QFileDevice::FileModificationTime));
  recorder_.Start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return recorded_.count() == 1; }, 30'000));
  EXPECT_EQ(recorded_[0][0].toString(), Log());
  QFile log(Log());
  ASSERT_TRUE(log.open(QIODevice::ReadOnly));
  const QByteArray said = log.readAll();
  EXPECT_TRUE(said.startsWith("run -o ")) << said.toStdString();
  EXPECT_TRUE(said.contains("--sim=")) << "never on a real GPU";
  // If the program fails after the trainer, its log is still used.
  WriteProgram(QStringLiteral("memprof"), "exit 9\n");
  recorder_.Start();
  EXPECT_EQ(recorded_.count(), 2);
  EXPECT_EQ(failed_.count(), 0);
}

TEST_F(DemoRecorderTest, SaysInOneLineWhyNot) {
  WriteProgram(QStringLiteral("memprof"), "echo first; echo 'no space left' >&2; exit 1\n");
  WriteProgram(QStringLiteral("demo_trainer"), "exit 0\n");
  recorder_.Start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return failed_.count() == 1; }, 30'000));
  EXPECT_EQ(failed_[0][0].toString(),
            QStringLiteral("The demo could not be recorded: no space left"));
  EXPECT_FALSE(QFile::exists(Log()));
}

TEST_F(DemoRecorderTest, AProgramThatIsNoneFails) {
  recorder_.Start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return failed_.count() == 1; }, 30'000));
  EXPECT_TRUE(failed_[0][0].toString().contains(QStringLiteral("cannot be started")));
}

TEST_F(DemoRecorderTest, CancelledIsSilentAndLeavesNothing) {
  WriteProgram(QStringLiteral("memprof"), "echo half > \"$3\"; exec sleep 60\n");
  WriteProgram(QStringLiteral("demo_trainer"), "exit 0\n");
  recorder_.Start();
  ASSERT_TRUE(QTest::qWaitFor([&] { return QFile::exists(Log()); }, 30'000));
  recorder_.Cancel();
  EXPECT_FALSE(recorder_.running());
  EXPECT_FALSE(QFile::exists(Log()));
  QTest::qWait(20);
  EXPECT_EQ(recorded_.count() + failed_.count(), 0);
}

using WelcomeDemoTest = testing::WindowFixture;

TEST_F(WelcomeDemoTest, IsOfferedOnlyWhereItCanBeRecorded) {
  window_.show();
  window_.welcome()->OfferDemo(false);
  EXPECT_FALSE(window_.welcome()->demo()->isVisible());
  window_.welcome()->OfferDemo(true);
  EXPECT_TRUE(window_.welcome()->demo()->isVisible());
  window_.welcome()->ShowDemoRunning(true);
  EXPECT_FALSE(window_.welcome()->demo()->isEnabled()) << "only one recording at a time";
  window_.welcome()->ShowDemoRunning(false, QStringLiteral("no space left"));
  EXPECT_TRUE(window_.welcome()->demo()->isEnabled());
}

}  // namespace
}  // namespace memprof::viewer
