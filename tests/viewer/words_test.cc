// Sentences of the analysis as the window shows them.
#include "viewer/geometry/words.h"

#include <gtest/gtest.h>

namespace memprof::viewer {
namespace {

TEST(Words, NamesAreWithoutBackticks) {
  const char* held = "list `history.outputs` of `History`, at <b>.py:1";
  EXPECT_EQ(Words(held), QStringLiteral("list history.outputs of History, at <b>.py:1"));
  EXPECT_EQ(WordsHtml(held), QStringLiteral("list <code>history.outputs</code> of "
                                            "<code>History</code>, at &lt;b&gt;.py:1"));
  EXPECT_EQ(Words("`a<b>`"), QStringLiteral("a<b>"));
  EXPECT_EQ(WordsHtml("`a<b>`"), QStringLiteral("<code>a&lt;b&gt;</code>"));
  EXPECT_EQ(Words("one ` alone"), QStringLiteral("one ` alone"));
}

TEST(Words, CommandsThatAreViewsBecomeTheirNames) {
  EXPECT_EQ(Words("stay with every step ('memprof leaks'): that"),
            QStringLiteral("stay with every step (see Leaks): that"));
  EXPECT_EQ(Words(" ('memprof leaks' finds 2 leaks)"), QStringLiteral(" (Leaks has 2 leaks)"));
}

TEST(Words, OtherCommandsAreCode) {
  EXPECT_EQ(Words("record with 'memprof run --cupti'."),
            QStringLiteral("record with memprof run --cupti."));
  EXPECT_EQ(WordsHtml("record with 'memprof run --cupti'."),
            QStringLiteral("record with <code>memprof run --cupti</code>."));
  EXPECT_EQ(Words("the link's view cannot be 'x'"),
            QStringLiteral("the link's view cannot be 'x'"));
}

TEST(Words, MicrosecondsHaveOneSpelling) {
  EXPECT_EQ(Words("after 178 us: 3 users tell us"),
            QString::fromUtf8("after 178 µs: 3 users tell us"));
}

TEST(Words, NumbersKeepTheirUnits) {
  const QString text =
      QString::fromUtf8("0.1 % of 3 MiB, 5 B in 178 µs, 2 min 05 s; 3 steps, 4 Bytes, 5 min.");
  QString expected = text;
  for (const char* unit : {"1 %", "3 MiB", "5 B", "178 µs", "2 min 0", "05 s;", "5 min."}) {
    QString joined = QString::fromUtf8(unit);
    joined.replace(joined.indexOf(QLatin1Char(' ')), 1, QChar(0xa0));
    expected.replace(QString::fromUtf8(unit), joined);
  }
  EXPECT_EQ(WithUnits(text), expected);
  EXPECT_EQ(expected.count(QChar(0xa0)), 7);
}

}  // namespace
}  // namespace memprof::viewer
