// Loading logs for the window: progress, cancellation, folders.
#include "viewer/models/load_log.h"

#include <gtest/gtest.h>

#include <QDir>
#include <QFile>
#include <cmath>

#include "tests/viewer/demo_log.h"

namespace memprof::viewer {
namespace {

class LoadLogTest : public ::testing::Test {
 protected:
  std::string Write(int steps) {
    return testing::WriteDemoLog(directory_, {.steps = steps}).toStdString();
  }
  QTemporaryDir directory_;
};

TEST_F(LoadLogTest, ReportsEachPercentOnce) {
  std::vector<double> shares;
  const auto session = LoadLogs({Write(400)}, [&](double share) { shares.push_back(share); }, {});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->steps().size(), 400u);
  ASSERT_FALSE(shares.empty());
  EXPECT_LE(shares.size(), 101u);
  for (std::size_t i = 0; i < shares.size(); ++i) {
    EXPECT_GE(shares[i], 0);
    EXPECT_LE(shares[i], 1);
    if (i == 0) continue;
    EXPECT_GT(std::floor(shares[i] * 100), std::floor(shares[i - 1] * 100));
  }
}

TEST_F(LoadLogTest, EndsWhenAskedToStop) {
  std::stop_source source;
  source.request_stop();
  int reports = 0;
  const auto session = LoadLogs(
      {Write(400)}, [&](double) { ++reports; }, source.get_token());
  EXPECT_FALSE(session.ok());
  EXPECT_LE(reports, 1);
}

TEST_F(LoadLogTest, AFolderIsItsLogsTogether) {
  const QString first = QString::fromStdString(Write(3));
  const std::string folder = directory_.path().toStdString();
  const auto session = LoadLogs({folder}, [](double) {}, {});
  ASSERT_TRUE(session.ok()) << session.status();
  EXPECT_EQ((*session)->steps().size(), 3u);
  // All of them are read: the same run twice is refused.
  ASSERT_TRUE(QFile::copy(first, directory_.filePath(QStringLiteral("second.mprof"))));
  EXPECT_FALSE(LoadLogs({folder}, [](double) {}, {}).ok());
}

TEST_F(LoadLogTest, SaysWhatIsNotThere) {
  const std::string missing = directory_.filePath(QStringLiteral("none.mprof")).toStdString();
  EXPECT_FALSE(LoadLogs({missing}, [](double) {}, {}).ok());
  ASSERT_TRUE(QDir(directory_.path()).mkdir(QStringLiteral("empty")));
  const std::string empty = directory_.filePath(QStringLiteral("empty")).toStdString();
  EXPECT_FALSE(LoadLogs({empty}, [](double) {}, {}).ok());
}

}  // namespace
}  // namespace memprof::viewer
