// The search of the palette: which names a query finds, and in which order, as text.
#include "viewer/models/palette_index.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "analysis/testing/log_builder.h"
#include "tests/support/load_log.h"

namespace memprof::viewer {
namespace {

using analysis::Layer;
using analysis::testing::LoadLog;
using analysis::testing::LogBuilder;

QString Q(const char* text) { return QString::fromUtf8(text); }

// "kind:text", one a line.
std::string Print(const PaletteIndex& index, const char* query, std::size_t most = 50,
                  std::size_t most_of_a_kind = 50) {
  static constexpr const char* kKinds[] = {"view",   "site",    "step",    "tensor", "category",
                                           "device", "process", "command", "recent"};
  std::string text;
  for (const std::size_t i : index.Find(Q(query), most, most_of_a_kind))
    text += std::string(kKinds[static_cast<std::size_t>(index.item(i).kind)]) + ":" +
            index.item(i).text.toStdString() + "\n";
  return text;
}

PaletteIndex Some() {
  return PaletteIndex(
      {{PaletteKind::kCommand, Q("Show everything"), {}, 0, 0},
       {PaletteKind::kCommand, Q("Export view …"), {}, 0, 1},
       {PaletteKind::kView, Q("Timeline"), {}, 0, 0},
       {PaletteKind::kView, Q("Tensors"), {}, 0, 1},
       {PaletteKind::kStep, Q("step 3"), {}, 0, 0},
       {PaletteKind::kStep, Q("step 39"), {}, 0, 1},
       {PaletteKind::kStep, Q("step 139"), {}, 0, 2},
       {PaletteKind::kSite, Q("Linear::Forward (linear.cc:14)"), {}, 100, 0},
       {PaletteKind::kSite, Q("Attention::Forward (attention.cc:28)"), {}, 900, 1},
       {PaletteKind::kSite, Q("LossHistory::Append (loss_history.cc:24)"), {}, 5, 2},
       {PaletteKind::kTensor, Q("h.3.attn.qkv.weight"), {}, 50, 0},
       {PaletteKind::kTensor, Q("h.11.attn.weight"), {}, 60, 1}});
}

TEST(PaletteIndex, WholeWordsThenBeginningsThenInside) {
  EXPECT_EQ(Print(Some(), "step 39"), "step:step 39\nstep:step 139\n");
  EXPECT_EQ(Print(Some(), "39"), "step:step 39\nstep:step 139\n");
  EXPECT_EQ(Print(Some(), "3"),
            "step:step 3\ntensor:h.3.attn.qkv.weight\nstep:step 39\nstep:step 139\n");
  EXPECT_EQ(Print(Some(), "attn"),
            "tensor:h.11.attn.weight\ntensor:h.3.attn.qkv.weight\n"
            "site:Attention::Forward (attention.cc:28)\n")
      << "of equal matches the larger; scattered letters last";
  EXPECT_EQ(Print(Some(), "FORWARD"),
            "site:Attention::Forward (attention.cc:28)\nsite:Linear::Forward (linear.cc:14)\n");
  EXPECT_EQ(Print(Some(), "tim"), "view:Timeline\n") << "a few letters do not match everything";
}

TEST(PaletteIndex, WordsInAnyOrderAndLettersInTheirs) {
  EXPECT_EQ(Print(Some(), "weight 11"), "tensor:h.11.attn.weight\n");
  EXPECT_EQ(Print(Some(), "weight nothing"), "");
  EXPECT_EQ(Print(Some(), "lsshst"), "site:LossHistory::Append (loss_history.cc:24)\n");
  EXPECT_EQ(Print(Some(), "qzx"), "");
  EXPECT_EQ(Print(Some(), "  "), Print(Some(), "")) << "blanks are no query";
}

TEST(PaletteIndex, NoQueryShowsSomeOfEachKind) {
  EXPECT_EQ(Print(Some(), "", 50, 1),
            "view:Timeline\nsite:Attention::Forward (attention.cc:28)\nstep:step 3\n"
            "tensor:h.11.attn.weight\ncommand:Show everything\n");
  EXPECT_EQ(Some().Find({}, 3, 50).size(), 3u);
  EXPECT_TRUE(PaletteIndex().Find(Q("x"), 5, 5).empty());
}

TEST(PaletteIndex, MarksAreTheLettersThatMatch) {
  const auto marked = [](const char* text, const char* query) {
    std::string marks(Q(text).size(), '.');
    for (const int at : PaletteMarks(Q(text), Q(query))) marks[static_cast<std::size_t>(at)] = '^';
    return marks;
  };
  EXPECT_EQ(marked("step 39", "39"), ".....^^");
  EXPECT_EQ(marked("Address map", "map add"), "^^^.....^^^");
  EXPECT_EQ(marked("LossHistory", "lhs"), "^...^.^....");
  EXPECT_EQ(marked("Überlauf", "über"), "^^^^....");
  EXPECT_EQ(marked("step", "zzz"), "....");
}

// What is found is what a plain search finds, and the rarest letters do not hide anything.
TEST(PaletteIndex, AgainstAPlainSearch) {
  std::mt19937 random(9);
  const auto word = [&random](int most) {
    QString text;
    for (int i = 1 + static_cast<int>(random() % static_cast<unsigned>(most)); i > 0; --i)
      text += QChar(u"abA._ é"[random() % 7]);
    return text;
  };
  for (int round = 0; round < 300; ++round) {
    std::vector<PaletteItem> items;
    for (int i = 0; i < 20; ++i) items.push_back({PaletteKind::kTensor, word(12), {}, 0, i});
    const PaletteIndex index(items);
    const QString query = word(2).simplified().remove(QLatin1Char(' '));  // no scattered letters
    std::vector<std::size_t> wanted, found = index.Find(query, 99, 99);
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i].text.contains(query, Qt::CaseInsensitive)) wanted.push_back(i);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, wanted) << query.toStdString();
  }
}

