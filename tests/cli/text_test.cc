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

TEST(TextTest, ASiteInAPackageIsCalledByTheUsersLine) {
  const auto frame = [](const char* file, bool python = true) {
    return analysis::SourceFrame{.function = "f", .file = file, .python = python};
  };
  std::vector<analysis::SourceFrame> frames = {
      frame("/v/lib/python3.11/site-packages/transformers/a.py"),
      frame("/v/lib/python3.11/site-packages/transformers/b.py"),
      frame("Python/ceval.c", false),
      frame("/usr/lib/python3/dist-packages/c.py"),
      frame("/usr/lib/python3.11/contextlib.py"),
      frame("/home/me/train.py"),
      frame("/home/me/main.py")};
  for (analysis::SourceFrame& each : frames) each.symbolised = true;
  EXPECT_EQ(CallerOf(frames), &frames[5]);
  frames[5].symbolised = false;
  EXPECT_EQ(CallerOf(frames), &frames[6]);
  frames.resize(2);
  EXPECT_EQ(CallerOf(frames), &frames[1]) << "nobody else is there";
  frames[0].file = "/home/me/model.py";
  EXPECT_EQ(CallerOf(frames), &frames[1]) << "the user's own line has its own caller";
  frames.resize(1);
  EXPECT_EQ(CallerOf(frames), nullptr);
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
