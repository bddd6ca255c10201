// Short names of functions, and names of anomalies.
#include "cli/shared/names.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(NamesTest, ShortFunctions) {
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

TEST(NamesTest, LastScopes) {
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

TEST(NamesTest, NamesOfImportedLogsLoseTheirReturnTypes) {
  EXPECT_EQ(ShortFunction("void Train<float>(int, float*)"), "Train<float>");
  EXPECT_EQ(ShortFunction("std::vector<int, A> ns::Make<B>(C const&) const"), "ns::Make<B>");
  EXPECT_EQ(ShortFunction("void* operator new(unsigned long)"), "operator new");
  EXPECT_EQ(ShortFunction("Foo.<locals>.<lambda>"), "Foo.<locals>.<lambda>");
  EXPECT_EQ(ShortFunction("backward of Net.forward"), "backward of Net.forward");
  EXPECT_EQ(ShortFunction("backward within <module>"), "backward within <module>");
  EXPECT_EQ(ShortFunction("backward: AddmmBackward0"), "backward: AddmmBackward0");
}

TEST(NamesTest, EveryAnomalyHasANameAndAdvice) {
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
