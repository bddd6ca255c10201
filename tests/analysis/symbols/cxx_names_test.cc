// The parser of function names: difficult names, and random ones composed of known parts.
#include "analysis/symbols/cxx_names.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace memprof::analysis {
namespace {

constexpr struct {
  const char *function, *bare, *scope, *brief, *short_name;
} kHardNames[] = {
    {"main", "main", "", "main", "main"},
    {"", "", "", "", ""},
    {"void Train<float>", "Train<float>", "", "Train", "Train<float>"},
    {"void ns::Train<float, A (*)(int)>(int)", "ns::Train<float, A (*)(int)>", "ns", "Train",
     "Train<float, A (*)(int)>"},
    {"std::vector<int, A<int> > ns::Make<B>(C const&) const", "ns::Make<B>", "ns", "Make",
     "Make<B>"},
    {"a::Map<b::C, d::E>::Get(int) volatile", "a::Map<b::C, d::E>::Get", "a::Map<b::C, d::E>",
     "Map::Get", "Map<b::C, d::E>::Get"},
    {"a::Map::Get() const &&", "a::Map::Get", "a::Map", "Map::Get", "Map::Get"},
    {"a::B::Run(int) [clone .cold] [clone .isra.0]", "a::B::Run", "a::B", "B::Run", "B::Run"},
    // Operators whose symbols may be brackets.
    {"a::Fn::operator()(int) const", "a::Fn::operator()", "a::Fn", "a::Fn::operator()(int) const",
     "Fn::operator()"},
    {"a::B::operator<(B const&)", "a::B::operator<", "a::B", "a::B::operator<(B const&)",
     "B::operator<"},
    {"a::B::operator>>=(int)", "a::B::operator>>=", "a::B", "a::B::operator>>=(int)",
     "B::operator>>="},
    {"bool a::B::operator< <int>(int)", "a::B::operator< <int>", "a::B",
     "bool a::B::operator< <int>(int)", "B::operator< <int>"},
    {"a::Ptr<B>::operator->() const", "a::Ptr<B>::operator->", "a::Ptr<B>",
     "a::Ptr<B>::operator->() const", "Ptr<B>::operator->"},
    {"A::operator[](int)", "A::operator[]", "A", "A::operator[](int)", "A::operator[]"},
    {"A::operator char const*() const", "A::operator char const*", "A",
     "A::operator char const*() const", "A::operator char const*"},
    {"void* operator new(unsigned long)", "operator new", "", "void* operator new(unsigned long)",
     "operator new"},
    {"T* Vec<T>::operator new<int>(unsigned long)", "Vec<T>::operator new<int>", "Vec<T>",
     "T* Vec<T>::operator new<int>(unsigned long)", "Vec<T>::operator new<int>"},
    {"operator\"\" _km(long double)", "operator\"\" _km", "", "operator\"\" _km(long double)",
     "operator\"\" _km"},
    {"co_operator(int)", "co_operator", "", "co_operator(int)", "co_operator"},
    // Lambdas and local entities of functions.
    {"main::{lambda(int)#1}::operator()(int) const", "main::{lambda(int)#1}::operator()", "",
     "main::{lambda(int)#1}::operator()(int) const", "main"},
    {"a::f(int)::{lambda()#2}::operator()() const", "a::f(int)::{lambda()#2}::operator()", "a",
     "a::f(int)::{lambda()#2}::operator()() const", "f"},
    {"main::{lambda(int)#1}", "main::{lambda(int)#1}", "", "main", "main"},
    {"f(int) const::Local::Run(char)", "f(int) const::Local::Run", "", "Local::Run", "Local::Run"},
    // Return types with brackets of their own.
    {"void (*a::Make<int>(char))(int)", "a::Make<int>", "a", "Make", "Make<int>"},
    {"decltype (f(x)) a::Apply<F>(F)", "a::Apply<F>", "a", "Apply", "Apply<F>"},
    {"auto a::Add<int>(int) -> int", "a::Add<int>", "a", "Add", "Add<int>"},
    {"A<(B)1, (2>1)>::Run()", "A<(B)1, (2>1)>::Run", "A<(B)1, (2>1)>", "A::Run",
     "A<(B)1, (2>1)>::Run"},
    // Unnamed scopes and tags.
    {"a::(anonymous namespace)::Grow(unsigned long)", "a::(anonymous namespace)::Grow",
     "a::(anonymous namespace)", "Grow", "Grow"},
    {"(anonymous namespace)::Keep(int) const", "(anonymous namespace)::Keep",
     "(anonymous namespace)", "Keep", "Keep"},
    {"a::Name[abi:cxx11](int)", "a::Name[abi:cxx11]", "a", "Name", "Name[abi:cxx11]"},
    // Rust, Python, and text that is not a function name.
    {"<alloc::vec::Vec<T> as core::ops::Drop>::drop",
     "<alloc::vec::Vec<T> as core::ops::Drop>::drop", "<alloc::vec::Vec<T> as core::ops::Drop>",
     "drop", "drop"},
    {"alloc::alloc::alloc::h0123456789abcdef", "alloc::alloc::alloc", "alloc::alloc::alloc",
     "alloc", "alloc"},
    {"Foo.<locals>.<lambda>", "Foo.<locals>.<lambda>", "", "Foo.<locals>.<lambda>",
     "Foo.<locals>.<lambda>"},
    {"<module>", "<module>", "", "<module>", "<module>"},
    {"_ZN2ai5Layer7ForwardEi", "_ZN2ai5Layer7ForwardEi", "", "_ZN2ai5Layer7ForwardEi",
     "_ZN2ai5Layer7ForwardEi"},
    {"at::_ops::bmm::call(at::Tensor const&)", "at::_ops::bmm::call", "at::_ops::bmm", "call",
     "at::_ops::bmm"},
    {"0x7f00", "0x7f00", "", "0x7f00", "0x7f00"},
    {"libfoo.so+0x10", "libfoo.so+0x10", "", "libfoo.so+0x10", "libfoo.so+0x10"},
    {"(no call stack)", "(no call stack)", "", "(no call stack)", "(no call stack)"},
    {"odd<name", "odd<name", "", "odd<name", "odd<name"},
    {"cut(int, std::ve", "cut", "", "cut", "cut"},
    {"::", "::", "", "::", ""},
};

TEST(CxxNames, HardNames) {
  for (const auto& c : kHardNames) {
    EXPECT_EQ(BareName(c.function), c.bare) << c.function;
    EXPECT_EQ(ScopeOf(c.function), c.scope) << c.function;
    EXPECT_EQ(FunctionText(c.function, NameStyle::kBrief), c.brief) << c.function;
    EXPECT_EQ(FunctionText(c.function, NameStyle::kShort), c.short_name) << c.function;
    EXPECT_EQ(FunctionText(c.function, NameStyle::kWhole), c.function);
  }
}

TEST(CxxNames, WordsOfAPassStay) {
  for (const NameStyle style : {NameStyle::kQualified, NameStyle::kShort, NameStyle::kBrief}) {
    EXPECT_EQ(FunctionText("backward of Net.forward", style), "backward of Net.forward");
    EXPECT_EQ(FunctionText("backward within <module>", style), "backward within <module>");
    EXPECT_EQ(FunctionText("backward of void Run<A>(int)", style),
              style == NameStyle::kBrief ? "backward of Run" : "backward of Run<A>");
  }
}

TEST(CxxNames, Constructors) {
  EXPECT_TRUE(IsConstructor("a::Tensor::Tensor(int)"));
  EXPECT_TRUE(IsConstructor("a::Tensor<int>::Tensor<char>(std::pair<int, char>)"));
  EXPECT_FALSE(IsConstructor("a::Tensor::~Tensor()"));
  EXPECT_FALSE(IsConstructor("a::Tensor::Clone(a::Tensor::Tensor const&)"));
  EXPECT_FALSE(IsConstructor("Tensor(int)"));
  EXPECT_TRUE(IsConstructor("a::Tensor::Tensor(int)::{lambda(int)#1}::operator()(int) const"));
}

class RandomName {
 public:
  explicit RandomName(unsigned seed) : random_(seed) {}

