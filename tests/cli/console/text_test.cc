// Text cut by columns.
#include "cli/console/text.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(TextTest, Wrap) {
  EXPECT_EQ(Wrap("one two  three", 9, 2), "one two\n  three");
  EXPECT_EQ(Wrap("", 9, 2), "");
  EXPECT_EQ(Wrap("averylongword x", 4, 1), "averylongword\n x");
  for (std::size_t width = 8; width < 40; ++width) {
    const std::string text = Wrap("the quick brown fox jumps over the lazy dog again", width, 3);
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      EXPECT_LE(end - begin, width);
      begin = end + 1;
    }
  }
}

TEST(TextTest, ColumnsAndCuts) {
  EXPECT_EQ(Columns("Größe"), 5u);
  EXPECT_EQ(CutEnd("abcdef", 6), "abcdef");
  EXPECT_EQ(CutEnd("abcdef", 4), "abc…");
  EXPECT_EQ(CutEnd("äöüß", 3), "äö…");
  EXPECT_EQ(CutFront("abcdef", 4), "…def");
  EXPECT_EQ(CutFront("äöüß", 3), "…üß");
}

TEST(TextTest, HexAndPrintable) {
  EXPECT_EQ(Hex(0), "0x0");
  EXPECT_EQ(Hex(0x7F00ABCDEF), "0x7f00abcdef");
  EXPECT_EQ(Printable("a\033b\nc\177"), "a?b?c?");
  EXPECT_EQ(Printable("Größe"), "Größe");
}

TEST(TextTest, SitesKeepTheEndThatDistinguishesThem) {
  EXPECT_EQ(CutMiddle("abcdef", 6), "abcdef");
  EXPECT_EQ(CutMiddle("abcdefghij", 7), "ab…ghij");
  EXPECT_EQ(CutMiddle("ααααββββγγγγ", 7), "αα…γγγγ");
  EXPECT_EQ(CutMiddle("abcdefghij", 7, 4), "abcd…ij");
  EXPECT_TRUE(CutSite("SparseMixtureOfExpertsLayer::Dispatch (moe_layer.cc:123)", 36)
                  .ends_with("(moe_layer.cc:123)"));
  EXPECT_EQ(
      CutSite("main (train.py:51), in GPT2Attention.forward (transformers/…/gpt2.py:123)", 44),
      "main (train.py:51), in …rmers/…/gpt2.py:123)");
}

// In columns of any width: a place in a library alone would not show what the user can change.
TEST(TextTest, TheUsersLineStaysInASite) {
  const std::string site =
      "<module> (tv_resnet.py:12), in ResNet._forward_impl (torchvision/…/resnet.py:280)";
  EXPECT_EQ(CutSite(site, 100), site);
  EXPECT_EQ(CutSite(site, 60), "<module> (tv_resnet.py:12), in …torchvision/…/resnet.py:280)");
  EXPECT_EQ(CutSite(site, 42), "tv_resnet.py:12, in …sion/…/resnet.py:280)");
  EXPECT_EQ(CutSite("cuBLAS workspace for " + site, 60),
            "cuBLAS workspace for tv_resnet.py:12, in …n/…/resnet.py:280)");
  EXPECT_TRUE(CutSite(site, 30).ends_with("resnet.py:280)"));
  // The line also stays where several sites must be distinguished.
  const std::vector<std::string> cells = {
      "<module> (tv_resnet.py:12), in BasicBlock.forward (torchvision/…/resnet.py:92)",
      "<module> (tv_resnet.py:20), in BasicBlock.forward (torchvision/…/resnet.py:92)",
      "<module> (tv_resnet.py:20), in Bottleneck.forward (torchvision/…/resnet.py:92)", site};
  const std::vector<std::string> cut = CutApart(cells, 42);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_LE(Columns(cut[i]), 42u) << cut[i];
    EXPECT_EQ(cut[i].find("tv_resnet.py:"), 0u) << cut[i];
    for (std::size_t j = 0; j < i; ++j) EXPECT_NE(cut[i], cut[j]);
  }
}

TEST(TextTest, CellsThatDifferStayDifferent) {
  const std::string same(40, 'x');
  const std::vector<std::string> cells = {same + "A" + same, same + "B" + same, "short",
                                          same + "A" + same, same + "BC" + same};
  const std::vector<std::string> cut = CutApart(cells, 30);
  for (std::size_t i = 0; i < cells.size(); ++i) {
    EXPECT_LE(Columns(cut[i]), 30u) << cut[i];
    for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(cut[i] == cut[j], cells[i] == cells[j]);
  }
  // For all pairs of random texts.
  std::uint32_t state = 7;
  std::vector<std::string> random;
  for (int i = 0; i < 300; ++i) {
    std::string text;
    for (int j = 0; j < 60; ++j) {
      state = state * 1664525 + 1013904223;
      text += (state >> 28) == 0 ? 'b' : 'a';
    }
    random.push_back(text);
  }
  const std::vector<std::string> shown = CutApart(random, 20);
  for (std::size_t i = 0; i < shown.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_EQ(shown[i] == shown[j], random[i] == random[j]) << random[i] << " " << random[j];
}

}  // namespace
}  // namespace memprof::cli
