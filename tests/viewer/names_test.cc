// Short names of functions.
#include "viewer/geometry/names.h"

#include <gtest/gtest.h>

namespace memprof::viewer {
namespace {

TEST(Names, KeepWhatDistinguishesFunctions) {
  const struct {
    const char* full;
    const char* brief;
  } cases[] = {
      {"main", "main"},
      {"train_step", "train_step"},
      {"LossHistory::Append(float)", "LossHistory::Append"},
      {"memprof::demo::Tensor::Tensor(memprof::demo::Device&, int)", "Tensor::Tensor"},
      {"void memprof::demo::Launch<float, 4>(float*, std::vector<int, A<int> >)", "Launch"},
      {"void Train<float>", "Train"},  // as in imported logs
      {"f(int)::Local::Run(char)", "Local::Run"},
      {"Foo.<locals>.<lambda>", "Foo.<locals>.<lambda>"},
      {"a::(anonymous namespace)::Grow(unsigned long)", "Grow"},
      {"std::function<void (int)>::operator()(int) const",
       "std::function<void (int)>::operator()(int) const"},
      {"main::{lambda(int)#1}", "main"},
      {"<module>", "<module>"},
      {"<lambda>", "<lambda>"},
      {"backward of <module>", "backward of <module>"},
      {"backward within Net.forward", "backward within Net.forward"},
      {"0x7f00", "0x7f00"},
      {"libfoo.so+0x10", "libfoo.so+0x10"},
      {"odd<name", "odd<name"},
      {"", ""},
  };
  for (const auto& [full, brief] : cases) {
    EXPECT_EQ(ShortFunction(QString::fromUtf8(full)), QString::fromUtf8(brief)) << full;
  }
}

TEST(Names, SitesHaveAPlace) {
  analysis::SourceFrame frame;
  frame.function = "a::B::C(int)";
  frame.file = "/src/x/c.cc";
  frame.line = 9;
  EXPECT_EQ(ShortSite(frame), QStringLiteral("B::C (c.cc:9)"));
  frame.file.clear();
  frame.module = "libx.so";
  EXPECT_EQ(ShortSite(frame), QStringLiteral("B::C (libx.so)"));
  frame.function = "libx.so+0x10";
  EXPECT_EQ(ShortSite(frame), QStringLiteral("libx.so+0x10"));
  frame.function = "a::B::C(int)";
  frame.module.clear();
  EXPECT_EQ(ShortSite(frame), QStringLiteral("B::C"));
}

}  // namespace
}  // namespace memprof::viewer
