// Modules and frames of interpreters of each version.
#include "holders/remote/roots.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/holders/remote/fake_python.h"

namespace memprof::holders::test {
namespace {

using ::testing::ElementsAre;

FakeCode CodeOf(const std::string& name, const std::string& file, std::uint32_t line = 7) {
  FakeCode code;
  code.name = name;
  code.file = file;
  code.line = line;
  return code;
}

std::vector<std::string> NamesOf(const std::vector<Module>& modules) {
  std::vector<std::string> names;
  for (const Module& module : modules) names.push_back(module.name + (module.of_user ? "" : "-"));
  return names;
}

std::vector<std::string> FunctionsOf(const std::vector<Frame>& frames) {
  std::vector<std::string> names;
  for (const Frame& frame : frames) names.push_back(frame.function + (frame.of_user ? "" : "-"));
  return names;
}

std::uint64_t Interpreter(const FakePython& fake) {
  return *reinterpret_cast<std::uint64_t*>(fake.python.runtime +
                                           fake.python.layout.runtime_interpreters);
}

TEST(Roots, TheUsersModulesComeFirst) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const std::uint64_t main = fake.Module("__main__", "/lib/python/run.py");
    fake.Run({fake.Frame(fake.Code(CodeOf("f", "/home/train.py")), {})},
             {{"os", fake.Module("os", "/lib/python/os.py")},
              {"sys", fake.Module("sys", "")},
              {"torch", fake.Module("torch", "/venv/site-packages/torch/__init__.py")},
              {"memprof", fake.Module("memprof", "/opt/memprof/__init__.py")},
              {"helpers", fake.Module("helpers", "/home/helpers.py")},
              {"again", main},
              {"__main__", main},
              {"importlib", fake.Module("importlib", "<frozen importlib>")},
              {"nothing", fake.List({})},
              {"path", fake.Module("path", "/lib/python_of_mine/path.py")}});
    FakeReader reader(fake);
    const auto roots = FindRoots(reader.memory, fake.python, reader.types);
    ASSERT_TRUE(roots.ok()) << minor << roots.status();
    EXPECT_THAT(NamesOf(roots->modules), ElementsAre("__main__", "helpers", "path", "os-", "sys-",
                                                     "torch-", "memprof-", "importlib-"));
    EXPECT_EQ(roots->modules[1].file, "/home/helpers.py");
    EXPECT_EQ(roots->modules[0].names, reader.memory.Word(main + at::kModuleDict));
  }
}

TEST(Roots, FramesOfEachThreadFromTheInside) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const auto frame = [&](const char* name, const char* file, std::uint64_t previous) {
      return fake.Frame(fake.Code(CodeOf(name, file, 33)), {}, previous);
    };
    const std::uint64_t outer = frame("<module>", "/home/train.py", 0);
    const std::uint64_t library = frame("run", "/venv/dist-packages/lib.py", outer);
    const std::uint64_t inner = frame("step", "/home/train.py", library);
    const std::uint64_t other = frame("work", "/home/work.py", 0);
    fake.Run({inner, other}, {{"__main__", fake.Module("__main__", "/home/train.py")}});
    FakeReader reader(fake);
    const auto roots = FindRoots(reader.memory, fake.python, reader.types);
    ASSERT_TRUE(roots.ok()) << minor;
    EXPECT_EQ(roots->threads, 2);
    EXPECT_THAT(FunctionsOf(roots->frames), ElementsAre("step", "<module>", "work", "run-"))
        << minor;
    EXPECT_EQ(roots->frames[0].address, inner);
    EXPECT_EQ(roots->frames[0].file, "/home/train.py");
    EXPECT_EQ(roots->frames[0].line, 33);
  }
}

// From 3.12 on, each loop in C has a frame without code; in 3.14 the code is tagged.
TEST(Roots, FramesOfTheInterpreterItself) {
  for (const int minor : {12, 13, 14}) {
    FakePython fake(minor);
    const std::uint64_t code = fake.Code(CodeOf("f", "/home/train.py"));
    const std::uint64_t outer = fake.Frame(code | (minor == 14 ? 1 : 0), {});
    const std::uint64_t shim = fake.Frame(code, {}, outer);
    FakePython::Set<std::uint8_t>(shim + fake.python.frames.frame_mark, recorder::kOwnerOfShim);
    const std::uint64_t none = fake.Frame(fake.List({}), {}, shim);
    fake.Run({none}, {{"__main__", fake.Module("__main__", "/home/train.py")}});
    FakeReader reader(fake);
    const auto roots = FindRoots(reader.memory, fake.python, reader.types);
    ASSERT_TRUE(roots.ok());
    ASSERT_EQ(roots->frames.size(), 1u) << minor;
    EXPECT_EQ(roots->frames[0].address, outer);
    EXPECT_EQ(roots->frames[0].code, code);
  }
}

