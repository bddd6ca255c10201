// The search of the palette: which names a query finds, and in which order, as text.
#include "viewer/models/palette_index.h"

#include <gtest/gtest.h>

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
  for (const PaletteItem& item : PaletteItemsOf(*session, symbols, std::stop_token()))
    if (item.kind != PaletteKind::kCategory)
      text += item.text.toStdString() + " | " + item.detail.toStdString() + "\n";
  EXPECT_EQ(text,
            "step 7 | 0 s\n"
            "w.q | 4.00 KiB\n"
            "Keep (k.cc:2) | 4.00 KiB at the peak\n"
            "Pass (p.cc:3) | not at the peak\n"
            "device 0 | \n");
}

}  // namespace
}  // namespace memprof::viewer
