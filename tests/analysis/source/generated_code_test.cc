// The lines of generated code come from the compiler's cache, which may hold anything.
#include "analysis/source/generated_code.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/load/load.h"
#include "analysis/symbols/generated_lines.h"
#include "analysis/testing/log_builder.h"
#include "tests/support/temp_file.h"

namespace memprof::analysis {
namespace {

using namespace std::string_literals;
namespace fs = std::filesystem;

std::string Text(const std::string& text) {
  std::string size(4, '\0');
  for (std::size_t i = 0; i < 4; ++i) size[i] = static_cast<char>(text.size() >> (8 * i));
  return "X" + size + text;
}

// A CompiledFxGraph: its key, and entries of its linemap as opcodes.
std::string Graph(const std::string& key, const std::string& entries) {
  return "\x80\x04" + Text("torch._inductor.output_code") + Text("CompiledFxGraph") +
         "\x93)\x81}(" + Text("cache_key") + Text(key) + Text("cache_linemap") + "](" + entries +
         "eub.";
}
std::string Entry(int line, const std::string& stack) {
  return "M"s + static_cast<char>(line) + static_cast<char>(line >> 8) + Text(stack) + "\x86";
}
const std::string kStack =
    "  File \"/p/t.py\", line 32, in forward\n    x = block(x)\n        ^^^^^\n"
    "  File \"/p/t.py\", line 17, in block\n    q = f(x)\n";
const std::string kLines =
    "898\n  File \"/p/t.py\", line 32, in forward\n  File \"/p/t.py\", line 17, in block\n912\n";

class GeneratedCodeTest : public ::testing::Test {
 protected:
  static std::string Hash(char letter) { return "cab" + std::string(49, letter); }
  std::string File(char letter) { return folder_.File("cache/ab/" + Hash(letter) + ".py"); }
  void Cache(const std::string& name, const std::string& bytes) {
    const fs::path path = folder_.File("cache/fxgraph/" + name);
    fs::create_directories(path.parent_path());
    folder_.Write("cache/fxgraph/" + name, bytes);
  }
  KeptSources Lines(const std::vector<std::string>& files) {
    testing::LogBuilder log;
    std::uint64_t address = 0x1000;
    for (const std::string& file : files)
      log.Alloc(Layer::kLinear, address += 0x1000, 64,
                {.stack = log.Stack({"call (" + file + ":900)"})});
    const auto session = LoadLogs({folder_.Write("a.mprof", log.Bytes({}))});
    EXPECT_TRUE(session.ok()) << session.status();
    return LinesOfGeneratedCode(**session);
  }

  testing::TempDirectory folder_;
};

TEST_F(GeneratedCodeTest, ComesFromTheGraphOfThatName) {
  Cache("el/a/1", Graph(Hash('x'), Entry(898, kStack) + "M\x90\x03N\x86"));
  Cache("el/b/1", Graph(Hash('y'), Entry(1, "no stack")));
  Cache("el/c/1", Graph(Hash('z'), Entry(1, kStack)));
  EXPECT_EQ(Lines({File('x'), File('y'), "/p/t.py", File('w')}),
            (KeptSources{{LinesName(File('x')), kLines}, {LinesName(File('y')), "1\n"}}));
}

TEST_F(GeneratedCodeTest, FunctionsHaveTheNamesOfTheirClasses) {
  const std::string file =
      folder_.Write("t.py", "class Block:\n  def forward(self, x):\n    return f(x)\n");
  const std::string stack = "  File \"" + file + "\", line ";
  Cache("el/a/1", Graph(Hash('x'), Entry(9, stack + "3, in forward\n    return f(x)\n" + stack +
                                                "9, in forward\n" + stack + "3, in other\n")));
  EXPECT_EQ(Lines({File('x')}).at(LinesName(File('x'))), "9\n" + stack + "3, in Block.forward\n" +
                                                             stack + "9, in forward\n" + stack +
                                                             "3, in other\n");
}

TEST_F(GeneratedCodeTest, IsLeftOutWhereTheCacheHasNoneOrIsDamaged) {
  EXPECT_TRUE(Lines({File('x')}).empty()) << "no cache";
  const std::string graph = Graph(Hash('x'), Entry(898, kStack));
  Cache("a/1", graph.substr(0, graph.size() - 9));
  Cache("a/2", "\x80\x04" + Text(Hash('x')) + ".");
  Cache("a/3", Graph(Hash('y'), Entry(898, Hash('x'))));
  Cache("a/4", Graph(Hash('x'), "K\x01"));
  Cache("a/5", Graph(Hash('x'), Text("line") + Text("stack") + "\x86"));
  fs::create_symlink("/dev/zero", folder_.File("cache/fxgraph/a/6"));
  EXPECT_TRUE(Lines({File('x')}).empty());
  Cache("b/1", graph);
  EXPECT_EQ(Lines({File('x')}).size(), 1u);
}

}  // namespace
}  // namespace memprof::analysis
