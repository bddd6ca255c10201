// Lists within a word of a link.
#include "viewer/models/view_state.h"

#include <QUrl>

namespace memprof::viewer {

QString JoinNames(const QStringList& names) {
  QStringList parts;
  for (QString name : names)
    parts << name.replace(u'%', QLatin1String("%25")).replace(u';', QLatin1String("%3B"));
  return parts.join(u';');
}

QStringList SplitNames(const QString& word) {
  if (word.isEmpty()) return {};
  QStringList names = word.split(u';');
  for (QString& name : names)
    name.replace(QLatin1String("%3B"), QLatin1String(";"))
        .replace(QLatin1String("%25"), QLatin1String("%"));
  return names;
}

}  // namespace memprof::viewer
