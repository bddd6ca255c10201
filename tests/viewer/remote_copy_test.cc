// The copy of a log by an ssh that is slow, killed, stopped, talkative or hostile.
#include "viewer/jobs/remote_copy.h"

#include <gmock/gmock.h>
#include <signal.h>

#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <algorithm>
#include <vector>

#include "tests/viewer/fake_ssh.h"

namespace memprof::viewer {
namespace {

using ::testing::EndsWith;
using testing::FakeSsh;
using ::testing::HasSubstr;

class RemoteCopyTest : public ::testing::Test {
 protected:
  absl::Status Copy() { return CopyTo(folder_.filePath(QStringLiteral("copy"))); }
  absl::Status CopyTo(const QString& file) {
    shares_.clear();
    return CopyRemoteLog(
        log_, file,
        [this](double share) {
          shares_.push_back(share);
          if (stop_when_begun_) stop_.request_stop();
        },
        stop_.get_token());
  }
  std::string ErrorWith(const QByteArray& script) {
    const FakeSsh ssh(script);
    const absl::Status status = Copy();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    const std::string text(status.message());
    EXPECT_LT(text.size(), 4000u);
    for (const char c : text) EXPECT_GE(static_cast<unsigned char>(c), 0x20) << text;
    return text;
  }
  QByteArray Content(const char* name = "copy") const {
    QFile file(folder_.filePath(QString::fromUtf8(name)));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray("no file");
  }
  // The script writes its process id here.
  QByteArray PidFile() const { return folder_.filePath(QStringLiteral("pid")).toLocal8Bit(); }

  const RemoteLog log_{QStringLiteral("node7"), QStringLiteral("/x.mprof"), {}, 0};
  QTemporaryDir folder_;
  std::stop_source stop_;
  bool stop_when_begun_ = false;
  std::vector<double> shares_;
};

TEST_F(RemoteCopyTest, ASlowConnectionIsWaitedFor) {
  const FakeSsh ssh("echo 6; for i in 1 2 3 4 5 6; do printf $i; sleep 0.15; done");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(Content(), "123456");
  EXPECT_TRUE(std::is_sorted(shares_.begin(), shares_.end()));
  EXPECT_GT(shares_.size(), 3u) << "the user sees that it goes on";
  EXPECT_EQ(shares_.back(), 1.0);
}

TEST_F(RemoteCopyTest, AnEmptyFileAndAFileThatGrowsAreWhatTheyWere) {
  {
    const FakeSsh ssh("echo 0");
    ASSERT_TRUE(Copy().ok());
    EXPECT_EQ(Content(), "");
  }
  const FakeSsh ssh("echo 3; printf abcdef; exec sleep 60");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(Content(), "abc");
}

TEST_F(RemoteCopyTest, AKilledSshIsALine) {
  EXPECT_THAT(ErrorWith("echo 100; printf abc; kill -9 $$"), HasSubstr("ended after 3 B of 100 B"));
  EXPECT_THAT(ErrorWith("kill -9 $$"), HasSubstr("ssh ended with status"));
  EXPECT_THAT(ErrorWith("echo 'x: No such file' >&2; exit 1"), EndsWith("x: No such file"));
}

TEST_F(RemoteCopyTest, ACopyIsStoppedInTheMiddleAndSshWithIt) {
  stop_when_begun_ = true;
  for (const char* end : {"exec sleep 60", "trap '' TERM; while :; do sleep 0.2; done"}) {
    stop_ = std::stop_source();
    const FakeSsh ssh("echo $$ > '" + PidFile() + "'; echo 1000; printf abc; " + end);
    QElapsedTimer time;
    time.start();
    EXPECT_TRUE(absl::IsCancelled(Copy())) << end;
    EXPECT_LT(time.elapsed(), 10'000) << end;
    EXPECT_FALSE(shares_.empty());
    const int pid = Content("pid").trimmed().toInt();
    ASSERT_GT(pid, 1);
    EXPECT_NE(kill(pid, 0), 0) << end << ": still runs";
  }
}

TEST_F(RemoteCopyTest, TheFirstLineIsALengthThatTheDiskHasRoomFor) {
  EXPECT_THAT(ErrorWith("echo 8000000000000000000; yes | head -c 3000000"), HasSubstr("room for"));
  for (const char* line : {"99999999999999999999", "-5", "3x", "", "0x10"})
    EXPECT_THAT(ErrorWith(QByteArray("echo '") + line + "'; yes | head -c 3000000"),
                HasSubstr("expected the length"))
        << line;
  EXPECT_THAT(ErrorWith("yes | tr -d '\\n'"), HasSubstr("got 'yyy"));
}

TEST_F(RemoteCopyTest, OfALotOfMessagesTheLastIsShown) {
  EXPECT_THAT(ErrorWith("yes warning | head -c 3000000 >&2; echo last >&2; exit 1"),
              EndsWith("node7: last"));
  const FakeSsh ssh("yes warning | head -c 3000000 >&2; echo 3; printf abc");
  ASSERT_TRUE(Copy().ok());
  EXPECT_EQ(Content(), "abc");
}

TEST_F(RemoteCopyTest, WhatTheOtherMachineSaysDoesNotControlTheTerminal) {
  EXPECT_THAT(ErrorWith("printf 'a\\033[2J\\007b\\r\\n' >&2; exit 1"), EndsWith("a?[2J?b"));
  EXPECT_THAT(ErrorWith("printf '\\033[2J\\n'; exit 1"), HasSubstr("got '?[2J'"));
  ErrorWith("head -c 5000 /dev/zero | tr '\\0' '\\377' >&2; exit 1");
}

TEST_F(RemoteCopyTest, WithoutSshOrAFolderNothingIsCopied) {
  {
    const FakeSsh ssh("echo 3; printf abc");
    const absl::Status status = CopyTo(folder_.filePath(QStringLiteral("gone/copy")));
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
    EXPECT_EQ(ssh.arguments(), QByteArray()) << "ssh was started for nothing";
  }
  const QByteArray path = qgetenv("PATH");
  qputenv("PATH", folder_.path().toLocal8Bit());
  EXPECT_THAT(std::string(Copy().message()), HasSubstr("ssh cannot be started"));
  qputenv("PATH", path);
}

}  // namespace
}  // namespace memprof::viewer
