// The query language of the table of tensors: the meaning of queries, and messages about errors.
#include "analysis/filter/tensor_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::analysis {
namespace {

using Kind = TensorCondition::Kind;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TensorQuery Parse(const std::string& text) {
  const auto query = ParseTensorQuery(text);
  EXPECT_TRUE(query.ok()) << text << ": " << query.status();
  return query.ok() ? *query : TensorQuery();
}
TensorCondition One(const std::string& text) {
  const TensorQuery query = Parse(text);
  EXPECT_EQ(query.conditions.size(), 1u) << text;
  return query.conditions.empty() ? TensorCondition() : query.conditions[0];
}
std::string Error(const std::string& text) {
  const auto query = ParseTensorQuery(text);
  EXPECT_FALSE(query.ok()) << text;
  const std::string message(query.status().message());
  EXPECT_EQ(message.find('\n'), std::string::npos) << "one line";
  return message;
}

TEST(TensorQuery, NothingIsEverything) {
  EXPECT_TRUE(Parse("").conditions.empty());
  EXPECT_TRUE(Parse("  \t ").conditions.empty());
}

TEST(TensorQuery, WordsAreLookedForAnywhere) {
  for (const char* const text : {"Attn", "\"Attn\"", "h.3.attn"}) {
    EXPECT_EQ(One(text).kind, Kind::kAnywhere) << text;
    EXPECT_FALSE(One(text).exact);
  }
  EXPECT_THAT(One("Attn").texts, ElementsAre("attn")) << "case does not matter";
  EXPECT_THAT(One("\"two words\"").texts, ElementsAre("two words"));
  EXPECT_THAT(One("Linear::Forward").texts, ElementsAre("linear::forward"))
      << "a scope, not a field";
  EXPECT_THAT(One("\"a:b\"").texts, ElementsAre("a:b"));
  EXPECT_TRUE(One("-attn").negated);
  EXPECT_THAT(One("-\"a b\"").texts, ElementsAre("a b"));
  EXPECT_TRUE(One("-\"a b\"").negated);
  EXPECT_THAT(One("-").texts, ElementsAre("-"));
}

TEST(TensorQuery, AliveAndFreedAreOpposites) {
  EXPECT_EQ(One("alive").kind, Kind::kAlive);
  EXPECT_FALSE(One("alive").negated);
  EXPECT_TRUE(One("freed").negated);
  EXPECT_TRUE(One("-alive").negated);
  EXPECT_FALSE(One("-freed").negated);
  EXPECT_EQ(One("\"alive\"").kind, Kind::kAnywhere) << "quoted, it is a word";
}

TEST(TensorQuery, TextsOfFields) {
  const TensorCondition either = One("dtype:BF16,fp16");
  EXPECT_EQ(either.kind, Kind::kText);
  EXPECT_EQ(either.field, TensorField::kDtype);
  EXPECT_FALSE(either.exact);
  EXPECT_THAT(either.texts, ElementsAre("bf16", "fp16"));
  EXPECT_TRUE(One("name=w").exact);
  EXPECT_TRUE(One("name!=w").exact);
  EXPECT_TRUE(One("name!=w").negated);
  EXPECT_FALSE(One("-name!=w").negated);
  EXPECT_THAT(One("name:\"a b\"").texts, ElementsAre("a b"));
  EXPECT_THAT(One("category:optimizer_state").texts, ElementsAre("optimizer state"));
  EXPECT_THAT(One("shape:8×128").texts, ElementsAre("8x128"));
  EXPECT_THAT(One("shape:8*128*2").texts, ElementsAre("8x128x2"));
  for (const auto& [text, field] :
       {std::pair("layer:block", TensorField::kLayer), std::pair("site:main", TensorField::kSite)})
    EXPECT_EQ(One(text).field, field);
}

struct NumberCase {
  const char* text;
  TensorField field;
  std::uint64_t low, high;
};
constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kMi = 1 << 20, kSecond = 1'000'000'000;

class Numbers : public ::testing::TestWithParam<NumberCase> {};
TEST_P(Numbers, AreRanges) {
  const TensorCondition condition = One(GetParam().text);
  EXPECT_EQ(condition.kind, Kind::kNumber);
  EXPECT_EQ(condition.field, GetParam().field);
  EXPECT_FALSE(condition.negated);
  EXPECT_THAT(condition.ranges, ElementsAre(NumberRange{GetParam().low, GetParam().high}));
}
INSTANTIATE_TEST_SUITE_P(
    All, Numbers,
    ::testing::Values(NumberCase{"bytes>1MiB", TensorField::kBytes, kMi + 1, kMax},
                      NumberCase{"bytes>=1.5mib", TensorField::kBytes, kMi * 3 / 2, kMax},
                      NumberCase{"bytes<4K", TensorField::kBytes, 0, 4095},
                      NumberCase{"bytes<=4kB", TensorField::kBytes, 0, 4000},
                      NumberCase{"bytes:512", TensorField::kBytes, 512, 512},
                      NumberCase{"bytes=512B", TensorField::kBytes, 512, 512},
                      NumberCase{"bytes:1KiB..1GiB", TensorField::kBytes, 1024, 1 << 30},
                      NumberCase{"bytes:18446744073709551615", TensorField::kBytes, kMax, kMax},
                      NumberCase{"bytes:..2TiB", TensorField::kBytes, 0, std::uint64_t{2} << 40},
                      NumberCase{"requested:10..", TensorField::kRequested, 10, kMax},
                      NumberCase{"born:10..20", TensorField::kBornStep, 10, 20},
                      NumberCase{"born>2s", TensorField::kBorn, 2 * kSecond + 1, kMax},
                      NumberCase{"freed:1.5s..2min", TensorField::kFreed, kSecond * 3 / 2,
                                 120 * kSecond},
                      NumberCase{"freed:3", TensorField::kFreedStep, 3, 3},
                      NumberCase{"lifetime>250ms", TensorField::kLifetime, kSecond / 4 + 1, kMax},
                      NumberCase{"lifetime<10us", TensorField::kLifetime, 0, 9999},
                      NumberCase{"lifetime<10µs", TensorField::kLifetime, 0, 9999},
                      NumberCase{"lifetime>=1h", TensorField::kLifetime, 3600 * kSecond, kMax},
                      NumberCase{"lifetime>0", TensorField::kLifetime, 1, kMax},
                      NumberCase{"stream:7", TensorField::kStream, 7, 7},
                      NumberCase{"device:1", TensorField::kDevice, 1, 1},
                      NumberCase{"process<2", TensorField::kProcess, 0, 1}));

TEST(TensorQuery, NumbersMayBeEitherOrNone) {
  EXPECT_THAT(One("born:1,5..7,20..").ranges,
              ElementsAre(NumberRange{1, 1}, NumberRange{5, 7}, NumberRange{20, kMax}));
  EXPECT_TRUE(One("bytes!=512").negated);
  EXPECT_TRUE(One("-bytes>512").negated);
}

TEST(TensorQuery, AllTermsAreKept) {
  const TensorQuery query =
      Parse("name:attn bytes>1MiB dtype:bf16 born:10..20 lifetime>2s alive category:activations");
  ASSERT_EQ(query.conditions.size(), 7u);
  EXPECT_EQ(query.conditions[5].kind, Kind::kAlive);
  EXPECT_EQ(query.conditions[6].field, TensorField::kCategory);
}

TEST(TensorQuery, MistakesAreReported) {
  EXPECT_THAT(Error("byts>1"), HasSubstr("\"byts\" is no field; there are name, dtype, shape"));
  EXPECT_THAT(Error("bytes>lots"), HasSubstr("bytes: \"lots\" is not a size such as"));
  EXPECT_THAT(Error("bytes>2s"), HasSubstr("is not a size")) << "a time is not a size";
  EXPECT_THAT(Error("bytes>-1"), HasSubstr("is not a size"));
  EXPECT_THAT(Error("bytes:99999999TiB"), HasSubstr("is not a size")) << "beyond 64 bits";
  EXPECT_THAT(Error("bytes>"), HasSubstr("\"\" is not a size"));
  EXPECT_THAT(Error("bytes:1KiB..x"), HasSubstr("is not a size"));
  EXPECT_THAT(Error("lifetime>2"), HasSubstr("is not a time such as 250ms"));
  EXPECT_THAT(Error("born:1..2s"), HasSubstr("is not a step"))
      << "from a step to a time is not a range";
  EXPECT_THAT(Error("born:20..10"), HasSubstr("the smaller number comes first"));
  EXPECT_THAT(Error("born>10..20"), HasSubstr("write born:10..20"));
  EXPECT_THAT(Error("device:inf"), HasSubstr("is not a number"));
  EXPECT_THAT(Error("device:0x1"), HasSubstr("is not a number"));
  EXPECT_THAT(Error("name>a"), HasSubstr("write name:a"));
  EXPECT_THAT(Error("name:"), HasSubstr("needs a text"));
  EXPECT_THAT(Error("name!a"), HasSubstr("write name!="));
  EXPECT_THAT(Error("name:\"a"), HasSubstr("quotation mark"));
  EXPECT_THAT(Error("bytes<0"), HasSubstr("nothing is bytes<0"));
  EXPECT_THAT(Error("bytes>18446744073709551615"), HasSubstr("nothing is"));
}

TEST(TensorQuery, QuotedTextsAreFoundAgain) {
  for (const std::string text : {"plain", "two words", "a:b", "tab\there"}) {
    const TensorCondition condition = One("name=" + QuoteForQuery(text));
    EXPECT_THAT(condition.texts, ElementsAre(text));
  }
  EXPECT_EQ(QuoteForQuery("plain"), "plain");
  EXPECT_EQ(QuoteForQuery("a\"b"), "ab") << "a quotation mark cannot be quoted";
}

TEST(TensorQuery, FieldsHaveNames) {
  for (std::size_t i = 0; i < kTensorFieldCount; ++i) {
    const auto field = static_cast<TensorField>(i);
    const std::string name(TensorFieldName(field));
    ASSERT_FALSE(name.empty());
    EXPECT_TRUE(ParseTensorQuery(name + (IsTextField(field) ? ":x" : ":0")).ok()) << name;
  }
}

}  // namespace
}  // namespace memprof::analysis
