// Links after the names of logs: on a command line, and as one.
#include <QFileInfo>

#include "viewer/models/link.h"

namespace memprof::viewer {

LinkedLogs SplitLinks(const QStringList& names) {
  LinkedLogs linked;
  for (const QString& name : names) {
    // The text of a link has no '#' of its own.
    const qsizetype hash = name.lastIndexOf(QLatin1Char('#'));
    const bool link = hash > 0 && name.indexOf(QLatin1Char('='), hash) > 0;
    if (!link || QFileInfo::exists(name)) {
      linked.logs << name;
      continue;
    }
    linked.logs << name.left(hash);
    linked.fragment = name.mid(hash + 1);
  }
  return linked;
}

QString LinkCommand(const QStringList& logs, const QString& fragment) {
  QString command = QStringLiteral("memprof-viewer");
  for (qsizetype i = 0; i < logs.size(); ++i) {
    QString name = logs[i];
    // A name that begins with '-' would be an option.
    if (name.startsWith(QLatin1Char('-'))) name.prepend(QStringLiteral("./"));
    if (i + 1 == logs.size() && !fragment.isEmpty()) name += QLatin1Char('#') + fragment;
    command += QStringLiteral(" '") + name.replace(QLatin1Char('\''), QStringLiteral("'\\''")) +
               QLatin1Char('\'');
  }
  return command;
}

}  // namespace memprof::viewer
