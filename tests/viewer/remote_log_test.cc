// Names of logs on other machines: what is taken, and what could become an option or a command.
#include "viewer/models/remote_log.h"

#include <gtest/gtest.h>

namespace memprof::viewer {
namespace {

RemoteLog Remote(const char* name) {
  QString error;
  const auto log = ParseRemoteLog(QString::fromUtf8(name), &error);
  EXPECT_TRUE(log.has_value()) << name << ": " << error.toStdString();
  return log.value_or(RemoteLog());
}

RemoteLog Of(const char* host, const char* path, const char* user = "", int port = 0) {
  return {QString::fromUtf8(host), QString::fromUtf8(path), QString::fromUtf8(user), port};
}

TEST(RemoteLog, BothFormsAreRead) {
  EXPECT_EQ(Remote("ssh://node7/runs/train.mprof"), Of("node7", "/runs/train.mprof"));
  EXPECT_EQ(Remote("ssh://ann@node7.lab:2222/runs/a%20b.mprof"),
            Of("node7.lab", "/runs/a b.mprof", "ann", 2222));
  EXPECT_EQ(Remote("sftp://ann@node7/x.pickle"), Of("node7", "/x.pickle", "ann"));
  EXPECT_EQ(Remote("ssh://node7/~/train.mprof"), Of("node7", "train.mprof"));
  EXPECT_EQ(Remote("ssh://[fe80::1]:22/x.mprof"), Of("fe80::1", "/x.mprof", "", 22));
  EXPECT_EQ(Remote("ann@node7:train.mprof"), Of("node7", "train.mprof", "ann"));
  EXPECT_EQ(Remote("ann@node7:~/train.mprof"), Of("node7", "train.mprof", "ann"));
  EXPECT_EQ(Remote("ann@node7:/a:b.mprof"), Of("node7", "/a:b.mprof", "ann"));
  EXPECT_EQ(Remote("ann@[::1]:x"), Of("::1", "x", "ann"));
}

TEST(RemoteLog, NamesOfThisMachineAreNone) {
  for (const char* name : {"train.mprof", "/runs/train.mprof", "host:file", "a/b@c:d", "runs/x@y",
                           "@host:x", "ann@:x", "file:///x", ""})
    EXPECT_FALSE(IsRemoteName(QString::fromUtf8(name))) << name;
}

TEST(RemoteLog, WhatCouldBeAnOptionOrACommandIsRefused) {
  for (const char* name :
       {"ssh://-oProxyCommand=x/a", "ssh://-oProxyCommand%3Dx/a", "ssh://-x@host/a", "ssh://host",
        "ssh://", "ssh:///a", "ssh://ann:secret@host/a", "ssh://host:99999/a",
        "-oProxyCommand=x@host:a", "ann@-oProxyCommand=x:a", "ann@host;x:a", "a$(x)@host:a",
        "ann@host:it's", "ann@host:a\\b", "ann@host:a!b", "ann@host:a\nb", "ssh://host/a%0Ab",
        "ssh://host/%27;x;%27", "ssh://ho%20st/a"}) {
    const QString text = QString::fromUtf8(name);
    ASSERT_TRUE(IsRemoteName(text)) << name;
    QString error;
    EXPECT_FALSE(ParseRemoteLog(text, &error).has_value()) << name;
    EXPECT_FALSE(error.isEmpty()) << name;
    EXPECT_FALSE(error.contains(QLatin1Char('\n'))) << name;
  }
}

TEST(RemoteLog, HostAndPathAreOneArgumentEach) {
  const RemoteLog log = Of("node7", "/runs/$(x) *.mprof", "ann", 2222);
  const QStringList arguments = SshArguments(log, CopyCommand(log), false);
  EXPECT_EQ(arguments.mid(arguments.indexOf(QStringLiteral("-p"))),
            QStringList({QStringLiteral("-p"), QStringLiteral("2222"), QStringLiteral("-l"),
                         QStringLiteral("ann"), QStringLiteral("--"), QStringLiteral("node7"),
                         QStringLiteral("wc -c < '/runs/$(x) *.mprof' && cat < "
                                        "'/runs/$(x) *.mprof'")}));
  EXPECT_TRUE(arguments.contains(QStringLiteral("BatchMode=yes")));
  const QStringList plain = SshArguments(Of("node7", "x"), QStringLiteral("true"), true);
  EXPECT_FALSE(plain.contains(QStringLiteral("BatchMode=yes")));
  EXPECT_FALSE(plain.contains(QStringLiteral("-p")));
  EXPECT_FALSE(plain.contains(QStringLiteral("-l")));
}

}  // namespace
}  // namespace memprof::viewer
