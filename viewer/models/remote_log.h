// Names of logs on other machines: "ssh://[user@]host[:port]/path" and "user@host:path". Pure;
// thread-safe.
#pragma once

#include <QString>
#include <QStringList>
#include <optional>

namespace memprof::viewer {

struct RemoteLog {
  QString host, path;  // the path is absolute, or of the user's home folder
  QString user;        // "" = as the user's ssh is configured
  int port = 0;        // 0 = likewise

  bool operator==(const RemoteLog&) const = default;
};

// Whether `name` has one of these forms. Then ParseRemoteLog has a log or an error. A file of this
// machine may have such a name too: callers look for it first.
bool IsRemoteName(const QString& name);
// None and one line in `error` if a part could be taken for an option or a command of a shell.
std::optional<RemoteLog> ParseRemoteLog(const QString& name, QString* error);

// Whether any shell reads `path` between single quotes as it is.
bool IsRemotePath(const QString& path);

// ssh, or what MEMPROF_SSH names: as of GIT_SSH, a program and no command line.
QString SshProgram();
// Whether ssh has somebody to ask for a password: the program that SSH_ASKPASS names, or the user
// of the terminal that the viewer was started from. Without, keys or an agent answer, or ssh fails.
bool SshMayAsk();
// The arguments of ssh that run a command there. A connection that is dead for 15 s ends.
QStringList SshArguments(const RemoteLog& log, const QString& command, bool may_ask);
// Writes the length of the file as a line, and then the file.
QString CopyCommand(const RemoteLog& log);

}  // namespace memprof::viewer
