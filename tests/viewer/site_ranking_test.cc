// Rankings of call sites: equal texts are one row.
#include "viewer/models/site_ranking.h"

#include <gtest/gtest.h>

#include <QTemporaryDir>

#include "analysis/load/load.h"
#include "analysis/testing/log_builder.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;

TEST(SiteRanking, MergesWhatReadsTheSame) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int a = log.Stack({"main (m.cc:1)", "Clone (tensor.cc:57)", "cudaMalloc (rt.cc:1)"});
  const int b = log.Stack({"main (m.cc:1)", "Clone (tensor.cc:57)", "cudaMallocAsync (rt.cc:2)"});
  const int c = log.Stack({"main (m.cc:1)", "Big (g.cc:3)"});
  log.Alloc(Layer::kLinear, 0x1000, 1000, {.stack = a});
  log.Alloc(Layer::kLinear, 0x9000, 3000, {.stack = b});
  log.Alloc(Layer::kLinear, 0x20000, 3000, {.stack = b});
  log.Alloc(Layer::kLinear, 0x40000, 5000, {.stack = c});
  log.Alloc(Layer::kLinear, 0x80000, 200, {});
  QTemporaryDir directory;
  const std::string path = directory.filePath(QStringLiteral("a.mprof")).toStdString();
  ASSERT_TRUE(log.WriteTo(path).ok());
  const auto session = *analysis::LoadLogs({path}, {.find_steps = false});
  analysis::Symbols symbols(session);
  analysis::SiteQuery query;
  query.device = 0;
  const std::vector<analysis::Site> sites = analysis::FindSites(*session, query);
  const std::vector<RankedRow> rows = RankSites(sites, symbols);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].name, QStringLiteral("Clone (tensor.cc:57)"));
  EXPECT_EQ(rows[0].bytes, 7000u);
  EXPECT_TRUE(rows[0].detail.contains(QStringLiteral("3 blocks by 2 call stacks")))
      << rows[0].detail.toStdString();
  EXPECT_TRUE(rows[0].detail.contains(QStringLiteral("5.86 KiB"))) << "the largest of them";
  EXPECT_EQ(rows[1].name, QStringLiteral("Big (g.cc:3)"));
  EXPECT_TRUE(rows[1].detail.endsWith(QStringLiteral("1 block"))) << rows[1].detail.toStdString();
  EXPECT_EQ(rows[2].name, QStringLiteral("(no call stack)"));
  EXPECT_FALSE(rows[2].site.valid());
  // A row represents its largest stack, and no bytes are lost.
  std::uint64_t sum = 0, all = 0;
  for (const RankedRow& row : rows) sum += row.bytes;
  for (const analysis::Site& site : sites) {
    all += site.bytes;
    if (site.bytes == 6000) {
      EXPECT_EQ(rows[0].site, site.stack);
    }
  }
  EXPECT_EQ(sum, all);
  EXPECT_TRUE(RankSites({}, symbols).empty());
}

// Two files with the same name are two places, with different texts.
TEST(SiteRanking, DistinguishesFilesOfOneName) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int a = log.Stack({"main (m.cc:1)", "Make (src/one/util.cc:10)"});
  const int b = log.Stack({"main (m.cc:1)", "Make (src/two/util.cc:10)"});
  log.Alloc(Layer::kLinear, 0x1000, 1000, {.stack = a});
  log.Alloc(Layer::kLinear, 0x9000, 3000, {.stack = b});
  QTemporaryDir directory;
  const std::string path = directory.filePath(QStringLiteral("a.mprof")).toStdString();
  ASSERT_TRUE(log.WriteTo(path).ok());
  const auto session = *analysis::LoadLogs({path}, {.find_steps = false});
  analysis::Symbols symbols(session);
  analysis::SiteQuery query;
  query.device = 0;
  const std::vector<RankedRow> rows = RankSites(analysis::FindSites(*session, query), symbols);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, QStringLiteral("Make (two/util.cc:10)"));
  EXPECT_EQ(rows[1].name, QStringLiteral("Make (one/util.cc:10)"));
  EXPECT_NE(rows[0].key, rows[1].key);
}

// Templates on one line have the same text without their arguments.
TEST(SiteRanking, DistinguishesInstancesOfATemplate) {
  analysis::testing::LogBuilder log;
  log.Device(0, 1 << 30);
  const int a = log.Stack({"main (m.cc:1)", "Make<int> (util.cc:10)"});
  const int b = log.Stack({"main (m.cc:1)", "Make<char> (util.cc:10)"});
  log.Alloc(Layer::kLinear, 0x1000, 1000, {.stack = a});
  log.Alloc(Layer::kLinear, 0x9000, 3000, {.stack = b});
  QTemporaryDir directory;
  const std::string path = directory.filePath(QStringLiteral("a.mprof")).toStdString();
  ASSERT_TRUE(log.WriteTo(path).ok());
  const auto session = *analysis::LoadLogs({path}, {.find_steps = false});
  analysis::Symbols symbols(session);
  analysis::SiteQuery query;
  query.device = 0;
  const std::vector<RankedRow> rows = RankSites(analysis::FindSites(*session, query), symbols);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].name, QStringLiteral("Make<char> (util.cc:10)"));
  EXPECT_EQ(rows[1].name, QStringLiteral("Make<int> (util.cc:10)"));
}

}  // namespace
}  // namespace memprof::viewer