// `memprof run` loads the agent under a name of its own.
TEST(Roots, TheAgentIsNoUsers) {
  FakePython fake(12);
  fake.Run({0},
           {{"_memprof._agent", fake.Module("_memprof._agent", "/x/memprof/_agent/__init__.py")},
            {"watch", fake.Module("watch", "/x/memprof/_holders/watch.py")},
            {"mine", fake.Module("mine", "/x/memprof_of_mine/a.py")}});
  FakeReader reader(fake);
  const auto roots = FindRoots(reader.memory, fake.python, reader.types);
  ASSERT_TRUE(roots.ok());
  EXPECT_THAT(NamesOf(roots->modules), ElementsAre("mine", "_memprof._agent-", "watch-"));
}

TEST(Roots, ChainsThatLoopEnd) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const ObjectLayout& layout = fake.python.layout;
    const std::uint64_t frame = fake.Frame(fake.Code(CodeOf("f", "/home/train.py")), {});
    FakePython::Set(frame + fake.python.frames.frame_previous, frame);
    fake.Run({frame, frame}, {{"__main__", fake.Module("__main__", "/home/train.py")}});
    const std::uint64_t interpreter = Interpreter(fake);
    const std::uint64_t thread =
        *reinterpret_cast<std::uint64_t*>(interpreter + layout.interpreter_threads);
    FakePython::Set(thread + layout.thread_next, thread);
    FakePython::Set(interpreter + layout.interpreter_next, interpreter);
    FakeReader reader(fake);
    const auto roots = FindRoots(reader.memory, fake.python, reader.types);
    ASSERT_TRUE(roots.ok());
    EXPECT_EQ(roots->frames.size(), 1u);
    EXPECT_EQ(roots->modules.size(), 1u);
    EXPECT_EQ(roots->threads, 4096);
  }
}

TEST(Roots, ADamagedInterpreterHasNone) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    fake.Run({fake.Frame(fake.Code({}), {})}, {{"m", fake.Module("m", "/home/m.py")}});
    const std::uint64_t interpreter = Interpreter(fake);
    const ObjectLayout& layout = fake.python.layout;
    for (const std::uint64_t place :
         {interpreter + layout.interpreter_modules, interpreter + layout.interpreter_threads,
          fake.python.runtime + layout.runtime_interpreters}) {
      const std::uint64_t before = *reinterpret_cast<std::uint64_t*>(place);
      for (const std::uint64_t word : {std::uint64_t{0}, std::uint64_t{1} << 63, before + 4,
                                       fake.List({}), ~std::uint64_t{7}}) {
        FakePython::Set(place, word);
        FakeReader reader(fake);
        const auto roots = FindRoots(reader.memory, fake.python, reader.types);
        EXPECT_EQ(roots.status().code(), absl::StatusCode::kFailedPrecondition);
      }
      FakePython::Set(place, before);
    }
  }
}

// Damage costs a line or a name.
TEST(Roots, DamagedCode) {
  for (const int minor : kMinors) {
    FakePython fake(minor);
    const recorder::PythonLayout& layout = fake.python.frames;
    const std::uint64_t code = fake.Code(CodeOf("f", "/home/train.py", 12));
    const std::uint64_t frame = fake.Frame(code, {});
    for (const std::uint64_t table :
         {std::uint64_t{0}, std::uint64_t{1} << 63,
          fake.Object("bytes", {std::uint64_t{1} << 63, 0, 0}),
          fake.Object("bytes", {4, 0, 0xffffffff}), fake.Object("bytes", {1 << 23, 0, 0})}) {
      FakePython::Set(code + layout.code_line_table, table);
      FakeReader reader(fake);
      const Frame found = DescribeFrame(reader.memory, fake.python, reader.types, frame);
      EXPECT_EQ(found.function, "f") << minor;
      EXPECT_GE(found.line, 0) << minor;
    }
    FakePython::Set(code + layout.code_line_table, fake.Object("bytes", {0, 0, 0}));
    FakePython::Set(code + layout.code_name, ~std::uint64_t{7});
    FakePython::Set(code + layout.code_file, code);
    FakePython::Set(code + layout.code_first_line, ~std::uint32_t{0});
    FakeReader reader(fake);
    const Frame found = DescribeFrame(reader.memory, fake.python, reader.types, frame);
    EXPECT_EQ(found.function + found.file, "");
    EXPECT_EQ(found.line, 0);
    EXPECT_EQ(DescribeFrame(reader.memory, fake.python, reader.types, 0).code, 0u);
  }
}

}  // namespace
}  // namespace memprof::holders::test
