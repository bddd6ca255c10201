// Notes: their file, and that nothing that is in it is lost.
#include "viewer/models/notes.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QTemporaryDir>

#include "viewer/models/left_places.h"

namespace memprof::viewer {
namespace {

using ::testing::HasSubstr;

class NotesTest : public ::testing::Test {
 protected:
  void SetUp() override { QStandardPaths::setTestModeEnabled(true); }
  void TearDown() override {
    QDir(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)).removeRecursively();
    QStandardPaths::setTestModeEnabled(false);
  }
  QByteArray Content() const {
    QFile file(log_ + QStringLiteral(".notes.json"));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }
  void SetContent(const QByteArray& bytes) const {
    QFile file(log_ + QStringLiteral(".notes.json"));
    ASSERT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  }
  static Note Of(const char* text) {
    return {QStringLiteral("view=map&step=3"), QString::fromUtf8(text)};
  }

  QTemporaryDir folder_;
  const QString log_ = folder_.filePath(QStringLiteral("train.mprof"));
};

TEST_F(NotesTest, AreWrittenBesideTheLog) {
  NotesFile file(log_);
  EXPECT_TRUE(file.Read()->isEmpty());
  EXPECT_FALSE(QFileInfo::exists(file.path())) << "reading makes no file";
  ASSERT_TRUE(file.Add(Of("the peak")).ok());
  // Another window adds one: both stay.
  ASSERT_TRUE(NotesFile(log_).Add(Of("ümlaut \"&\n")).ok());
  EXPECT_EQ(*file.Read(), QList<Note>({Of("the peak"), Of("ümlaut \"&\n")}));
  ASSERT_TRUE(file.Change(Of("the peak"), Of("the peak of step 3")).ok());
  EXPECT_TRUE(absl::IsNotFound(file.Change(Of("the peak"), Of("x"))));
  ASSERT_TRUE(file.Change(Of("ümlaut \"&\n"), {}).ok());
  EXPECT_EQ(*file.Read(), QList<Note>({Of("the peak of step 3")}));
  EXPECT_TRUE(Content().contains("\"memprof_notes\": 1"));
  EXPECT_EQ(*ParseNotes(NotesText(*file.Read())), *file.Read());
}

TEST_F(NotesTest, AFileThatIsNoneIsNeverWritten) {
  const QByteArray cases[] = {"",
                              "{",
                              "[]",
                              "nonsense",
                              "{\"memprof_notes\": 1}",
                              "{\"notes\": []}",
                              "{\"memprof_notes\": 2, \"notes\": []}",
                              "{\"memprof_notes\": \"1\", \"notes\": []}",
                              "{\"memprof_notes\": 1, \"notes\": [5]}",
                              "{\"memprof_notes\": 1, \"notes\": [{\"place\": \"x\"}]}",
                              "{\"memprof_notes\": 1, \"notes\": [" +
                                  QByteArray("{\"place\":\"\",\"text\":\"\"},").repeated(1000) +
                                  "{\"place\":\"\",\"text\":\"\"}]}",
                              QByteArray(5 << 20, ' '),
                              QByteArray(100000, '[')};
  for (const QByteArray& bytes : cases) {
    SetContent(bytes);
    NotesFile file(log_);
    const auto notes = file.Read();
    ASSERT_FALSE(notes.ok()) << bytes.left(60).toStdString();
    EXPECT_THAT(std::string(notes.status().message()), HasSubstr("train.mprof.notes.json: "));
    EXPECT_FALSE(file.Add(Of("x")).ok());
    EXPECT_FALSE(file.Change(Of("x"), {}).ok());
    EXPECT_EQ(Content(), bytes) << "as it was";
  }
}

TEST_F(NotesTest, WhereTheFolderCannotBeWrittenTheyAreTheUsersOwn) {
  // A log on another machine, and one in a folder that is not there (permissions do not stop root).
  for (const QString& log : {QStringLiteral("ssh://node7/runs/x.mprof"),
                             folder_.filePath(QStringLiteral("gone/x.mprof"))}) {
    NotesFile file(log);
    ASSERT_TRUE(file.Add(Of("here")).ok()) << log.toStdString();
    EXPECT_TRUE(
        file.path().startsWith(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation)))
        << file.path().toStdString();
    EXPECT_EQ(*NotesFile(log).Read(), QList<Note>({Of("here")}));
  }
  EXPECT_TRUE(NotesFile(QStringLiteral("ssh://node8/runs/x.mprof")).Read()->isEmpty());
}

TEST_F(NotesTest, OnlyAFileIsRead) {
  ASSERT_TRUE(QDir().mkpath(log_ + QStringLiteral(".notes.json")));
  EXPECT_FALSE(NotesFile(log_).Read().ok());
  EXPECT_FALSE(NotesFile(log_).Add(Of("x")).ok());
}

TEST(LeftPlaces, ALogThatChangedIsAnotherOne) {
  QTemporaryDir folder;
  const QString path = folder.filePath(QStringLiteral("a.mprof"));
  const auto write = [&path](const QByteArray& bytes) {
    QFile file(path);
    EXPECT_TRUE(file.open(QIODevice::WriteOnly));
    file.write(bytes);
  };
  EXPECT_EQ(KeyOfLogs({path}), QString()) << "not there";
  write("one");
  const QString key = KeyOfLogs({path}), of_folder = KeyOfLogs({folder.path()});
  EXPECT_EQ(KeyOfLogs({path}), key);
  EXPECT_NE(KeyOfLogs({path, path}), key);
  write("other");
  EXPECT_NE(KeyOfLogs({path}), key);
  EXPECT_NE(KeyOfLogs({folder.path()}), of_folder);
}

TEST(LeftPlaces, TheLastOnesAreKept) {
  QStringList list;
  for (int i = 0; i < 60; ++i)
    list = AddPlace(list, QStringLiteral("k%1").arg(i), QStringLiteral("step=%1").arg(i));
  EXPECT_EQ(list.size(), 50);
  EXPECT_EQ(FindPlace(list, QStringLiteral("k9")), QString());
  EXPECT_EQ(FindPlace(list, QStringLiteral("k10")), QStringLiteral("step=10"));
  EXPECT_EQ(FindPlace(list, QStringLiteral("k1")), QString()) << "no part of a key";
  list = AddPlace(list, QStringLiteral("k10"), QStringLiteral("view=map"));
  EXPECT_EQ(list.size(), 50);
  EXPECT_EQ(FindPlace(list, QStringLiteral("k10")), QStringLiteral("view=map"));
  EXPECT_EQ(AddPlace(list, {}, QStringLiteral("x")), list);
  EXPECT_EQ(FindPlace({QStringLiteral("nonsense")}, {}), QString());
}

}  // namespace
}  // namespace memprof::viewer
