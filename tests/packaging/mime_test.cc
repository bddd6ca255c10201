// What a desktop takes a log for, by the installed description of its type and Qt's reader of it.
#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <QMimeDatabase>
#include <QTemporaryDir>

#include "proto/framing.h"
#include "tests/support/paths.h"

namespace {

class MimeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(QDir(data_.path()).mkpath(QStringLiteral("mime/packages")));
    ASSERT_TRUE(QFile::copy(QString::fromUtf8(memprof::paths::kMimeFile),
                            data_.filePath(QStringLiteral("mime/packages/memprof.xml"))));
    // Before the first question: the database is read once.
    qputenv("XDG_DATA_DIRS", data_.path().toLocal8Bit());
    qputenv("XDG_DATA_HOME", data_.path().toLocal8Bit());
  }
  static QString TypeOf(const QString& name, const QByteArray& content) {
    return QMimeDatabase().mimeTypeForFileNameAndData(name, content).name();
  }
  QTemporaryDir data_;
};

TEST_F(MimeTest, ALogIsKnownByItsFirstBytesAndByItsName) {
  const QByteArray magic(memprof::log::kMagic, sizeof memprof::log::kMagic);
  const QString log = QStringLiteral("application/x-memprof");
  EXPECT_EQ(TypeOf(QStringLiteral("recording"), magic + QByteArray("\1\0\0\0", 4)), log);
  EXPECT_EQ(TypeOf(QStringLiteral("train.mprof"), {}), log);
  EXPECT_NE(TypeOf(QStringLiteral("recording"), QByteArray("MEMPROF is a word")), log);
}

}  // namespace