TEST(PaletteIndex, WhatALogHas) {
  LogBuilder log;
  log.Device(0, 1 << 20);
  const int kept = log.Stack({"main (a.cc:1)", "Keep (k.cc:2)"});
  const int gone = log.Stack({"main (a.cc:1)", "Pass (p.cc:3)"});
  log.Step(7);
  log.Alloc(Layer::kLinear, 0x1000, 300, {.stack = gone});
  log.Free(0x1000);
  log.Alloc(Layer::kLinear, 0x2000, 4096, {.stack = kept});
  log.TensorCreate(0x2000, 4096, log.Tensor("w.q", "fp32", {1024}));
  const auto session = LoadLog(log);
  analysis::Symbols symbols(session);
  std::string text;
  for (const PaletteItem& item : PaletteNamesOf(*session, symbols, std::stop_token()).items)
    if (item.kind != PaletteKind::kCategory)
      text += item.text.toStdString() + " | " + item.detail.toStdString() + "\n";
  EXPECT_EQ(text,
            "step 7 | 0 s\n"
            "w.q | 4.00 KiB\n"
            "Keep (k.cc:2) | 4.00 KiB at the peak\n"
            "Pass (p.cc:3) | not at the peak\n"
            "device 0 | \n");
}

// Steps 1 to 9, tensors t1 to t9 and as many call sites, each of n KiB.
std::shared_ptr<const analysis::Session> Nine() {
  LogBuilder log;
  log.Device(0, 1 << 20);
  for (int n = 1; n <= 9; ++n) {
    const std::uint64_t bytes = static_cast<std::uint64_t>(n) << 10;
    const std::uint64_t at = 0x10000 * static_cast<std::uint64_t>(n);
    const std::string name = std::to_string(n);
    log.Step(n);
    log.Alloc(Layer::kLinear, at, bytes,
              {.stack = log.Stack({"F" + name + " (f.cc:" + name + ")"})});
    log.TensorCreate(at, bytes,
                     log.Tensor("t" + name, "fp32", {256 * static_cast<std::uint64_t>(n)}));
  }
  return LoadLog(log);
}

std::string NamesOf(const PaletteNames& names) {
  std::string text;
  for (const PaletteItem& item : names.items)
    if (item.kind <= PaletteKind::kTensor) text += item.text.toStdString() + "\n";
  return text + std::to_string(names.left_out) + " left out";
}

TEST(PaletteIndex, OfTooManyNamesTheLargestAndTheLastSteps) {
  const auto session = Nine();
  analysis::Symbols symbols(session);
  const auto names = [&](std::size_t most) {
    return PaletteNamesOf(*session, symbols, std::stop_token(), most);
  };
  EXPECT_EQ(NamesOf(names(2)), "step 8\nstep 9\nt8\nt9\nF9 (f.cc:9)\nF8 (f.cc:8)\n21 left out");
  EXPECT_EQ(NamesOf(names(0)), "27 left out");
  EXPECT_EQ(names(9).left_out, 0u);
  EXPECT_EQ(NamesOf(names(9)), NamesOf(names(kMostPaletteNames)));
}

TEST(PaletteIndex, AStopLeavesTheRest) {
  const auto session = Nine();
  analysis::Symbols symbols(session);
  std::stop_source stop;
  stop.request_stop();
  for (const PaletteItem& item : PaletteNamesOf(*session, symbols, stop.get_token()).items)
    EXPECT_NE(item.kind, PaletteKind::kSite);
}

TEST(PaletteIndex, OfALongNameTheBeginningIsSearched) {
  const QString name = QString(PaletteIndex::kSearchedLetters - 1, QLatin1Char('a'));
  const PaletteIndex index({{PaletteKind::kTensor, name + Q("bc"), {}, 0, 0}});
  EXPECT_EQ(index.Find(Q("ab"), 9, 9).size(), 1u);
  EXPECT_TRUE(index.Find(Q("bc"), 9, 9).empty());
}

// Of each kind the best; a limit never lets a worse one pass before a better one.
TEST(PaletteIndex, LimitsKeepTheBest) {
  std::mt19937 random(11);
  for (int round = 0; round < 100; ++round) {
    std::vector<PaletteItem> items;
    for (int i = 0; i < 40; ++i)
      items.push_back({static_cast<PaletteKind>(random() % kPaletteKinds),
                       Q(random() % 2 ? "a b" : "xab"),
                       {},
                       random() % 5,
                       i});
    const PaletteIndex index(items);
    const std::vector<std::size_t> all = index.Find(Q("a"), 99, 99);
    ASSERT_EQ(all.size(), items.size());
    const std::size_t most = random() % 20, of_a_kind = 1 + random() % 4;
    std::array<std::size_t, kPaletteKinds> taken{};
    std::vector<std::size_t> wanted;
    for (const std::size_t i : all)
      if (wanted.size() < most && taken[static_cast<std::size_t>(items[i].kind)]++ < of_a_kind)
        wanted.push_back(i);
    EXPECT_EQ(index.Find(Q("a"), most, of_a_kind), wanted) << round;
  }
}

}  // namespace
}  // namespace memprof::viewer
