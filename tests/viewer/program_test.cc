// The program itself: images, exit statuses and messages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <QDir>
#include <QFile>
#include <QImage>
#include <QProcess>
#include <QSysInfo>
#include <QTemporaryDir>
#include <optional>

#include "tests/support/paths.h"
#include "tests/viewer/demo_log.h"

namespace memprof::viewer {
namespace {

struct Outcome {
  int status = -1;
  QString out, err;
};

Outcome RunViewer(const QStringList& arguments) {
  QProcess process;
  QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
  // the program must choose a platform itself
  environment.remove(QStringLiteral("QT_QPA_PLATFORM"));
  environment.remove(QStringLiteral("DISPLAY"));
  process.setProcessEnvironment(environment);
  process.start(QString::fromUtf8(paths::kViewer), arguments);
  process.waitForFinished(120000);
  return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1,
          QString::fromLocal8Bit(process.readAllStandardOutput()),
          QString::fromLocal8Bit(process.readAllStandardError())};
}

TEST(Program, DrawsEveryViewWithoutADisplay) {
  QTemporaryDir directory;
  const QString log = testing::WriteDemoLog(directory, {.steps = 12});
  QList<QImage> pictures;
  for (const char* view : {"timeline", "map", "leaks", "flame"}) {
    const QString file = directory.filePath(QString::fromUtf8(view) + QStringLiteral(".png"));
    const Outcome outcome = RunViewer({QStringLiteral("--screenshot"), file,
                                       QStringLiteral("--view"), QString::fromUtf8(view),
                                       QStringLiteral("--size"), QStringLiteral("900x600"), log});
    EXPECT_EQ(outcome.status, 0) << outcome.err.toStdString();
    EXPECT_EQ(outcome.err, QString());
    const QImage picture(file);
    EXPECT_EQ(picture.size(), QSize(900, 600));
    for (const QImage& other : pictures) EXPECT_NE(picture, other) << view;
    pictures << picture;
  }
}

TEST(Program, DrawsTheSamePictureTwice) {
  QTemporaryDir directory;
  const QString log = testing::WriteDemoLog(directory, {.steps = 6});
  const QString a = directory.filePath(QStringLiteral("a.png")),
                b = directory.filePath(QStringLiteral("b.png"));
  ASSERT_EQ(RunViewer({QStringLiteral("--screenshot"), a, log}).status, 0);
  ASSERT_EQ(RunViewer({QStringLiteral("--screenshot"), b, log}).status, 0);
  EXPECT_EQ(QImage(a), QImage(b));
}

TEST(Program, TheStepAxisIsAnotherPicture) {
  QTemporaryDir directory;
  const QString log = testing::WriteDemoLog(directory, {.steps = 6});
  const QString a = directory.filePath(QStringLiteral("a.png")),
                b = directory.filePath(QStringLiteral("b.png"));
  ASSERT_EQ(RunViewer({QStringLiteral("--screenshot"), a, log}).status, 0);
  ASSERT_EQ(
      RunViewer({QStringLiteral("--screenshot"), b, QStringLiteral("--axis=steps"), log}).status,
      0);
  EXPECT_NE(QImage(a), QImage(b));
}

TEST(Program, HighDensityPicturesHaveTheRequestedSize) {
  QTemporaryDir directory;
  const QString log = testing::WriteDemoLog(directory, {.steps = 6});
  const QString file = directory.filePath(QStringLiteral("a.png"));
  ASSERT_EQ(RunViewer({QStringLiteral("--screenshot"), file, QStringLiteral("--size=1600x1200"),
                       QStringLiteral("--scale=2"), QStringLiteral("--theme=dark"), log})
                .status,
            0);
  EXPECT_EQ(QImage(file).size(), QSize(1600, 1200));
  EXPECT_LT(QImage(file).pixelColor(5, 600).lightness(), 80) << "dark as requested";
}

TEST(Program, ItsStartRemovesWhatKilledViewersLeft) {
  QTemporaryDir directory;
  const QByteArray before = qgetenv("XDG_CACHE_HOME");
  qputenv("XDG_CACHE_HOME", directory.path().toLocal8Bit());
  const QDir cache(directory.filePath(QStringLiteral("memprof/memprof-viewer")));
  const QString host = QSysInfo::machineHostName();
  // No process has this number; of another machine it may have.
  const QString killed = QStringLiteral("scratch-%1-2147483647-abcdef").arg(host);
  const QString elsewhere = QStringLiteral("scratch-not%1-2147483647-abcdef").arg(host);
  const QString alive = QStringLiteral("scratch-%1-%2-abcdef").arg(host).arg(getpid());
  for (const QString& name : {killed, elsewhere, alive})
    ASSERT_TRUE(cache.mkpath(name + QStringLiteral("/0/copy")));
  const QString log = testing::WriteDemoLog(directory, {.steps = 3});
  const Outcome outcome =
      RunViewer({QStringLiteral("--screenshot"), directory.filePath(QStringLiteral("a.png")), log});
  before.isNull() ? qunsetenv("XDG_CACHE_HOME") : qputenv("XDG_CACHE_HOME", before);
  EXPECT_EQ(outcome.status, 0) << outcome.err.toStdString();
  EXPECT_FALSE(cache.exists(killed));
  EXPECT_TRUE(cache.exists(elsewhere));
  EXPECT_TRUE(cache.exists(alive));
}

TEST(Program, BadLogsGiveOneLineAndStatusOne) {
  QTemporaryDir directory;
  const QString picture = directory.filePath(QStringLiteral("x.png"));
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 3});
  const QByteArray good = QByteArray::fromStdString(log.Bytes());
  const struct {
    const char* name;
    std::optional<QByteArray> bytes;
  } cases[] = {{"missing.mprof", std::nullopt},
               {"empty.mprof", QByteArray()},
               {"foreign.mprof", QByteArray(5000, 'x')},
               {"header.mprof", good.left(10)},
               {"future.mprof", testing::OfVersion(good, 99)}};
  for (const auto& [name, bytes] : cases) {
    const QString path = directory.filePath(QString::fromUtf8(name));
    if (bytes.has_value()) {
      QFile file(path);
      ASSERT_TRUE(file.open(QIODevice::WriteOnly));
      ASSERT_EQ(file.write(*bytes), bytes->size());
    }
    const Outcome outcome = RunViewer({QStringLiteral("--screenshot"), picture, path});
    EXPECT_EQ(outcome.status, 1) << name;
    EXPECT_EQ(outcome.out, QString()) << name;
    EXPECT_EQ(outcome.err.count(QLatin1Char('\n')), 1) << outcome.err.toStdString();
    EXPECT_TRUE(outcome.err.startsWith(QStringLiteral("memprof-viewer: ")))
        << outcome.err.toStdString();
    EXPECT_TRUE(outcome.err.contains(QString::fromUtf8(name))) << outcome.err.toStdString();
    EXPECT_FALSE(QFile::exists(picture));
  }
}

