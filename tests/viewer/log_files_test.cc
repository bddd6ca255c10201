// Opening anything: logs, other tools' recordings, folders of both, logs on other machines.
#include "viewer/models/log_files.h"

#include <gmock/gmock.h>

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <thread>

#include "analysis/symbols/kept_sources.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/paths.h"
#include "tests/viewer/demo_log.h"
#include "tests/viewer/fake_ssh.h"
#include "viewer/models/load_log.h"

namespace memprof::viewer {
namespace {

using ::testing::ElementsAre;
using testing::FakeSsh;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

const char kRmm[] =
    "Thread,Time,Action,Pointer,Size,Stream\n"
    "1,10:00:00.000001,allocate,0x10,4096,0\n"
    "1,10:00:00.000002,free,0x10,4096,0\n";

class LogFilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    QStandardPaths::setTestModeEnabled(true);
    // A cache of its own: tests run at the same time.
    QCoreApplication::setApplicationName(
        QStringLiteral("log_files_%1").arg(QCoreApplication::applicationPid()));
    ASSERT_TRUE(folder_.isValid());
  }
  void TearDown() override {
    QDir cache(QStandardPaths::writableLocation(QStandardPaths::CacheLocation));
    EXPECT_TRUE(cache.entryList({QStringLiteral("scratch-*")}).isEmpty()) << "copies are left";
    cache.removeRecursively();
    QCoreApplication::setApplicationName({});
    QStandardPaths::setTestModeEnabled(false);
  }

  std::string Path(const char* name) const {
    return folder_.filePath(QString::fromUtf8(name)).toStdString();
  }
  std::string Write(const char* name, const QByteArray& bytes) const {
    QFile file(folder_.filePath(QString::fromUtf8(name)));
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
    return Path(name);
  }
  std::string CopyOf(const char* data, const char* name) const {
    EXPECT_TRUE(QFile::copy(QString::fromUtf8(paths::kTestData) + QString::fromUtf8(data),
                            folder_.filePath(QString::fromUtf8(name))));
    return Path(name);
  }
  std::string WriteLog() const {
    return testing::WriteDemoLog(folder_, {.steps = 3}).toStdString();
  }

  absl::StatusOr<std::shared_ptr<const analysis::Session>> Load(
      const std::vector<std::string>& names) {
    skipped_.clear();
    shares_.clear();
    return LoadLogs(
        names, [this](double share) { shares_.push_back(share); }, stop_.get_token(), &skipped_);
  }
  std::string ErrorOf(const std::vector<std::string>& names) {
    const auto session = Load(names);
    EXPECT_FALSE(session.ok());
    const std::string text(session.status().message());
    EXPECT_THAT(text, Not(HasSubstr("\n")));
    return text;
  }

  QTemporaryDir folder_;
  std::stop_source stop_;
  std::vector<std::string> skipped_;
  std::vector<double> shares_;
};

TEST_F(LogFilesTest, RecordingsOfOtherToolsOpenByTheirContent) {
  // Names say nothing.
  const auto snapshot = Load({CopyOf("torch_snapshot_train.pickle", "snapshot.mprof")});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_GT((*snapshot)->records().size(), 10u);
  EXPECT_EQ((*snapshot)->path(), Path("snapshot.mprof"));
  const auto rmm = Load({Write("pool.txt", kRmm)});
  ASSERT_TRUE(rmm.ok()) << rmm.status();
  EXPECT_EQ((*rmm)->records().size(), 1u);
}

TEST_F(LogFilesTest, AFolderMayMixLogsAndRecordings) {
  WriteLog();
  CopyOf("torch_snapshot_oom.pickle", "b");
  Write("c.csv", kRmm);
  Write("notes.txt", "nothing of this");
  Write("weights.pkl", "\x80\x04}\x94.");  // a pickle, but no snapshot: nobody named it
  const auto session = Load({folder_.path().toStdString()});
  ASSERT_TRUE(session.ok()) << session.status();
  std::vector<std::string> names;
  for (const analysis::ProcessInfo& process : (*session)->processes())
    names.push_back(QFileInfo(QString::fromStdString(process.path)).fileName().toStdString());
  EXPECT_THAT(names, ElementsAre("b", "c.csv", "demo.mprof"));
  EXPECT_TRUE(skipped_.empty());
}

TEST_F(LogFilesTest, AMalformedRecordingIsOneLine) {
  const std::string evil = Write("evil.pickle", "\x80\x04\x8c\x02os\x8c\x06system\x93.");
  EXPECT_THAT(ErrorOf({evil}), ::testing::AllOf(StartsWith(evil), HasSubstr("STACK_GLOBAL")));
  const std::string cut = Write("cut.csv", QByteArray(kRmm).replace("4096", "40x6"));
  EXPECT_THAT(ErrorOf({cut}), HasSubstr(cut + ": line 2"));
  // Of several it is left out.
  const auto session = Load({evil, WriteLog()});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_THAT(skipped_, ElementsAre(StartsWith(evil)));
}

