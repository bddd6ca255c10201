// Their names say whose they are.
#include "viewer/jobs/scratch_folder.h"

#include <signal.h>
#include <unistd.h>

#include <QDir>
#include <QStandardPaths>
#include <QSysInfo>
#include <cerrno>

namespace memprof::viewer {
namespace {

// Several machines may share the folder.
QString Prefix() {
  return QStringLiteral("scratch-%1-").arg(QSysInfo::machineHostName().remove(QLatin1Char('/')));
}

QDir Cache() { return QStandardPaths::writableLocation(QStandardPaths::CacheLocation); }

}  // namespace

std::unique_ptr<QTemporaryDir> MakeScratchFolder() {
  const QDir cache = Cache();
  cache.mkpath(QStringLiteral("."));
  auto made = std::make_unique<QTemporaryDir>(
      cache.filePath(Prefix() + QStringLiteral("%1-XXXXXX").arg(getpid())));
  return made->isValid() ? std::move(made) : nullptr;
}

void RemoveOldScratchFolders() {
  const QDir cache = Cache();
  const QString prefix = Prefix();
  for (const QString& name : cache.entryList(QDir::Dirs)) {
    if (!name.startsWith(prefix)) continue;
    bool is_number = false;
    const int pid = name.mid(prefix.size()).section(QLatin1Char('-'), 0, 0).toInt(&is_number);
    if (is_number && pid > 0 && kill(pid, 0) != 0 && errno == ESRCH)
      QDir(cache.filePath(name)).removeRecursively();
  }
}

}  // namespace memprof::viewer
