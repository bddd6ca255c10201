// Links as text: read, written, and hostile.
#include "viewer/models/link.h"

#include <gtest/gtest.h>

#include <QFile>
#include <QTemporaryDir>
#include <random>

namespace memprof::viewer {
namespace {

Link Parsed(const char* fragment) {
  QStringList problems;
  const Link link = ParseLink(QString::fromUtf8(fragment), &problems);
  EXPECT_TRUE(problems.isEmpty()) << fragment << ": " << problems.join(u'\n').toStdString();
  return link;
}

Moment At(std::uint64_t ns) { return {Moment::Kind::kTime, ns}; }

TEST(Link, WhatPeopleWriteIsRead) {
  const Link link =
      Parsed("view=leaks&step=39&site=history.cc:9&device=0&window=10s-20s&filter=attn%20q&rank=3");
  EXPECT_EQ(link.view, QStringLiteral("leaks"));
  EXPECT_EQ(link.at, (Moment{Moment::Kind::kStep, 39}));
  EXPECT_EQ(link.site.place, QStringLiteral("history.cc:9"));
  EXPECT_EQ(link.device, 0);
  EXPECT_EQ(link.window, std::pair(At(10'000'000'000), At(20'000'000'000)));
  EXPECT_EQ(link.filter.text, "attn q");
  EXPECT_EQ(link.rank, 3);
  EXPECT_EQ(Parsed("at=1.5ms").at, At(1'500'000));
  EXPECT_EQ(Parsed("at=peak").at, (Moment{Moment::Kind::kPeak}));
  EXPECT_EQ(Parsed("at=end").at, (Moment{Moment::Kind::kEnd}));
  EXPECT_EQ(Parsed("at=event4711").at, (Moment{Moment::Kind::kEvent, 4711}));
  EXPECT_EQ(Parsed("window=step3-step5").window,
            std::pair(Moment{Moment::Kind::kStep, 3}, Moment{Moment::Kind::kStep, 5}));
  EXPECT_EQ(Parsed("device=host").device, analysis::kNoDevice);
  EXPECT_EQ(Parsed("least=1MiB&most=2GiB").filter.most_bytes, std::uint64_t{2} << 30);
  EXPECT_EQ(Parsed("category=optimizer_state").filter.category,
            analysis::Category::kOptimizerState);
  EXPECT_EQ(Parsed("allocation=block:0x7f00@1.5s").allocation,
            (LinkedAllocation{analysis::Layer::kBlock, 0x7f00, 1'500'000'000}));
  EXPECT_TRUE(Parsed("").empty());
  EXPECT_TRUE(Parsed("&&").empty());
}

// Random links, each key with values of its kind.
Link Any(std::mt19937& random) {
  const auto chance = [&] { return random() % 2 == 0; };
  const auto text = [&] {
    static const QStringList texts = {QStringLiteral("a b"), QStringLiteral("ä=&#%25/:"),
                                      QStringLiteral("std::vector<int>::at"),
                                      QStringLiteral("it's \"x\"")};
    return texts[static_cast<qsizetype>(random() % 4)];
  };
  const auto moment = [&] {
    const auto kind = static_cast<Moment::Kind>(random() % 5);
    const bool number = kind < Moment::Kind::kPeak;
    // Up to a month, and up to what 64 bits hold.
    std::uint64_t value = (std::uint64_t{random()} << 32 | random()) >> (random() % 64);
    if (kind != Moment::Kind::kTime) value >>= 32;
    return Moment{kind, number ? value : 0};
  };
  Link link;
  if (chance()) link.view = QStringLiteral("map");
  for (QString ViewState::*word :
       {&ViewState::page, &ViewState::by, &ViewState::content, &ViewState::file, &ViewState::frames,
        &ViewState::zoom, &ViewState::with})
    if (chance()) link.state.*word = text();
  if (chance()) link.state.before = random();
  if (chance()) link.axis = chance() ? AxisKind::kSteps : AxisKind::kTime;
  if (chance()) link.device = static_cast<int>(random() % 9) - 1;
  if (chance()) link.at = moment();
  if (chance()) link.window = {moment(), moment()};
  if (chance()) link.site.place = text();
  if (chance()) link.site.stack = QStringLiteral("0012abcd");
  if (chance())
    link.allocation = LinkedAllocation{analysis::Layer::kStreamOrdered, random(), random()};
  if (chance()) link.filter.text = text().toStdString();
  if (chance()) link.only.place = text();
  if (chance()) link.only.stack = QStringLiteral("ffffffff");
  if (chance()) link.rank = static_cast<int>(random() % 30000);
  if (chance()) link.process = static_cast<int>(random() % 255);
  if (chance()) link.filter.category = analysis::Category::kSlack;
  if (chance()) link.filter.layers = analysis::LayerBit(analysis::Layer::kGraph);
  if (chance()) link.filter.stream = random();
  if (chance()) link.filter.least_bytes = random();
  if (chance()) link.filter.most_bytes = random();
  if (chance()) link.filter.least_lifetime = random();
  if (chance()) link.filter.most_lifetime = random();
  if (chance()) link.filter.alive_at_end = true;
  return link;
}

TEST(Link, WhatIsWrittenIsReadAgain) {
  std::mt19937 random(5);
  for (int i = 0; i < 3000; ++i) {
    const Link link = Any(random);
    const QString text = LinkText(link);
    QStringList problems;
    EXPECT_TRUE(ParseLink(text, &problems) == link) << text.toStdString();
    EXPECT_TRUE(problems.isEmpty()) << problems.join(u'\n').toStdString();
    for (const char* bad : {"#", "'", " ", "\""})
      EXPECT_FALSE(text.contains(QString::fromUtf8(bad))) << text.toStdString();
  }
  EXPECT_EQ(LinkText({}), QString());
  EXPECT_EQ(LinkText(Parsed("site=a.cc:9&step=3&view=map")),
            QStringLiteral("view=map&step=3&site=a.cc:9"));
}

TEST(Link, SeveralNamesAreOneWord) {
  const QStringList names = {QStringLiteral("main"), QStringLiteral("a;b%3B"), QString(),
                             QStringLiteral("operator% (x)")};
  EXPECT_EQ(SplitNames(JoinNames(names)), names);
  EXPECT_EQ(JoinNames(names.mid(0, 1)), QStringLiteral("main"));
  EXPECT_TRUE(SplitNames({}).isEmpty());
}

TEST(Link, WordsOfAViewThatItDoesNotShowAreNamed) {
  ViewState asked, shown;
  asked.by = QStringLiteral("gold");
  asked.page = shown.page = QStringLiteral("icicle");
  shown.by = QStringLiteral("site");
  shown.content = QStringLiteral("rows");
  EXPECT_EQ(RefusedWords(asked, shown),
            QStringList(QStringLiteral("the link's by cannot be 'gold'")));
  EXPECT_EQ(RefusedWords({}, shown), QStringList());
}

TEST(Link, TimesAreExactToTheNanosecond) {
  EXPECT_EQ(LinkTime(0), QStringLiteral("0s"));
  EXPECT_EQ(LinkTime(12'500'000'000), QStringLiteral("12.5s"));
  EXPECT_EQ(LinkTime(1), QStringLiteral("0.000000001s"));
  EXPECT_EQ(LinkTime(999'999'999'999'999), QStringLiteral("999999.999999999s"));
  EXPECT_EQ(LinkTime(18446744073709551615u), QStringLiteral("18446744073709551615ns"));
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const std::uint64_t ns = random() >> (random() % 64);
    QStringList problems;
    EXPECT_EQ(ParseLink(QStringLiteral("at=") + LinkTime(ns), &problems).at, At(ns)) << ns;
  }
}

TEST(Link, WhatIsWrongIsLeftOutWithALine) {
  const char* const cases[] = {"colour=red",
                               "view",
                               "view=",
                               "device=-1",
                               "device=x",
                               "device=99999",
                               "at=tomorrow",
                               "at=5",
                               "at=-3s",
                               "step=-1",
                               "step=1e3",
                               "window=10s",
                               "window=10s-",
                               "window=a-b",
                               "rank=+3",
                               "stack=xyz",
                               "stack=12",
                               "layer=gold",
                               "least=many",
                               "axis=bytes",
                               "allocation=0x10@1s",
                               "allocation=block:zz@1s",
                               "allocation=block:0x10@x",
                               "view=a%0Ab",
                               "filter=%ff%fe",
                               "view=%00",
                               "by=",
                               "page",
                               "file=a%0Ab",
                               "alive=no",
                               "longer=5GiB"};
  for (const char* text : cases) {
    QStringList problems;
    const Link link = ParseLink(QString::fromUtf8(text) + QStringLiteral("&view=map"), &problems);
    EXPECT_EQ(link.view, QStringLiteral("map")) << text << ": what is right holds";
    ASSERT_EQ(problems.size(), 1) << text;
    EXPECT_FALSE(problems[0].contains(QLatin1Char('\n'))) << text;
    EXPECT_LT(problems[0].size(), 200) << text;
  }
  QStringList problems;
  EXPECT_TRUE(ParseLink(QString(100000, QLatin1Char('a')), &problems).empty());
  EXPECT_EQ(problems.size(), 1);
  problems.clear();
  ParseLink(QString(9000, QLatin1Char('a')) + QStringLiteral("\x1b[2J=1"), &problems);
  ASSERT_EQ(problems.size(), 1);
  EXPECT_LT(problems[0].size(), 200);
}

// Strings of the pieces of links and of what is none.
TEST(Link, AnyTextIsReadWithoutHarm) {
  const char* const pieces[] = {"view", "at",    "window",
                                "site", "stack", "allocation",
                                "only", "least", "=",
                                "=",    "=",     "&",
                                "&",    "-",     "@",
                                ":",    "%",     "%00",
                                "%ff",  "%0A",   "step",
                                "1e9",  "block", "0x",
                                "9",    "s",     "ns",
                                "\n",   "\x1b[", "\xe2\x80\xa8",
                                "ä",    "#",     "999999999999999999999"};
  std::mt19937 random(3);
  for (int i = 0; i < 50'000; ++i) {
    QString text;
    for (unsigned n = random() % 24; n > 0; --n)
      text += QString::fromUtf8(pieces[random() % std::size(pieces)]);
    QStringList problems;
    const Link link = ParseLink(text, &problems);
    for (const QString& line : problems) {
      EXPECT_LT(line.size(), 200) << text.toStdString();
      for (const QChar c : line) EXPECT_TRUE(c.isPrint()) << text.toStdString();
    }
    // What was read is written so that it is read again.
    QStringList none;
    EXPECT_TRUE(ParseLink(LinkText(link), &none) == link) << text.toStdString();
    EXPECT_TRUE(none.isEmpty()) << text.toStdString() << "\n" << none.join(u'\n').toStdString();
    const LinkedLogs logs = SplitLinks({text});
    EXPECT_EQ(logs.logs.size(), 1);
  }
}

TEST(Link, AFileWithThatNameComesFirst) {
  QTemporaryDir folder;
  const QString odd = folder.filePath(QStringLiteral("run#a=1.mprof"));
  QFile file(odd);
  ASSERT_TRUE(file.open(QIODevice::WriteOnly));
  file.close();
  EXPECT_EQ(SplitLinks({odd}).logs, QStringList(odd));
  EXPECT_EQ(SplitLinks({odd}).fragment, QString());
  const LinkedLogs linked = SplitLinks({odd + QStringLiteral("#view=map"), QStringLiteral("b")});
  EXPECT_EQ(linked.logs, QStringList({odd, QStringLiteral("b")}));
  EXPECT_EQ(linked.fragment, QStringLiteral("view=map"));
  // No link: a name that is not there, and the error names all of it.
  EXPECT_EQ(SplitLinks({QStringLiteral("run#3.mprof")}).logs,
            QStringList(QStringLiteral("run#3.mprof")));
  EXPECT_EQ(SplitLinks({QStringLiteral("#a=b")}).logs, QStringList(QStringLiteral("#a=b")));
}

TEST(Link, TheCommandIsQuotedForAShell) {
  EXPECT_EQ(LinkCommand({QStringLiteral("/a b.mprof"), QStringLiteral("-it's.mprof")},
                        QStringLiteral("view=map&step=3")),
            QStringLiteral("memprof-viewer '/a b.mprof' './-it'\\''s.mprof#view=map&step=3'"));
  EXPECT_EQ(LinkCommand({QStringLiteral("a")}, {}), QStringLiteral("memprof-viewer 'a'"));
}

}  // namespace
}  // namespace memprof::viewer
