// The functions around a line, against Python's own names for them.
#include "analysis/source/enclosing.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::analysis {
namespace {

// Each line, and the __qualname__ of the code that Python compiles for it; empty = outside of
// functions, so that no name is looked for.
struct PythonLine {
  const char* text;
  const char* function;
  const char* qualified;
};
constexpr PythonLine kPythonLines[] = {
    {"import torch", "", ""},
    {"class Block(nn.Module):", "", ""},
    {"    size = 3", "", ""},
    {"    def __init__(self,", "", ""},
    {"                 n):", "", ""},
    {"        super().__init__()", "__init__", "Block.__init__"},
    {"", "", ""},
    {"        # a comment", "", ""},
    {"        self.text = \"\"\"", "__init__", "Block.__init__"},
    {"class", "", ""},
    {"\"\"\"", "", ""},
    {"", "", ""},
    {"    @property", "", ""},
    {"    async def forward(self, x):", "", ""},
    {"        if x:", "forward", "Block.forward"},
    {"            for y in x:", "forward", "Block.forward"},
    {"                y = f(", "forward", "Block.forward"},
    {"  y)", "", ""},
    {"        def inner(z): return z", "inner", "Block.forward.<locals>.inner"},
    {"        return inner(x)", "forward", "Block.forward"},
    {"    class Inner:", "", ""},
    {"        def go(self):", "", ""},
    {"            def step():", "", ""},
    {"                return 1", "step", "Block.Inner.go.<locals>.step"},
    {"            return step", "go", "Block.Inner.go"},
    {"def main():", "", ""},
    {"    classes = 1; define = 2", "main", "main"},
    {"\tdeferred = 1", "", ""},
    {"    return classes", "main", "main"},
};

TEST(QualifiedNameTest, IsPythons) {
  std::string text;
  for (const PythonLine& line : kPythonLines) text += line.text + std::string("\n");
  int number = 0;
  for (const PythonLine& line : kPythonLines) {
    ++number;
    if (*line.function == '\0') continue;
    EXPECT_EQ(QualifiedName(text, number, line.function), line.qualified) << line.text;
    EXPECT_EQ(QualifiedName(text, number, "another"), "another") << line.text;
  }
}

TEST(QualifiedNameTest, TakesAnyText) {
  for (const std::string_view text : {"", "\n", "def", "def ", "class \n  x", "\n\n\n  def :\n"})
    for (const int line : {-1, 0, 1, 2, 4, 1000})
      EXPECT_EQ(QualifiedName(text, line, "f"), "f") << text << line;
}

}  // namespace
}  // namespace memprof::analysis
