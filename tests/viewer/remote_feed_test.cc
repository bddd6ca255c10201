// A log that is followed over an ssh which is cut, killed, silent, or has no memprof at its end.
#include "viewer/jobs/remote_feed.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QThread>
#include <random>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"
#include "tests/viewer/demo_log.h"
#include "tests/viewer/fake_ssh.h"

namespace memprof::viewer {
namespace {

using testing::FakeSsh;
using ::testing::HasSubstr;

QByteArray ContentOf(const QString& path) {
  QFile file(path);
  return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

class RemoteFeedTest : public ::testing::Test {
 protected:
  RemoteFeedTest() {
    options_.memprof = testing::MemprofBesideThis();
    options_.first_wait_ms = 1;
    options_.longest_wait_ms = 20;
    log_.path = folder_.filePath(QStringLiteral("there.mprof"));
  }
  void Write(const QByteArray& bytes) {
    QFile file(log_.path);
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  }
  // Of a process that runs as long as this.
  QByteArray SomeLog(int events) {
    analysis::testing::LogBuilder log;
    testing::RecordedByThisProcess(log, folder_);
    log.Device(0, 1 << 30);
    const int site = log.Stack({"main (a.py:1)", "forward (a.py:7)"});
    std::mt19937_64 random(7);  // else the stream is compressed to nothing
    for (int i = 0; i < events; ++i)
      log.Alloc(analysis::Layer::kLinear,
                (static_cast<std::uint64_t>(i + 1) << 30) + (random() >> 40), random() >> 40,
                {.stack = site});
    return QByteArray::fromStdString(log.Bytes({.events_per_chunk = 200, .compress = false}));
  }
  std::unique_ptr<RemoteFeed> Begin() {
    return std::make_unique<RemoteFeed>(
        log_, folder_.filePath(QStringLiteral("copy")).toStdString(), names_, options_);
  }
  absl::Status Wait(RemoteFeed& feed) {
    return feed.WaitForLog([](double) {}, stop_.get_token());
  }
  static bool Becomes(const std::function<bool()>& true_now) {
    QElapsedTimer time;
    time.start();
    while (!true_now()) {
      if (time.elapsed() > 20'000) return false;
      QThread::msleep(10);
    }
    return true;
  }
  std::string ErrorWith(const QByteArray& script, absl::StatusCode code) {
    const FakeSsh ssh(script);
    const auto feed = Begin();
    const absl::Status status = Wait(*feed);
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_TRUE(feed->state().ended);
    return std::string(status.message());
  }

  RemoteLog log_{QStringLiteral("node7"), {}, {}, 0};
  FeedOptions options_;
  const std::shared_ptr<analysis::NamesElsewhere> names_ =
      std::make_shared<analysis::NamesElsewhere>();
  QTemporaryDir folder_;
  std::stop_source stop_;
};

TEST_F(RemoteFeedTest, ACompleteLogComesAndTheConnectionEnds) {
  Write(SomeLog(3000));
  const FakeSsh ssh;
  const auto feed = Begin();
  ASSERT_TRUE(Wait(*feed).ok());
  EXPECT_TRUE(ContentOf(QString::fromStdString(feed->state().file)) == ContentOf(log_.path));
  EXPECT_TRUE(Becomes([&] { return feed->state().ended; }));
  EXPECT_FALSE(feed->state().growing);
  EXPECT_TRUE(feed->state().status.ok());
  EXPECT_EQ(feed->state().share, 1);
  EXPECT_THAT(ssh.arguments().toStdString(),
              HasSubstr("-T\n-o\nConnectTimeout=20\n-o\nServerAliveInterval=5\n-o"
                        "\nServerAliveCountMax=2\n-o\nBatchMode=yes\n--\nnode7\n'"));
}

// The line is cut after every few thousand bytes.
TEST_F(RemoteFeedTest, GoesOnAfterManyDrops) {
  const QByteArray bytes = SomeLog(60'000);
  ASSERT_GT(bytes.size(), 600'000);
  Write(bytes);
  const QByteArray counter = folder_.filePath(QStringLiteral("count")).toLocal8Bit();
  const FakeSsh ssh("echo >> '" + counter +
                    "'; sh -c \"$command\" | stdbuf -o0 head -c $((70000 + $$ % 7919))");
  const auto feed = Begin();
  ASSERT_TRUE(Wait(*feed).ok());
  EXPECT_TRUE(ContentOf(QString::fromStdString(feed->state().file)) == bytes);
  EXPECT_EQ(feed->state().replaced, 0u);
  EXPECT_GE(ContentOf(QString::fromLocal8Bit(counter)).size(), 8) << "lines: connections";
}

TEST_F(RemoteFeedTest, AGrowingLogIsFollowedToItsEnd) {
  const QByteArray bytes = SomeLog(3000);
  Write(bytes.left(bytes.size() / 3));
  const FakeSsh ssh;
  const auto feed = Begin();
  ASSERT_TRUE(Wait(*feed).ok());
  EXPECT_TRUE(feed->state().growing);
  const std::uint64_t first = feed->state().generation;
  Write(bytes.left(bytes.size() / 2));
  EXPECT_TRUE(Becomes([&] { return feed->state().generation > first; }));
  EXPECT_FALSE(feed->state().ended);
  Write(bytes);
  EXPECT_TRUE(Becomes([&] { return feed->state().ended; }));
  EXPECT_FALSE(feed->state().growing);
  EXPECT_TRUE(ContentOf(QString::fromStdString(feed->state().file)) == bytes);
}

TEST_F(RemoteFeedTest, ALostConnectionIsToldWhileItIsTriedAgain) {
  const QByteArray bytes = SomeLog(3000);
  Write(bytes.left(bytes.size() / 2));
  options_.first_wait_ms = options_.longest_wait_ms = 300;
  options_.silence_ms = 400;
  const QByteArray once = folder_.filePath(QStringLiteral("once")).toLocal8Bit();
  // The second and third connection are silent, and not made.
  const FakeSsh ssh("n=$(cat '" + once + "' 2>/dev/null | wc -l); echo >> '" + once +
                    "'\ncase $n in 0) timeout 1 sh -c \"$command\";; "
                    "1) echo 'memprof-serve 1 0'; exec sleep 60;; 2) exit 255;; "
                    "*) exec sh -c \"$command\";; esac");
  const auto feed = Begin();
  ASSERT_TRUE(Wait(*feed).ok());
  EXPECT_TRUE(Becomes([&] { return !feed->state().trouble.isEmpty(); }));
  EXPECT_EQ(feed->state().trouble,
            QStringLiteral("The connection to node7 is lost; trying again in 1 s"));
  EXPECT_FALSE(feed->state().ended);
  Write(bytes);
  EXPECT_TRUE(Becomes([&] { return feed->state().ended; }));
  EXPECT_EQ(feed->state().trouble, QString());
  EXPECT_TRUE(ContentOf(QString::fromStdString(feed->state().file)) == bytes);
}

TEST_F(RemoteFeedTest, WhatNeverConnectsIsAnErrorAtOnce) {
  EXPECT_THAT(ErrorWith("echo 'ssh: no such host' >&2; exit 255", absl::StatusCode::kUnavailable),
              HasSubstr("node7: ssh: no such host"));
  EXPECT_THAT(ErrorWith("printf 'a\\033[2Jb\\n' >&2; exit 255", absl::StatusCode::kUnavailable),
              HasSubstr("a?[2Jb"));
  EXPECT_THAT(
      ErrorWith("echo 'sh: memprof: not found' >&2; exit 127", absl::StatusCode::kUnimplemented),
      HasSubstr("memprof: not found"));
  EXPECT_THAT(ErrorWith("exit 0", absl::StatusCode::kUnimplemented), HasSubstr("does not answer"));
  EXPECT_THAT(ErrorWith("echo 'memprof-serve 9 9.9'; sleep 60", absl::StatusCode::kUnimplemented),
              HasSubstr("another release"));
  EXPECT_THAT(ErrorWith("exec sh -c \"$command\"", absl::StatusCode::kNotFound),
              HasSubstr("no such file"));
}

TEST_F(RemoteFeedTest, AnotherSshCanBeNamed) {
  const FakeSsh ssh("exit 255");
  qputenv("MEMPROF_SSH", "/nowhere/ssh");
  const auto feed = Begin();
  const absl::Status status = Wait(*feed);
  qunsetenv("MEMPROF_SSH");
  EXPECT_THAT(std::string(status.message()), HasSubstr("ssh cannot be started"));
}

TEST_F(RemoteFeedTest, EndsInTheMiddleAndSshWithIt) {
  const QByteArray pid_file = folder_.filePath(QStringLiteral("pid")).toLocal8Bit();
  const FakeSsh ssh("echo $$ > '" + pid_file + "'; echo 'memprof-serve 1 0'; exec sleep 60");
  auto feed = Begin();
  ASSERT_TRUE(Becomes([&] { return ContentOf(QString::fromLocal8Bit(pid_file)).size() > 1; }));
  stop_.request_stop();
  EXPECT_TRUE(absl::IsCancelled(Wait(*feed)));
  QElapsedTimer time;
  time.start();
  feed.reset();
  EXPECT_LT(time.elapsed(), 5000);
  EXPECT_NE(kill(ContentOf(QString::fromLocal8Bit(pid_file)).trimmed().toInt(), 0), 0);
}

}  // namespace
}  // namespace memprof::viewer
