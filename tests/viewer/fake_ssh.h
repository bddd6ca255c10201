// An ssh for tests, first in PATH: its host is this machine.
#pragma once

#include <QByteArray>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>

namespace memprof::viewer::testing {

inline QString MemprofBesideThis() {
  return QFileInfo(QFile::symLinkTarget(QStringLiteral("/proc/self/exe"))).absolutePath() +
         QStringLiteral("/memprof");
}

class FakeSsh {
 public:
  // `script` replaces the command of the last argument, which it has as "$command"; the arguments
  // are then a line each in arguments().
  explicit FakeSsh(const QByteArray& script = "exec sh -c \"$command\"") : path_(qgetenv("PATH")) {
    QFile ssh(folder_.filePath(QStringLiteral("ssh")));
    if (!ssh.open(QIODevice::WriteOnly)) return;
    ssh.write("#!/bin/sh\nprintf '%s\\n' \"$@\" > '" + log() + "'\nfor command; do :; done\n" +
              script + "\n");
    ssh.setPermissions(QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner);
    ssh.close();
    qputenv("PATH", folder_.path().toLocal8Bit() + ':' + path_);
  }
  ~FakeSsh() { qputenv("PATH", path_); }

  QByteArray arguments() const {
    QFile file(QString::fromLocal8Bit(log()));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
  }

 private:
  QByteArray log() const { return folder_.filePath(QStringLiteral("arguments")).toLocal8Bit(); }

  QTemporaryDir folder_;
  const QByteArray path_;
};

}  // namespace memprof::viewer::testing
