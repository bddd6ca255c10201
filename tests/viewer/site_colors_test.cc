// The colour of a call site in all views; recently opened entries.
#include "viewer/models/site_colors.h"

#include <gtest/gtest.h>

#include <QSettings>
#include <QTemporaryDir>
#include <algorithm>
#include <memory>
#include <random>
#include <set>

#include "viewer/models/recent.h"

namespace memprof::viewer {
namespace {

using Colors = std::vector<int>;

QStringList Keys(const QString& letters) { return letters.split(QString(), Qt::SkipEmptyParts); }

SiteColors::Ranking Ranked(const QString& letters) {
  return [letters] { return Keys(letters); };
}

TEST(SiteColors, AreThoseOfTheRankInTheLog) {
  SiteColors colors({}, Ranked(QStringLiteral("abcdefghi")));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("cab"))), (Colors{2, 0, 1}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("bd"))), (Colors{1, 3}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("abcdefghi"))), (Colors{0, 1, 2, 3, 4, 5, 6, -1, -1}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("h"))), (Colors{0})) << "there are no more than seven";
  // On a conflict the site of higher rank keeps the colour, also where it is smaller. Without the
  // conflict the other site has its own colour again.
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("ha"))), (Colors{1, 0}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("hba"))), (Colors{2, 1, 0})) << "not that of a third";
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("h"))), (Colors{0}));
}

TEST(SiteColors, WithoutARankingAreThoseOfThePicture) {
  SiteColors colors;
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("abc"))), (Colors{0, 1, 2}));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("cbadefghi"))), (Colors{0, 1, 2, 3, 4, 5, 6, -1, -1}));
}

// What was asked before, and by whom, has no effect: else two windows of one log, whose views start
// in another order, would have different colours.
TEST(SiteColors, DoNotDependOnWhatWasAskedBefore) {
  constexpr int kAsked = 300;
  std::mt19937 random(7);
  const QString letters = QStringLiteral("abcdefghijklmnopqrstuvwxyz");
  const auto ranking = Ranked(letters.left(12));  // the others have no rank
  SiteColors one({{SiteColors::PinOf(QStringLiteral("k")), 2}}, ranking),
      other(one.pins(), ranking);
  std::vector<QStringList> pictures;
  for (int i = 0; i < kAsked; ++i) {
    QStringList keys = Keys(letters);
    std::shuffle(keys.begin(), keys.end(), random);
    pictures.push_back(keys.mid(0, 1 + i % 9));
  }
  std::vector<Colors> forwards;
  for (const QStringList& keys : pictures) forwards.push_back(one.Of(keys));
  for (std::size_t i = pictures.size(); i-- > 0;) {
    EXPECT_EQ(other.Of(pictures[i]), forwards[i]) << pictures[i].join(QString()).toStdString();
    std::multiset<int> seen;
    for (std::size_t k = 0; k < forwards[i].size(); ++k) {
      const QString& key = pictures[i][static_cast<qsizetype>(k)];
      if (key != QLatin1String("k") && forwards[i][k] >= 0) seen.insert(forwards[i][k]);
    }
    EXPECT_EQ(std::set<int>(seen.begin(), seen.end()).size(), seen.size()) << "different ones";
    EXPECT_LE(seen.size(), 7u);
  }
}

TEST(SiteColors, AskForTheRankingOnceAndDoNotKeepIt) {
  const auto session = std::make_shared<int>(0);
  SiteColors colors({}, [session] {
    ++*session;
    return Keys(QStringLiteral("ab"));
  });
  EXPECT_EQ(*session, 0) << "in the first job that needs it";
  colors.Prepare();
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("b"))), (Colors{1}));
  EXPECT_EQ(*session, 1);
  EXPECT_EQ(session.use_count(), 1);
}

TEST(SiteColors, ThatArePinnedStay) {
  SiteColors colors({}, Ranked(QStringLiteral("abcdefghijxz")));
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("abc"))), (Colors{0, 1, 2}));
  colors.Pin(QStringLiteral("b"), 0);
  EXPECT_EQ(colors.Pinned(QStringLiteral("b")), 0);
  EXPECT_EQ(colors.Pinned(QStringLiteral("a")), -1);
  const Colors with = colors.Of(Keys(QStringLiteral("abc")));
  EXPECT_EQ(with[1], 0);
  EXPECT_NE(with[0], 0) << "the largest gives way to a pin";
  EXPECT_EQ(with[2], 2);
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("ac"))), (Colors{0, 2})) << "where there is no pin";
  colors.Pin(QStringLiteral("z"), 5);
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("acdefghijz"))).back(), 5) << "below the seventh too";
  colors.Pin(QStringLiteral("a"), 0);
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("ab"))), (Colors{0, 0})) << "as the user wants it";
  for (const int none : {-1, SiteColors::kColors}) {
    colors.Pin(QStringLiteral("b"), 3);
    colors.Pin(QStringLiteral("b"), none);
    EXPECT_EQ(colors.Pinned(QStringLiteral("b")), -1);
  }
  EXPECT_EQ(colors.pins().size(), 2);
  // With every colour pinned, a further site has none of its own.
  for (int c = 0; c < SiteColors::kColors; ++c) colors.Pin(QString::number(c), c);
  EXPECT_EQ(colors.Of(Keys(QStringLiteral("x0123456"))), (Colors{-1, 0, 1, 2, 3, 4, 5, 6}));
}

TEST(SitePins, AreKeptByLogAndWhatIsNoPinIsLeftOut) {
  const QTemporaryDir directory;
  QSettings::setDefaultFormat(QSettings::IniFormat);
  QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, directory.path());
  const QStringList log = {QStringLiteral("/j/a.mprof")}, other = {QStringLiteral("/j/b.mprof")};
  EXPECT_TRUE(LoadSitePins(log).isEmpty());
  const SitePins pins = {{SiteColors::PinOf(QStringLiteral("f\na.py\n3")), 4},
                         {SiteColors::PinOf(QStringLiteral("g")), 0}};
  SaveSitePins(log, pins);
  EXPECT_EQ(LoadSitePins(log), pins);
  EXPECT_TRUE(LoadSitePins(other).isEmpty());
  EXPECT_EQ(SiteColors(LoadSitePins(log)).Pinned(QStringLiteral("g")), 0);
  QSettings store;
  const QString entry = QStringLiteral("pinned_colors/") + [&store] {
    store.beginGroup(QStringLiteral("pinned_colors"));
    const QString key = store.childKeys().value(0);
    store.endGroup();
    return key;
  }();
  QVariantMap hostile = store.value(entry).toMap();
  hostile[QStringLiteral("0123456789abcdef")] = 7;
  hostile[QStringLiteral("0123456789abcdee")] = QStringLiteral("red");
  hostile[QStringLiteral("short")] = 1;
  for (int i = 0; i < 1000; ++i)
    hostile[QStringLiteral("zz%1").arg(i, 14, 10, QLatin1Char('0'))] = 2;
  store.setValue(entry, hostile);
  const SitePins read = LoadSitePins(log);
  EXPECT_LE(read.size(), 200);
  for (const int color : read) EXPECT_LT(color, SiteColors::kColors);
  EXPECT_FALSE(read.contains(QStringLiteral("0123456789abcdef")));
  EXPECT_FALSE(read.contains(QStringLiteral("short")));
  store.setValue(entry, QStringLiteral("no map"));
  EXPECT_TRUE(LoadSitePins(log).isEmpty());
  SaveSitePins(log, pins);
  SaveSitePins(log, {});
  EXPECT_FALSE(QSettings().contains(entry));
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
