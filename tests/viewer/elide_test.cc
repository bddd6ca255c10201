// Names shortened to a width.
#include "viewer/geometry/elide.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace memprof::viewer {
namespace {

double Letters(const QString& text) { return static_cast<double>(text.size()); }

TEST(ElideName, KeepsThePlaceOfACallSite) {
  const QString name = QStringLiteral("SparseMixtureOfExperts.forward (block_05.py:165)");
  EXPECT_EQ(ElideName(name, 100, Letters), name);
  EXPECT_EQ(ElideName(name, 30, Letters), QStringLiteral("Spars…orward (block_05.py:165)"));
  // If a place is too long, its end is shown.
  const QString narrow = ElideName(name, 12, Letters);
  EXPECT_LE(narrow.size(), 12);
  EXPECT_TRUE(narrow.endsWith(QStringLiteral("py:165"))) << narrow.toStdString();
  EXPECT_EQ(ElideName(QStringLiteral("a tensor of many (float32 [1024, 1024])"), 20, Letters),
            QStringLiteral("a …ny (…1024, 1024])"));
  EXPECT_EQ(ElideName(QStringLiteral("model.layers.11.attention.weight"), 12, Letters),
            QStringLiteral("mode….weight"));
}

TEST(ElideName, DropsTheFunctionBeforeThePlace) {
  const QString name = QStringLiteral("LayerNormLayer::Backward (layer_norm.cc:25)");
  EXPECT_EQ(ElideName(name, 28, Letters), QStringLiteral("Laye…ward (layer_norm.cc:25)"));
  EXPECT_EQ(ElideName(name, 20, Letters), QStringLiteral("layer_norm.cc:25"));
  EXPECT_EQ(ElideName(name, 10, Letters), QStringLiteral("l…rm.cc:25"));
  EXPECT_EQ(ElideName(QStringLiteral("<module> (batch_too_large.py:8)"), 30, Letters),
            QStringLiteral("batch_too_large.py:8"));
}

TEST(ElideName, KeepsTheUsersLineOfASiteInAPackage) {
  const QString name = QStringLiteral("main (train.py:9), in GPT2Attention.forward (gpt2.py:123)");
  EXPECT_EQ(ElideName(name, 57, Letters), name);
  EXPECT_EQ(ElideName(name, 40, Letters), QStringLiteral("main (train.py:9), in gpt2.py:123"));
  EXPECT_EQ(ElideName(name, 26, Letters), QStringLiteral("train.py:9, in gpt2.py:123"));
  EXPECT_EQ(ElideName(name, 20, Letters), QStringLiteral("main (train.py:9)"));
  EXPECT_EQ(ElideName(name, 12, Letters), QStringLiteral("train.py:9"));
}

TEST(ElideApart, NoTwoReadAlike) {
  const QStringList names = {
      QStringLiteral("Experts.forward_3 (sparse_routing_attention_block_05.py:165)"),
      QStringLiteral("Experts.forward_4 (sparse_routing_attention_block_05.py:165)"),
      QStringLiteral("Experts.forward_4 (dense_routing_attention_block_05.py:165)"),
      QStringLiteral("Experts.forward_3 (sparse_routing_attention_block_05.py:165)")};
  const QStringList cut = ElideApart(names, 24, Letters);
  EXPECT_EQ(cut[0], cut[3]) << "equal texts stay equal";
  EXPECT_EQ(std::set<QString>(cut.begin(), cut.end()).size(), 3u)
      << cut.join(QStringLiteral(" | ")).toStdString();
  for (const QString& name : cut) EXPECT_LE(name.size(), 24);
}

TEST(ElideApart, HoldsForRandomNames) {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    QStringList names;
    for (int i = 0; i < 30; ++i) {
      QString name(40, QLatin1Char('a'));
      for (int change = 0; change < 3; ++change)
        name[static_cast<qsizetype>(random() % 40)] = QLatin1Char('b');
      names << (random() % 2 != 0 ? name : name + QStringLiteral(" (file.cc:12)"));
    }
    const double width = 12 + random() % 20;
    const QStringList cut = ElideApart(names, width, Letters);
    for (qsizetype i = 0; i < names.size(); ++i) {
      ASSERT_LE(Letters(cut[i]), width);
      for (qsizetype j = 0; j < i; ++j)
        ASSERT_EQ(cut[i] == cut[j], names[i] == names[j])
            << names[i].toStdString() << " and " << names[j].toStdString() << " at " << width
            << " read " << cut[i].toStdString();
    }
  }
}

TEST(ElideApart, EndsWhereThereIsNoRoom) {
  EXPECT_EQ(ElideApart({QStringLiteral("ab"), QStringLiteral("cd")}, 0, Letters).size(), 2);
  EXPECT_EQ(ElideApart({QStringLiteral("abcdef"), QStringLiteral("abcdeg")}, 1, Letters).size(), 2);
}

}  // namespace
}  // namespace memprof::viewer
