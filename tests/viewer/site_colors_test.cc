// The colour of a call site in all views; recently opened entries.
#include "viewer/models/site_colors.h"

#include <gtest/gtest.h>

#include <set>

#include "viewer/models/recent.h"

namespace memprof::viewer {
namespace {

using Colors = std::vector<int>;

QStringList Keys(const QString& letters) { return letters.split(QString(), Qt::SkipEmptyParts); }

TEST(SiteColors, AreTheSameWhateverTheRank) {
  SiteColors colors;
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("abc"))), (Colors{0, 1, 2}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("cab"))), (Colors{2, 0, 1}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("bd"))), (Colors{1, 3})) << "a new one has a new colour";
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("dcba"))), (Colors{3, 2, 1, 0}));
}

TEST(SiteColors, DifferInOnePicture) {
  SiteColors colors;
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("abcdefghi"))), (Colors{0, 1, 2, 3, 4, 5, 6, -1, -1}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("h"))), (Colors{0})) << "there are no more than seven";
  // On a conflict the larger site keeps the colour. Without the conflict the other site has its own
  // colour again.
  const Colors met = colors.Of(Keys(QStringLiteral("ah")));
  EXPECT_EQ(met[0], 0);
  EXPECT_NE(met[1], 0);
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("h"))), (Colors{0}));
  const Colors many = colors.Of(Keys(QStringLiteral("hgfedcb")));
  EXPECT_EQ(std::set<int>(many.begin(), many.end()).size(), 7u);
}

TEST(Recent, SeveralLogsAreOneEntry) {
  const QStringList job = {QStringLiteral("/j/r0.mprof"), QStringLiteral("/j/r1.mprof"),
                           QStringLiteral("/j/r2.mprof")};
  EXPECT_EQ(PathsOfRecent(RecentEntry(job)), job);
  EXPECT_EQ(RecentTitle(RecentEntry(job)), QStringLiteral("/j/r0.mprof and 2 more"));
  EXPECT_EQ(RecentTitle(QStringLiteral("/a b.mprof")), QStringLiteral("/a b.mprof"));
  EXPECT_EQ(PathsOfRecent(QStringLiteral("/a b.mprof")).size(), 1);
}

}  // namespace
}  // namespace memprof::viewer
