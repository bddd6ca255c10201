// Which editor is started, with which arguments; and that a file name stays one argument.
#include "viewer/models/editor_command.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QTemporaryDir>

#include "tests/viewer/model_fixture.h"

namespace memprof::viewer {
namespace {

using testing::S;

struct Case {
  const char *memprof_editor, *setting, *visual, *editor;
  const char* want;  // expected program and arguments, separated by |; "" = no command
};

TEST(EditorCommand, TheFirstThatIsNamedCounts) {
  const Case kCases[] = {
      {"ed -l {line} {file}", "code", "gvim", "gvim", "ed|-l|12|/a b/c.cc"},
      {"", "code -g {file}:{line}", "gvim", "gvim", "code|-g|/a b/c.cc:12"},
      {"", "", "gvim", "emacs", "gvim|+12|/a b/c.cc"},
      {"", "", "", "/usr/bin/emacs", "/usr/bin/emacs|+12|/a b/c.cc"},
      // Editors that need a terminal are not used, nor are unknown ones.
      {"", "", "vim", "nano", ""},
      {"", "", "emacs -nw", "kate", "kate|--line|12|/a b/c.cc"},
      {"", "", "", "", ""},
      {"   ", "", "", "", ""},
      // Without {file} the file is the last argument, with the line in the editor's own form if
      // that is known.
      {"code", "", "", "", "code|-g|/a b/c.cc:12"},
      {"myed --wait", "", "", "", "myed|--wait|/a b/c.cc"},
      {"myed +{line}", "", "", "", "myed|+12|/a b/c.cc"},
      {"\"/opt/my ed/ed\" {file}", "", "", "", "/opt/my ed/ed|/a b/c.cc"},
  };
  for (const Case& c : kCases) {
    const auto command = MakeEditorCommand(
        {S(c.memprof_editor), S(c.setting), S(c.visual), S(c.editor)}, S("/a b/c.cc"), 12);
    const QString have =
        command.has_value()
            ? (QStringList(command->program) + command->arguments).join(QLatin1Char('|'))
            : QString();
    EXPECT_EQ(have, S(c.want)) << c.memprof_editor << " / " << c.visual;
  }
}

TEST(EditorCommand, AFileIsOneArgumentWhateverItIsCalled) {
  for (const char* file : {"/x/$(reboot).cc", "/x/a;b|c.cc", "/x/\"q\" 'p'.cc", "/x/{line}.cc"}) {
    const auto command = MakeEditorCommand({S("ed {line} {file}"), {}, {}, {}}, S(file), 0);
    ASSERT_TRUE(command.has_value());
    EXPECT_EQ(command->arguments, QStringList({S("1"), S(file)})) << "line 0 is the first";
  }
}

TEST(FindSourceFile, LooksWhereTheProgramRan) {
  QTemporaryDir directory;
  QFile file(directory.filePath(S("train.py")));
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  const QString path = QDir(directory.path()).absoluteFilePath(S("train.py"));
  const std::string folder = directory.path().toStdString();
  const analysis::SourcePlaces here{folder, "", {}, 0};
  EXPECT_EQ(FindSourceFile(path.toStdString(), {}), path);
  EXPECT_EQ(FindSourceFile("train.py", here), path);
  EXPECT_EQ(FindSourceFile("train.py", {}), QString())
      << "not relative to the viewer's working directory";
  EXPECT_EQ(FindSourceFile("other.py", here), QString());
  EXPECT_EQ(FindSourceFile(folder, {}), QString()) << "a folder is not a source file";
  EXPECT_EQ(FindSourceFile({}, here), QString());
  EXPECT_EQ(FindSourceFile("/build/train.py", {"", "", {{"/build", folder}}, 0}), path);
}

}  // namespace
}  // namespace memprof::viewer
