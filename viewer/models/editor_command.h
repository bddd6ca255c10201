// The command that opens a source file at a line in an editor. Pure; thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>
#include <string>

#include "analysis/source/source_text.h"

namespace memprof::viewer {

// Settings of the editor; the first non-empty one counts: a command such as "code -g
// {file}:{line}". Without {file}, the file is added as the last argument, and the line in the
// editor's own form, if the editor is known.
struct EditorSettings {
  QString memprof_editor;  // $MEMPROF_EDITOR
  QString setting;         // what was chosen in the viewer
  // $VISUAL and $EDITOR: only if they are known to open a window of their own.
  QString visual, editor;

  static EditorSettings FromEnvironment();
};

struct EditorCommand {
  QString program;
  QStringList arguments;
  bool operator==(const EditorCommand&) const = default;
};

// The command is split into words (double quotes group words) and never passed to a shell: any file
// name is one argument. `line` 0 = unknown: the first. Empty if no editor is set: the desktop then
// opens the file.
std::optional<EditorCommand> MakeEditorCommand(const EditorSettings& settings, const QString& file,
                                               int line);

// The path of a log's file on this machine; empty if it does not exist.
QString FindSourceFile(const std::string& file, const analysis::SourcePlaces& places);

}  // namespace memprof::viewer