TEST(Program, CutLogsAreShownAsFarAsTheyGo) {
  QTemporaryDir directory;
  analysis::testing::LogBuilder log;
  testing::FillDemoLog(log, {.steps = 20});
  const std::string bytes = log.Bytes({.events_per_chunk = 100});
  const QString cut = directory.filePath(QStringLiteral("cut.mprof"));
  QFile file(cut);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.write(bytes.data(), static_cast<qint64>(bytes.size() / 2));
  file.close();
  const QString picture = directory.filePath(QStringLiteral("x.png"));
  const Outcome outcome = RunViewer({QStringLiteral("--screenshot"), picture, cut});
  EXPECT_EQ(outcome.status, 0) << outcome.err.toStdString();
  EXPECT_TRUE(QFile::exists(picture));
}

TEST(Program, AFleetHasOneView) {
  QTemporaryDir directory;
  const QString log = testing::WriteDemoLog(directory, {.steps = 3});
  const QString picture = directory.filePath(QStringLiteral("x.png"));
  Outcome outcome =
      RunViewer({QStringLiteral("--screenshot"), picture, QStringLiteral("--view=fleet"), log});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err.count(QLatin1Char('\n')), 1) << outcome.err.toStdString();
  QFile schema(directory.filePath(QStringLiteral("_schema.json")));
  ASSERT_TRUE(schema.open(QIODevice::WriteOnly));
  schema.write("no JSON");
  schema.close();
  outcome = RunViewer({QStringLiteral("--view=leaks"), directory.path()});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_TRUE(outcome.err.contains(QStringLiteral("the view fleet alone")));
  // Whatever lacks here: no memprof, no Python, no module, or the fleet.
  outcome = RunViewer({QStringLiteral("--screenshot"), picture, directory.path()});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.err.count(QLatin1Char('\n')), 1) << outcome.err.toStdString();
  EXPECT_FALSE(QFile::exists(picture));
}

TEST(Program, UnwritablePicturesGiveStatusOne) {
  QTemporaryDir directory;
  const QString log = testing::WriteDemoLog(directory, {.steps = 3});
  const Outcome outcome =
      RunViewer({QStringLiteral("--screenshot"), QStringLiteral("/nowhere/x.png"), log});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_TRUE(outcome.err.contains(QStringLiteral("/nowhere/x.png")));
}

TEST(Program, WrongUsageIsStatusTwo) {
  const Outcome outcome =
      RunViewer({QStringLiteral("--screenshot"), QStringLiteral("x.png"), QStringLiteral("--view"),
                 QStringLiteral("nothing"), QStringLiteral("a.mprof")});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.err.count(QLatin1Char('\n')), 1);
  EXPECT_TRUE(outcome.err.contains(QStringLiteral("nothing")));
  EXPECT_EQ(RunViewer({QStringLiteral("--help")}).status, 0);
  EXPECT_TRUE(RunViewer({QStringLiteral("--help")}).out.contains(QStringLiteral("--screenshot")));
  EXPECT_EQ(RunViewer({QStringLiteral("--version")}).status, 0);
}

}  // namespace
}  // namespace memprof::viewer