  std::size_t Upto(std::size_t limit) { return random_() % limit; }
  std::string Type(int depth) {
    static constexpr const char* kTypes[] = {"int",           "unsigned long", "a::B const&",
                                             "void (*)(int)", "std::string",   "(A)1"};
    if (depth > 2 || Upto(3) > 0) return kTypes[Upto(std::size(kTypes))];
    return "ns::Box" + Arguments(depth + 1);
  }
  std::string Arguments(int depth) {
    std::string text = "<" + Type(depth);
    for (std::size_t i = Upto(2); i > 0; --i) text += ", " + Type(depth);
    if (text.back() == '>') text += ' ';
    return text + ">";
  }
  std::string Part() {
    static constexpr const char* kParts[] = {
        "ns",      "Tensor",   "_impl", "(anonymous namespace)", "{lambda(int)#1}",
        "f(char)", "g() const"};
    std::string part = kParts[Upto(std::size(kParts))];
    if (part == "Tensor" && Upto(2) == 0) part += Arguments(0);
    return part;
  }
  std::string Last() {
    static constexpr const char* kLast[] = {"Run",          "Tensor",        "~Tensor",
                                            "operator()",   "operator<<",    "operator->",
                                            "operator new", "operator bool", "x[abi:cxx11]"};
    std::string last = kLast[Upto(std::size(kLast))];
    if (last == "Run" && Upto(2) == 0) last += Arguments(0);
    return last;
  }

