// Names of logs on other machines are input of strangers: they are in links.
#include "viewer/models/remote_log.h"

#include <unistd.h>

#include <QRegularExpression>
#include <QUrl>

#include "viewer/geometry/words.h"
#include "viewer/models/plain_line.h"

namespace memprof::viewer {
namespace {

bool IsUrl(const QString& name) {
  return name.startsWith(QLatin1String("ssh://"), Qt::CaseInsensitive) ||
         name.startsWith(QLatin1String("sftp://"), Qt::CaseInsensitive);
}

// user@host:path
const QRegularExpression& ShortForm() {
  static const QRegularExpression form(
      QStringLiteral("\\A([^@:/\\s]+)@(\\[[0-9A-Fa-f:.]+\\]|[^@:/\\s[]+):(.+)\\z"),
      QRegularExpression::DotMatchesEverythingOption);
  return form;
}

// Neither can begin with '-', which ssh would take for an option.
bool IsUser(const QString& user) {
  static const QRegularExpression form(QStringLiteral("\\A[A-Za-z0-9_][A-Za-z0-9_.-]*\\z"));
  return user.isEmpty() || form.match(user).hasMatch();
}
bool IsHost(const QString& host) {
  static const QRegularExpression form(
      QStringLiteral("\\A([A-Za-z0-9_][A-Za-z0-9_.-]*|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)\\z"));
  return form.match(host).hasMatch();
}

}  // namespace

// The other machine's shell reads the path between single quotes; which shell that is, nobody
// knows. So a path has nothing that ends such quotes, or that a shell reads within them.
bool IsRemotePath(const QString& path) {
  if (path.isEmpty()) return false;
  for (const QChar c : path)
    if (c.unicode() < 0x20 || c.unicode() == 0x7f || c == QLatin1Char('\'') ||
        c == QLatin1Char('\\') || c == QLatin1Char('!'))
      return false;
  return true;
}

bool IsRemoteName(const QString& name) { return IsUrl(name) || ShortForm().match(name).hasMatch(); }

std::optional<RemoteLog> ParseRemoteLog(const QString& name, QString* error) {
  RemoteLog log;
  if (IsUrl(name)) {
    const QUrl url(name, QUrl::StrictMode);
    log = {url.host(), url.path(QUrl::FullyDecoded), url.userName(QUrl::FullyDecoded), url.port(0)};
    // As ssh's own programs read it: /~/ is the home folder.
    if (log.path.startsWith(QLatin1String("/~/"))) log.path = log.path.mid(3);
    if (!url.isValid() || !url.password().isEmpty() || log.port < 0) log.host.clear();
  } else {
    const QRegularExpressionMatch match = ShortForm().match(name);
    log = {match.captured(2), match.captured(3), match.captured(1), 0};
    if (log.host.startsWith(QLatin1Char('['))) log.host = log.host.mid(1, log.host.size() - 2);
    if (log.path.startsWith(QLatin1String("~/"))) log.path = log.path.mid(2);
  }
  if (!IsHost(log.host) || !IsUser(log.user)) {
    *error = Tr("%1: expected ssh://[user@]host[:port]/path or user@host:path").arg(name);
  } else if (!IsRemotePath(log.path)) {
    *error = Tr("%1: the path of a remote log must have a name, and no quotes, backslashes, "
                "exclamation marks or control characters")
                 .arg(name);
  } else {
    return log;
  }
  *error = PlainLine(error->simplified(), 400);
  return std::nullopt;
}

QString SshProgram() {
  const QString named = qEnvironmentVariable("MEMPROF_SSH");
  return named.isEmpty() ? QStringLiteral("ssh") : named;
}

bool SshMayAsk() {
  if (qEnvironmentVariableIsSet("SSH_ASKPASS")) return true;
  // In the background, reading from the terminal would stop ssh for ever.
  return isatty(STDIN_FILENO) != 0 && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

QStringList SshArguments(const RemoteLog& log, const QString& command, bool may_ask) {
  QStringList arguments = {QStringLiteral("-T")};
  QStringList options = {QStringLiteral("ConnectTimeout=20"),
                         QStringLiteral("ServerAliveInterval=5"),
                         QStringLiteral("ServerAliveCountMax=2")};
  if (!may_ask) options << QStringLiteral("BatchMode=yes");
  for (const QString& option : options) arguments << QStringLiteral("-o") << option;
  if (log.port > 0) arguments << QStringLiteral("-p") << QString::number(log.port);
  if (!log.user.isEmpty()) arguments << QStringLiteral("-l") << log.user;
  return arguments << QStringLiteral("--") << log.host << command;
}

QString CopyCommand(const RemoteLog& log) {
  // Redirections, because no program then takes the path for an option.
  return QStringLiteral("wc -c < '%1' && cat < '%1'").arg(log.path);
}

}  // namespace memprof::viewer
