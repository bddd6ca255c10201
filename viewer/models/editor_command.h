// Which program opens a source file at a line, and with what arguments. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

namespace memprof::viewer {

// Where people say which editor they use, the first that is not empty counts: a command such as
// "code -g {file}:{line}". Without {file} the file is its last argument, and the line is given as
// that editor wants it, where it is a known one.
struct EditorSettings {
  QString memprof_editor;  // $MEMPROF_EDITOR
  QString setting;         // what was chosen in the viewer
  // $VISUAL and $EDITOR: only where they are known to open a window of their own.
  QString visual, editor;

  static EditorSettings FromEnvironment();
};

struct EditorCommand {
  QString program;
  QStringList arguments;
  bool operator==(const EditorCommand&) const = default;
};

// The command is split into words, in which double quotes hold blanks together, and no shell ever
// sees it: whatever a file is called, it is one argument. `line` 0 = unknown, the first. Nothing
// where no editor is named: the desktop knows what to do.
std::optional<EditorCommand> MakeEditorCommand(const EditorSettings& settings, const QString& file,
                                               int line);

// The file on this machine: as it is named, or from the working directory of the recorded program.
// Empty where there is none.
QString FindSourceFile(const QString& file, const QString& working_directory);

}  // namespace memprof::viewer
