// Notes: their file, and that nothing that is in it is lost.
#include "viewer/models/notes.h"

#include <gmock/gmock.h>

#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <random>
#include <thread>

#include "viewer/models/left_places.h"

namespace memprof::viewer {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NotesTest : public ::testing::Test {
 protected:
  // A data folder of its own: tests run at the same time, and again. In Qt's test mode the variable
  // would not count.
  void SetUp() override {
    QStandardPaths::setTestModeEnabled(false);
    qputenv("XDG_DATA_HOME", folder_.filePath(QStringLiteral("data")).toLocal8Bit());
  }
  void TearDown() override {
    qunsetenv("XDG_DATA_HOME");
    QStandardPaths::setTestModeEnabled(true);
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

// Each window has its own NotesFile; here each is in a thread, so that they meet.
TEST_F(NotesTest, OfTwoWindowsAtOnceNothingIsLost) {
  constexpr int kEach = 40;
  int added[2] = {};
  const auto add = [&](int window) {
    for (int i = 0; i < kEach; ++i)
      added[window] +=
          NotesFile(log_).Add({{}, QStringLiteral("%1 of %2").arg(i).arg(window)}).ok();
  };
  std::thread other(add, 1);
  add(0);
  other.join();
  EXPECT_GT(added[0], 0);
  EXPECT_GT(added[1], 0);
  EXPECT_EQ(NotesFile(log_).Read()->size(), added[0] + added[1]);
}

TEST_F(NotesTest, AChangeByAnotherWindowIsKept) {
  NotesFile one(log_), two(log_);
  ASSERT_TRUE(one.Add(Of("a")).ok());
  ASSERT_TRUE(two.Change(Of("a"), Of("b")).ok());
  EXPECT_TRUE(absl::IsNotFound(one.Change(Of("a"), {})));
  EXPECT_EQ(*one.Read(), QList<Note>({Of("b")}));
}

TEST_F(NotesTest, NotesThatCannotBeReadAgainAreNotWritten) {
  // Texts of 12 KB in UTF-8: 4 MiB are full before 1000 notes.
  const Note note{{}, QString(4000, QChar(0x4e2d))};
  QList<Note> notes(345, note);
  SetContent(NotesText(notes));
  NotesFile file(log_);
  ASSERT_TRUE(file.Read().ok()) << file.Read().status();
  while (notes.size() < 360 && file.Add(note).ok()) notes << note;
  EXPECT_LT(notes.size(), 360);
  ASSERT_TRUE(file.Read().ok()) << file.Read().status();
  EXPECT_TRUE(*file.Read() == notes);
}

TEST_F(NotesTest, ATextIsBounded) {
  NotesFile file(log_);
  ASSERT_TRUE(file.Add({{}, QString(100'000, QLatin1Char('x'))}).ok());
  ASSERT_TRUE(file.Change(file.Read()->front(), {{}, QString(9000, QLatin1Char('y'))}).ok());
  EXPECT_EQ(file.Read()->front().text, QString(4000, QLatin1Char('y')));
}

// A file beside the log that can be read but not replaced, here because the name of the new one
// would be too long: the note must not go where it would not be read.
TEST_F(NotesTest, WhereTheFileCannotBeReplacedTheUserIsTold) {
  const QString log = folder_.filePath(QString(240, QLatin1Char('n')));
  QFile beside(log + QStringLiteral(".notes.json"));
  ASSERT_TRUE(beside.open(QIODevice::WriteOnly));
  beside.write(NotesText({Of("old")}));
  beside.close();
  NotesFile file(log);
  ASSERT_TRUE(file.Read().ok());
  EXPECT_FALSE(file.Add(Of("new")).ok());
  EXPECT_EQ(*file.Read(), QList<Note>({Of("old")}));
}

TEST_F(NotesTest, ALinkToNowhereIsNotFollowed) {
  const QString elsewhere = folder_.filePath(QStringLiteral("elsewhere"));
  ASSERT_TRUE(QFile::link(elsewhere, log_ + QStringLiteral(".notes.json")));
  EXPECT_FALSE(NotesFile(log_).Add(Of("x")).ok());
  EXPECT_FALSE(NotesFile(log_).Read().ok());
  EXPECT_FALSE(QFileInfo::exists(elsewhere));
}

TEST(ParseNotes, AnyBytesAreNotesOrOneLine) {
  const QByteArray good =
      NotesText({{QStringLiteral("view=map"), QStringLiteral("a \"b\" ü")}, {{}, {}}});
  std::mt19937 random(11);
  for (int i = 0; i < 20'000; ++i) {
    QByteArray bytes = good;
    for (unsigned edits = random() % 4; edits <= 4; ++edits) {
      const auto at = static_cast<qsizetype>(random() % static_cast<unsigned>(bytes.size()));
      if (random() % 3 == 0)
        bytes.remove(at, 1 + random() % 9);
      else if (random() % 2 == 0)
        bytes[at] = static_cast<char>(random());
      else
        bytes.insert(at, "[{\"x\":1e999,null}]"[random() % 18]);
      if (bytes.isEmpty()) bytes = "{";
    }
    const auto notes = ParseNotes(bytes);
    if (!notes.ok()) {
      EXPECT_THAT(std::string(notes.status().message()), Not(HasSubstr("\n")));
      continue;
    }
    EXPECT_EQ(*ParseNotes(NotesText(*notes)), *notes) << bytes.toStdString();
  }
  EXPECT_FALSE(ParseNotes(QByteArray("[").repeated(1 << 20)).ok());
  EXPECT_FALSE(ParseNotes(QByteArray("{\"notes\":").repeated(100'000)).ok());
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
