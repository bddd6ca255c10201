// Text by columns, tables, and short names of functions.
#include "cli/text.h"

#include <gtest/gtest.h>

#include "cli/event_view.h"
#include "cli/json.h"
#include "cli/names.h"
#include "cli/table.h"

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

TEST(TextTest, ShortFunctions) {
  EXPECT_EQ(ShortFunction("Train(int, std::vector<float> const&)"), "Train");
  EXPECT_EQ(ShortFunction("main"), "main");
  EXPECT_EQ(ShortFunction("void ns::Train<float, A (*)(int)>(int)"),
            "ns::Train<float, A (*)(int)>");
  EXPECT_EQ(ShortFunction("T* Vec<T>::operator new<int>(unsigned long)"),
            "Vec<T>::operator new<int>");
  EXPECT_EQ(ShortFunction("Map<int (*)(char)>::Insert(int)"), "Map<int (*)(char)>::Insert");
  EXPECT_EQ(ShortFunction("(anonymous namespace)::Keep(int) const"), "(anonymous namespace)::Keep");
  EXPECT_EQ(ShortFunction("a::Fn::operator()(int) const"), "a::Fn::operator()");
  EXPECT_EQ(ShortFunction("a::B::operator<(B const&)"), "a::B::operator<");
  EXPECT_EQ(ShortFunction("operator<<(std::ostream&, T)"), "operator<<");
  EXPECT_EQ(ShortFunction(""), "");
}

TEST(TextTest, LastScopes) {
  EXPECT_EQ(LastScopes("a::b::Class::Step"), "Class::Step");
  EXPECT_EQ(LastScopes("a::b::Step"), "Step");
  EXPECT_EQ(LastScopes("Class::Step"), "Class::Step");
  EXPECT_EQ(LastScopes("memprof::demo::RememberHistory"), "RememberHistory");
  EXPECT_EQ(LastScopes("main"), "main");
  EXPECT_EQ(LastScopes("a::Map<b::C, d::E>::Get"), "Map<b::C, d::E>::Get");
  EXPECT_EQ(LastScopes("ends::with::"), "");
  EXPECT_EQ(LastScopes("::"), "");
  EXPECT_EQ(LastScopes(""), "");
}

TEST(TextTest, TablesAlignAndFit) {
  Table table({Align::kRight, Align::kLeft, Align::kLeft});
  table.Header({"n", "name", "site"});
  table.Row({"1", "a", "short"});
  table.Row({"1000", "longer", std::string(200, 'x')});
  const std::string text = table.Text(40);
  EXPECT_EQ(text.substr(0, text.find('\n')), "     n  name    site");
  EXPECT_NE(text.find("     1  a       short\n"), std::string::npos);
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = text.find('\n', begin);
    EXPECT_LE(Columns(text.substr(begin, end - begin)), 40u);
    begin = end + 1;
  }
}

TEST(TextTest, JsonStrings) {
  const auto json = [](std::string_view text) {
    std::string out;
    AppendJsonString(text, out);
    return out;
  };
  EXPECT_EQ(json("plain"), "\"plain\"");
  EXPECT_EQ(json("a\"b\\c\n"), R"("a\"b\\c\n")");
  EXPECT_EQ(json("\x01"), "\"\\u0001\"");
  EXPECT_EQ(json("\xff"), "\"\xef\xbf\xbd\"");
  EXPECT_EQ(json("Größe"), "\"Größe\"");
}

TEST(TextTest, PrintedJsonIsValidWhateverSymbolTablesSay) {
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(PrintJson({{"function", "bad\xff"}, {"big", ~std::uint64_t{0}}}), 0);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(),
            "{\n  \"function\": \"bad\xef\xbf\xbd\",\n  \"big\": 18446744073709551615\n}\n");
}

TEST(TextTest, NumbersAreWholeWhereTheyAre) {
  EXPECT_TRUE(Number(4096.0).is_number_integer());
  EXPECT_TRUE(Number(0.5).is_number_float());
  EXPECT_TRUE(Number(-1).is_number_integer());
  EXPECT_TRUE(Number(1e18).is_number_float());
}

TEST(TextTest, SitesKeepTheEndThatTellsThemApart) {
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

// However narrow the column: the library's place alone would say where nobody can change anything.
TEST(TextTest, TheUsersLineStaysInASite) {
  const std::string site =
      "<module> (tv_resnet.py:12), in ResNet._forward_impl (torchvision/…/resnet.py:280)";
  EXPECT_EQ(CutSite(site, 100), site);
  EXPECT_EQ(CutSite(site, 60), "<module> (tv_resnet.py:12), in …torchvision/…/resnet.py:280)");
  EXPECT_EQ(CutSite(site, 42), "tv_resnet.py:12, in …sion/…/resnet.py:280)");
  EXPECT_EQ(CutSite("cuBLAS workspace for " + site, 60),
            "cuBLAS workspace for tv_resnet.py:12, in …n/…/resnet.py:280)");
  EXPECT_TRUE(CutSite(site, 30).ends_with("resnet.py:280)"));
  // So does it where sites must be told apart.
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
  // Of all pairs of random texts.
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

TEST(TextTest, NamesOfImportedLogsLoseTheirReturnTypes) {
  EXPECT_EQ(ShortFunction("void Train<float>(int, float*)"), "Train<float>");
  EXPECT_EQ(ShortFunction("std::vector<int, A> ns::Make<B>(C const&) const"), "ns::Make<B>");
  EXPECT_EQ(ShortFunction("void* operator new(unsigned long)"), "operator new");
  EXPECT_EQ(ShortFunction("Foo.<locals>.<lambda>"), "Foo.<locals>.<lambda>");
  EXPECT_EQ(ShortFunction("backward of Net.forward"), "backward of Net.forward");
  EXPECT_EQ(ShortFunction("backward within <module>"), "backward within <module>");
  EXPECT_EQ(ShortFunction("backward: AddmmBackward0"), "backward: AddmmBackward0");
}

TEST(TextTest, EveryAnomalyHasANameAndAdvice) {
  for (int i = 0; i < static_cast<int>(log::Anomaly::kCount); ++i) {
    const AnomalyText text = DescribeAnomaly(static_cast<log::Anomaly>(i));
    EXPECT_FALSE(text.name.empty());
    EXPECT_GT(text.advice.size(), 20u) << text.name;
    EXPECT_NE(text.severity, "unknown");
  }
  EXPECT_EQ(DescribeAnomaly(log::Anomaly::kCount).name, "unknown");
}

}  // namespace
}  // namespace memprof::cli