 private:
  std::mt19937 random_;
};

TEST(CxxNames, RandomNamesComeApartAsTheyWerePutTogether) {
  RandomName random(1);
  for (int i = 0; i < 20'000; ++i) {
    std::string scope;
    for (std::size_t parts = random.Upto(4); parts > 0; --parts)
      scope += (scope.empty() ? "" : "::") + random.Part();
    const bool in_function = scope.find("f(char)") != std::string::npos ||
                             scope.find("g() const") != std::string::npos ||
                             scope.find('{') != std::string::npos;
    const std::string last = random.Last();
    const std::string bare = scope.empty() ? last : scope + "::" + last;
    std::string function = bare + "(" + random.Type(0) + ")";
    if (random.Upto(2) == 0) function += " const";
    if (random.Upto(3) == 0) function += " [clone .part.0]";
    if (random.Upto(2) == 0) function = "std::pair<a::B, int> " + function;
    ASSERT_EQ(BareName(function), bare) << function;
    if (!in_function) {
      ASSERT_EQ(ScopeOf(function), scope) << function;
    }
    ASSERT_NE(bare.find(LastScopes(bare)), std::string::npos) << function;
    ASSERT_EQ(LastScopes(LastScopes(bare)), LastScopes(bare)) << function;
  }
}

// Names in malicious logs: any bytes, including parts of valid names.
TEST(CxxNames, AnyTextIsTaken) {
  static constexpr const char* kPieces[] = {"<",
                                            ">",
                                            "(",
                                            ")",
                                            "{",
                                            "}",
                                            "[",
                                            "]",
                                            "::",
                                            " ",
                                            "operator",
                                            "const",
                                            "a",
                                            "B",
                                            "*",
                                            "&",
                                            "-",
                                            "(*",
                                            "(anonymous namespace)",
                                            "\xff",
                                            "[abi:",
                                            "::h"};
  RandomName random(2);
  for (int i = 0; i < 50'000; ++i) {
    std::string text;
    for (std::size_t n = random.Upto(14); n > 0; --n)
      text += kPieces[random.Upto(std::size(kPieces))];
    const std::string_view bare = BareName(text);
    ASSERT_NE(text.find(bare), std::string::npos) << text;
    ASSERT_NE(text.find(ScopeOf(text)), std::string::npos) << text;
    IsConstructor(text);
    for (const NameStyle style : {NameStyle::kQualified, NameStyle::kShort, NameStyle::kBrief})
      ASSERT_LE(FunctionText(text, style).size(), text.size()) << text;
  }
}

// Deep nesting and many parentheses take linear time.
TEST(CxxNames, LongNamesAreRead) {
  std::string deep(200'000, '<'), open = "f", scopes = "f";
  for (int i = 0; i < 50'000; ++i) {
    open += "(*";
    scopes += "(a)::f";
  }
  EXPECT_EQ(BareName(deep), deep);
  EXPECT_FALSE(BareName(open).empty());
  EXPECT_EQ(BareName(scopes), scopes);
  EXPECT_EQ(LastScopes(scopes), "f");
}

}  // namespace
}  // namespace memprof::analysis
