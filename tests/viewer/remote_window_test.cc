// Windows on logs of another machine, by an ssh whose host is this machine.
#include <gtest/gtest.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QStandardPaths>

#include "tests/viewer/fake_ssh.h"
#include "tests/viewer/table_fixture.h"
#include "tests/viewer/window_fixture.h"
#include "viewer/jobs/remote_feeds.h"
#include "viewer/views/notice_bar.h"
#include "viewer/views/welcome_page.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

using analysis::testing::LogBuilder;
using testing::FakeSsh;

class RemoteWindowTest : public testing::WindowFixture {
 protected:
  RemoteWindowTest() { SetRemoteMemprof(testing::MemprofBesideThis()); }
  ~RemoteWindowTest() override { SetRemoteMemprof({}); }

  // A log of `steps` steps by this process, which is alive.
  QByteArray SomeLog(int steps, std::uint64_t first_bytes = 1 << 16) {
    LogBuilder log;
    testing::RecordedByThisProcess(log, directory_);
    log.header().set_start_unix_ns(first_bytes);
    log.Device(0, 1 << 30);
    const int stack = log.Stack({"main (train.py:1)", "Keep (train.py:9)"});
    for (int step = 0; step < steps; ++step) {
      log.Step(static_cast<std::uint64_t>(step));
      log.Alloc(analysis::Layer::kLinear, 0x10000 * static_cast<std::uint64_t>(step + 1),
                first_bytes, {.stack = stack});
      log.AdvanceTime(1'000'000);
    }
    return QByteArray::fromStdString(log.Bytes({.events_per_chunk = 8}));
  }
  void Write(const QByteArray& bytes) { WriteFile(QStringLiteral("live.mprof"), bytes); }
  // In one operation, with another file.
  void Replace(const QByteArray& bytes) {
    const QString part = WriteFile(QStringLiteral("part"), bytes);
    ASSERT_EQ(std::rename(qPrintable(part), qPrintable(Path())), 0);
  }
  QString Path() const { return directory_.filePath(QStringLiteral("live.mprof")); }
  QString Name() const { return QStringLiteral("ssh://node7") + Path(); }
  Document& document() { return window_.document(); }
  std::size_t Events() { return document().session()->events().size(); }
  static bool Becomes(const std::function<bool()>& true_now) {
    return QTest::qWaitFor(true_now, 30'000);
  }
};

TEST_F(RemoteWindowTest, EveryViewShowsWhatItShowsThere) {
  const QString path = testing::WriteDemoLog(directory_);
  const auto texts = [this](const QString& name) {
    QStringList all;
    for (const ViewEntry& view : ViewTable()) {
      OpenPath(name, view.kind);
      all << QString::fromUtf8(view.name) + QLatin1Char('\n') +
                 testing::Csv(*window_.page(view.kind));
    }
    return all;
  };
  const QStringList there = texts(path);
  const FakeSsh ssh;
  const QStringList here = texts(QStringLiteral("ssh://node7") + path);
  ASSERT_TRUE(ssh.arguments().contains("serve --stdio"));
  ASSERT_EQ(here.size(), there.size());
  for (qsizetype i = 0; i < here.size(); ++i)
    EXPECT_EQ(here[i].toStdString(),
              QString(there[i]).replace(path, QStringLiteral("ssh://node7") + path).toStdString());
  EXPECT_GT(there.join(QString()).size(), 10'000);
}

TEST_F(RemoteWindowTest, AGrowingLogIsFollowedUntilItIsClosed) {
  const QByteArray bytes = SomeLog(40);
  Write(bytes.left(bytes.size() / 3));
  const FakeSsh ssh;
  OpenPath(Name());
  ASSERT_EQ(document().state(), Document::State::kReady) << document().error().toStdString();
  EXPECT_TRUE(document().following());
  const std::size_t before = Events();
  Write(bytes.left(bytes.size() / 2));
  ASSERT_TRUE(Becomes([&] { return Events() > before; }));
  EXPECT_TRUE(document().grew());
  EXPECT_TRUE(document().following());
  Write(bytes);
  ASSERT_TRUE(Becomes([&] { return !document().following() && Events() >= 80; }));
  EXPECT_FALSE(document().session()->run().growing);
  EXPECT_EQ(window_.notice()->text(), QString());
}

TEST_F(RemoteWindowTest, AnotherLogInItsPlaceIsOpened) {
  const QByteArray bytes = SomeLog(40), other = SomeLog(12, 1 << 17);
  Write(bytes.left(bytes.size() / 2));
  const FakeSsh ssh;
  OpenPath(Name());
  ASSERT_TRUE(document().following());
  Replace(other);
  ASSERT_TRUE(Becomes([&] { return document().session()->run().start_unix_ns == 1 << 17; }));
  EXPECT_FALSE(document().grew()) << "no choice is kept";
  window_.WaitUntilSettled();
  EXPECT_EQ(document().session()->steps().size(), 12u);
}

// The line breaks after a second, and can be made again once a file is there.
TEST_F(RemoteWindowTest, ALostConnectionIsALineUntilItIsMended) {
  const QByteArray bytes = SomeLog(40);
  Write(bytes.left(bytes.size() / 2));
  const QByteArray path = directory_.path().toLocal8Bit();
  const FakeSsh ssh(
      "cd '" + path +
      "'; if [ ! -e once ]; then echo > once; timeout 1 sh -c \"$command\"; exit 255; "
      "fi; [ -e back ] || exit 255; exec sh -c \"$command\"");
  OpenPath(Name());
  ASSERT_EQ(document().state(), Document::State::kReady) << document().error().toStdString();
  ASSERT_TRUE(Becomes([&] { return !window_.notice()->text().isEmpty(); }));
  EXPECT_TRUE(window_.notice()->text().startsWith(
      QStringLiteral("The connection to node7 is lost; trying again in ")))
      << window_.notice()->text().toStdString();
  EXPECT_EQ(document().state(), Document::State::kReady);
  Write(bytes);
  WriteFile(QStringLiteral("back"), "");
  ASSERT_TRUE(Becomes([&] { return Events() >= 80; }));
  EXPECT_TRUE(Becomes([&] { return window_.notice()->text().isEmpty(); }));
  EXPECT_TRUE(Becomes([&] { return !document().following(); }));
}

// Before anything is shown.
TEST_F(RemoteWindowTest, ALineThatBreaksWhileItIsReadIsSaidThere) {
  Write(SomeLog(40));
  const FakeSsh ssh("echo 'memprof-serve 1 0'");
  document().Open(Name());
  auto* welcome = window_.findChild<WelcomePage*>();
  EXPECT_TRUE(Becomes([&] {
    return welcome->Message().startsWith(QStringLiteral("The connection to node7 is lost"));
  })) << welcome->Message().toStdString();
  document().Cancel();
  EXPECT_EQ(document().state(), Document::State::kEmpty);
}

TEST_F(RemoteWindowTest, CopiesGoWithTheirWindow) {
  const QDir cache(QStandardPaths::writableLocation(QStandardPaths::CacheLocation));
  const QString own = QStringLiteral("scratch-*-%1-*").arg(getpid());
  Write(SomeLog(40));
  const FakeSsh ssh;
  OpenPath(Name());
  EXPECT_EQ(cache.entryList({own}, QDir::Dirs).size(), 1);
  OpenPath(testing::WriteDemoLog(directory_));
  EXPECT_TRUE(Becomes([&] { return cache.entryList({own}, QDir::Dirs).isEmpty(); }));
}

TEST_F(RemoteWindowTest, WithoutMemprofThereItIsCopiedAndSaid) {
  SetRemoteMemprof(QStringLiteral("/nowhere/memprof"));
  const QByteArray bytes = SomeLog(40);
  Write(bytes.left(bytes.size() / 2));
  const FakeSsh ssh;
  OpenPath(Name());
  ASSERT_EQ(document().state(), Document::State::kReady) << document().error().toStdString();
  EXPECT_FALSE(document().following());
  EXPECT_TRUE(window_.notice()->text().startsWith(QStringLiteral("Copied as it was")))
      << window_.notice()->text().toStdString();
  EXPECT_TRUE(window_.notice()->text().contains(QStringLiteral("/nowhere/memprof")));
}

}  // namespace
}  // namespace memprof::viewer