TEST_F(LogFilesTest, ALogOnAnotherMachineIsCopied) {
  const FakeSsh ssh;
  const std::string log = WriteLog();
  const auto session = Load({"ssh://ann@node7:2222" + log});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->steps().size(), 3u);
  EXPECT_TRUE(ssh.arguments().contains("-p\n2222\n-l\nann\n--\nnode7\nwc -c <"));
  EXPECT_FALSE(shares_.empty());
  // A recording there is imported here.
  const auto snapshot = Load({"ann@node7:" + CopyOf("torch_snapshot_train.pickle", "it is $HOME")});
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ((*snapshot)->path(), "ann@node7:" + Path("it is $HOME")) << "to be opened again";
}

TEST_F(LogFilesTest, ALogThatIsServedHasTheNamesOfItsMachineAndACopiedOneHasNot) {
  const FakeSsh ssh;
  const std::string name = "ssh://node7" + WriteLog();
  const auto skipped = [](const absl::Status&) {};
  for (const bool served : {true, false}) {
    SetRemoteMemprof(served ? testing::MemprofBesideThis() : QStringLiteral("/nowhere/memprof"));
    LogFiles files([](double) {}, stop_.get_token());
    const auto made = files.Make({name}, skipped);
    ASSERT_TRUE(made.ok()) << made.status();
    const analysis::Elsewhere* const elsewhere = files.ElsewhereOf(made->front());
    EXPECT_EQ(elsewhere != nullptr && elsewhere->names != nullptr, served);
    EXPECT_EQ(files.NameOf(made->front()), name);
  }
  SetRemoteMemprof({});
}

TEST_F(LogFilesTest, SourcesThatACopiedLogKeepsOutliveTheCopy) {
  const FakeSsh ssh;
  analysis::testing::LogBuilder own;
  own.header().set_hostname(QSysInfo::machineHostName().toStdString());
  const std::string log = Write("kept.mprof", QByteArray::fromStdString(own.Bytes({})));
  ASSERT_TRUE(analysis::AppendSources(log, {{"/gone/t.py", "new()"}}).ok());
  const auto session = Load({"ssh://node7" + log});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ(*analysis::KeptSourcesOf(**session), (analysis::KeptSources{{"/gone/t.py", "new()"}}));
}

TEST_F(LogFilesTest, AFileOfThisMachineComesFirst) {
  const FakeSsh ssh("exit 9");
  ASSERT_TRUE(QFile::copy(QString::fromStdString(WriteLog()),
                          folder_.filePath(QStringLiteral("ann@node7:x"))));
  const QString before = QDir::currentPath();
  ASSERT_TRUE(QDir::setCurrent(folder_.path()));
  EXPECT_TRUE(Load({"ann@node7:x"}).ok());
  QDir::setCurrent(before);
  EXPECT_TRUE(ssh.arguments().isEmpty());
}

TEST_F(LogFilesTest, WhatSshSaysIsTheError) {
  {
    const FakeSsh ssh(
        "echo 'Warning: added' >&2; echo 'Permission denied (publickey).' >&2; exit 255");
    EXPECT_EQ(ErrorOf({"ssh://node7/x.mprof"}),
              "/x.mprof on node7: Permission denied (publickey).");
  }
  {
    const FakeSsh ssh("exit 7");
    EXPECT_THAT(ErrorOf({"ssh://node7/x"}), HasSubstr("ssh ended with status 7"));
  }
  {
    const FakeSsh ssh("echo Welcome!; echo 3; echo abc");
    EXPECT_THAT(ErrorOf({"ssh://node7/x"}), HasSubstr("got 'Welcome!'"));
  }
  {
    const FakeSsh ssh("echo 100; echo abc");
    EXPECT_THAT(ErrorOf({"ssh://node7/x"}), HasSubstr("ended after 4 B of 100 B"));
  }
  {
    const FakeSsh ssh("echo 9000000000000000000; echo abc");
    EXPECT_THAT(ErrorOf({"ssh://node7/x"}), HasSubstr("room for"));
  }
  {
    // More than there was at the beginning is not read: it may never end.
    const FakeSsh ssh("echo 3; yes");
    EXPECT_THAT(ErrorOf({"ssh://node7/x"}), StartsWith("ssh://node7/x: "));
  }
  EXPECT_THAT(ErrorOf({"ssh://-oProxyCommand=x/a"}), HasSubstr("expected ssh://"));
}

TEST_F(LogFilesTest, ACopyCanBeStopped) {
  const FakeSsh ssh("echo 1000; exec sleep 60");
  std::thread other([this] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    stop_.request_stop();
  });
  const auto session = Load({"ssh://node7/x.mprof"});
  other.join();
  EXPECT_TRUE(absl::IsCancelled(session.status())) << session.status();
}

TEST_F(LogFilesTest, AnImportCanBeStopped) {
  const std::string snapshot = CopyOf("torch_snapshot_train.pickle", "a.pickle");
  stop_.request_stop();
  // Neither is the next one begun, nor the first called wrong.
  const auto session = Load({snapshot, Write("b.csv", kRmm)});
  EXPECT_TRUE(absl::IsCancelled(session.status())) << session.status();
  EXPECT_TRUE(skipped_.empty());
}

}  // namespace
}  // namespace memprof::viewer
