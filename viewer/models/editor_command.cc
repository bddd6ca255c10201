// Which program opens a source file at a line.
#include "viewer/models/editor_command.h"

#include <QFileInfo>
#include <QProcess>
#include <QSettings>
#include <algorithm>
#include <string_view>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

// Editors with a window of their own, and their arguments for a line (from their manuals).
struct KnownEditor {
  std::string_view program;
  std::string_view arguments;  // separated by blanks
};
constexpr KnownEditor kKnown[] = {
    {"code", "-g {file}:{line}"},        {"codium", "-g {file}:{line}"},
    {"cursor", "-g {file}:{line}"},      {"zed", "{file}:{line}"},
    {"subl", "{file}:{line}"},           {"lapce", "{file}:{line}"},
    {"gvim", "+{line} {file}"},          {"nvim-qt", "+{line} {file}"},
    {"gedit", "+{line} {file}"},         {"gnome-text-editor", "+{line} {file}"},
    {"geany", "+{line} {file}"},         {"xed", "+{line} {file}"},
    {"pluma", "+{line} {file}"},         {"mousepad", "--line {line} {file}"},
    {"emacs", "+{line} {file}"},         {"kate", "--line {line} {file}"},
    {"kwrite", "--line {line} {file}"},  {"kdevelop", "{file}:{line}"},
    {"clion", "--line {line} {file}"},   {"idea", "--line {line} {file}"},
    {"pycharm", "--line {line} {file}"}, {"qtcreator", "-client {file}:{line}"},
};

const KnownEditor* FindKnown(const QString& program) {
  const std::string name = QFileInfo(program).fileName().toStdString();
  const auto at = std::find_if(std::begin(kKnown), std::end(kKnown),
                               [&](const KnownEditor& known) { return known.program == name; });
  return at == std::end(kKnown) ? nullptr : at;
}

// "emacs -nw" and the like would need a terminal, which the viewer does not have.
bool StaysInTerminal(const QStringList& words) {
  return words.contains(QStringLiteral("-nw")) ||
         words.contains(QStringLiteral("--no-window-system"));
}

}  // namespace

EditorSettings EditorSettings::FromEnvironment() {
  return {qEnvironmentVariable("MEMPROF_EDITOR"),
          QSettings().value(QStringLiteral("editor/command")).toString(),
          qEnvironmentVariable("VISUAL"), qEnvironmentVariable("EDITOR")};
}

std::optional<EditorCommand> MakeEditorCommand(const EditorSettings& settings, const QString& file,
                                               int line) {
  QStringList words;
  for (const QString& command_line : {settings.memprof_editor, settings.setting}) {
    if (words.isEmpty()) words = QProcess::splitCommand(command_line.trimmed());
  }
  for (const QString& command_line : {settings.visual, settings.editor}) {
    if (!words.isEmpty()) break;
    const QStringList command = QProcess::splitCommand(command_line.trimmed());
    if (command.isEmpty() || FindKnown(command.front()) == nullptr || StaysInTerminal(command))
      continue;
    words = command;
  }
  if (words.isEmpty() || words.front().isEmpty()) return std::nullopt;
  const QString kFile = QStringLiteral("{file}"), kLine = QStringLiteral("{line}");
  if (words.filter(kFile).isEmpty()) {
    const KnownEditor* known = FindKnown(words.front());
    const QString arguments =
        known == nullptr ? kFile
                         : QString::fromUtf8(known->arguments.data(),
                                             static_cast<qsizetype>(known->arguments.size()));
    // If the command already passes the line, only the file is added.
    words += words.filter(kLine).isEmpty() ? arguments.split(QLatin1Char(' ')) : QStringList{kFile};
  }
  EditorCommand command;
  command.program = words.takeFirst();
  for (QString word : words) {
    // The line first, because the name of a file may contain the text {line}.
    word.replace(kLine, QString::number(std::max(1, line)));
    word.replace(kFile, file);
    command.arguments << word;
  }
  return command;
}

QString FindSourceFile(const std::string& file, const analysis::SourcePlaces& places) {
  for (const std::string& path : analysis::PlacesOfSource(file, places)) {
    const QFileInfo found(ToQString(path));
    if (found.isFile()) return found.absoluteFilePath();
  }
  return {};
}

}  // namespace memprof::viewer
