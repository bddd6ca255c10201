// Python programs under the recorder, compared with the stacks that their interpreter reports.
//
// With the interpreter that the build found, and with those in MEMPROF_PYTHONS, separated by
// colons. CPython 3.8 to 3.14 all differ in the relevant structures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"
#include "tests/support/paths.h"

namespace memprof::testing {
namespace {

std::vector<std::string> Interpreters() {
  std::vector<std::string> found = {MEMPROF_TEST_PYTHON};
  const char* more = std::getenv("MEMPROF_PYTHONS");
  std::istringstream list(more == nullptr ? "" : more);
  for (std::string path; std::getline(list, path, ':');) found.push_back(path);
  return found;
}

// The address of an allocation and its stacks, "function:file:line|…", innermost first.
using Stacks = std::map<std::uint64_t, std::vector<std::string>>;

Stacks Expected(const GuestResult& guest) {
  Stacks stacks;
  for (const std::string& line : guest.lines()) {
    if (!line.starts_with("expect ")) continue;
    const std::size_t end = line.find(' ', 7);
    stacks[std::stoull(line.substr(7, end - 7), nullptr, 16)].push_back(line.substr(end + 1));
  }
  return stacks;
}

std::string PythonPart(const Log& log, std::uint32_t stack) {
  std::string text;
  for (const StackNode& node : log.Stack(stack)) {
    if (!node.python) continue;
    const log::PythonFrame& frame = log.python_frames.at(static_cast<std::uint32_t>(node.address));
    if (!text.empty()) text += '|';
    text += log.Text(frame.function()) + ":" +
            std::filesystem::path(log.Text(frame.file())).filename().string() + ":" +
            std::to_string(frame.line());
  }
  return text;
}

// Frames of the evaluation loop that were not replaced by Python frames. The names include the
// parts into which compilers split it.
bool IsLoop(const Log& log, const StackNode& node, std::map<std::uint64_t, bool>* known) {
  if (node.python) return false;
  const auto [found, fresh] = known->emplace(node.address, false);
  if (fresh) found->second = FunctionAt(log, node).starts_with("_PyEval_EvalFrameDefault");
  return found->second;
}

Stacks Recorded(const Log& log) {
  Stacks stacks;
  for (const Event& event : log.WithOp(log::OP_ALLOC))
    if (event.layer == log::LAYER_LINEAR && event.bytes == 1024)
      stacks[event.address].push_back(PythonPart(log, event.stack));
  return stacks;
}

class PythonTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "the interpreter is not sanitized";
  }

  GuestResult Run(std::vector<std::string> arguments, std::string output = "g.mprof") {
    GuestOptions options;
    options.directory = directory_.path();
    options.output = std::move(output);
    options.environment = {{"PYTHONIOENCODING", "utf-8"}, {"PYTHONDONTWRITEBYTECODE", "1"}};
    options.arguments = {paths::kPythonGuest};
    options.arguments.insert(options.arguments.end(), arguments.begin(), arguments.end());
    return RunProgram(GetParam(), options);
  }
  // Each allocation in order, with the stack that the interpreter reports.
  void ExpectAgreement(const std::vector<std::string>& what, std::size_t at_least) {
    const GuestResult guest = Run(what);
    ASSERT_EQ(guest.status, 0) << guest.err;
    EXPECT_EQ(guest.err, "");
    const Log log = ReadLog(directory_.File("g.mprof"));
    const Stacks expected = Expected(guest);
    EXPECT_GE(expected.size(), at_least);
    const Stacks recorded = Recorded(log);
    for (const auto& [address, stacks] : expected) {
      const auto found = recorded.find(address);
      ASSERT_NE(found, recorded.end()) << std::hex << address;
      EXPECT_EQ(found->second, stacks);
    }
    EXPECT_EQ(log.counters.count("python_frames_off"), 0u);
    log_ = log;
  }

  TempDirectory directory_;
  Log log_;
};

TEST_P(PythonTest, CallsOfAllKindsHaveTheInterpretersOwnStacks) {
  ExpectAgreement({"plain", "exceptions", "generators", "traced"}, 40);
  std::map<std::uint64_t, bool> known;
  for (const Event& event : log_.WithOp(log::OP_ALLOC))
    for (const StackNode& node : log_.Stack(event.stack))
      EXPECT_FALSE(event.bytes == 1024 && IsLoop(log_, node, &known));
}

TEST_P(PythonTest, CodeThatDiesLeavesItsAddressButNotItsLines) {
  ExpectAgreement({"executed"}, 250);
}

// The interpreter is compared in such code first.
TEST_P(PythonTest, NamesThatAreCutAgreeWithTheInterpreters) {
  ExpectAgreement({"long_name", "plain"}, 10);
  std::size_t longest = 0;
  for (const auto& [id, frame] : log_.python_frames)
    longest = std::max(longest, log_.Text(frame.function()).size());
  EXPECT_EQ(longest, 4096u);
}

TEST_P(PythonTest, ModulesThatAreLoadedAgainHaveTheirNewLinesSoon) {
  ExpectAgreement({"reloaded"}, 1);
}

TEST_P(PythonTest, ThreadsHaveTheirOwn) { ExpectAgreement({"threads"}, 200); }

// Before version 3.11 each call takes three C frames, so the outermost ones exceed the maximum
// depth.
TEST_P(PythonTest, RecursionThroughPythonAndThroughC) {
  const GuestResult guest = Run({"recursion"});
  ASSERT_EQ(guest.status, 0) << guest.err;
  const Log log = ReadLog(directory_.File("g.mprof"));
  const Stacks expected = Expected(guest);
  std::size_t whole = 0;
  for (const auto& [address, stacks] : Recorded(log)) {
    ASSERT_EQ(stacks.size(), 1u);
    const std::string& all = expected.at(address).at(0);
    EXPECT_TRUE(all.starts_with(stacks[0])) << stacks[0];
    EXPECT_GT(stacks[0].size(), std::min<std::size_t>(all.size() - 1, 1000));
    whole += all == stacks[0];
  }
  const bool cut = log.counters.contains("stacks_truncated");
  EXPECT_EQ(whole, expected.size() - (cut ? 1 : 0));
  EXPECT_EQ(expected.size(), 4u);
}

TEST_P(PythonTest, ForkedChildrenRecordTheirs) {
  const GuestResult guest = Run({"forked"}, "g.%p.mprof");
  ASSERT_EQ(guest.status, 0) << guest.err;
  const std::vector<std::string> logs = directory_.Files(".mprof");
  ASSERT_EQ(logs.size(), 2u);
  std::size_t agreed = 0;
  const Stacks expected = Expected(guest);
  for (const std::string& name : logs)
    for (const auto& [address, stacks] : Recorded(ReadLog(directory_.File(name))))
      for (const std::string& stack : stacks) {
        EXPECT_THAT(expected.at(address), ::testing::Contains(stack));
        ++agreed;
      }
  EXPECT_GE(agreed, 250u);
}

// A subinterpreter in the same thread: its frames are not known, but the program must continue.
TEST_P(PythonTest, SubInterpretersAreSurvived) { ExpectAgreement({"subinterpreter"}, 1); }

TEST_P(PythonTest, DaemonThreadsAndTheEndAreSurvived) {
  for (int round = 0; round < 5; ++round) {
    const GuestResult guest = Run({"daemon"});
    ASSERT_EQ(guest.status, 0) << guest.err;
    EXPECT_TRUE(ReadLog(directory_.File("g.mprof")).has_trailer);
  }
}

TEST_P(PythonTest, TheSourceSaysWhichInterpreter) {
  ExpectAgreement({"plain"}, 10);
  std::vector<std::string> names;
  for (const log::Source& source : log_.sources)
    if (source.name() == "python" && source.state() == log::SOURCE_ON)
      names.push_back(source.detail());
  ASSERT_EQ(names.size(), 1u);
  EXPECT_THAT(names[0], ::testing::StartsWith("CPython 3."));
}

INSTANTIATE_TEST_SUITE_P(Interpreters, PythonTest, ::testing::ValuesIn(Interpreters()),
                         [](const auto& which) { return std::to_string(which.index); });

// A library that exports the names of a Python, but does not have its data structures.
TEST(FalsePythonTest, IsSeenThroughAndSurvived) {
  if (MEMPROF_IS_SANITIZED) GTEST_SKIP() << "reads what is not there on purpose";
  for (const char* kind :
       {"3.11.7", "3.8.1", "3.12.0", "3.13.1", "3.14.0", "3.7.2", "3.99.0", "x"}) {
    for (const char* lie : {"null", "garbage", "loop", "unmapped"}) {
      TempDirectory directory;
      GuestOptions options;
      options.directory = directory.path();
      options.arguments = {kind, lie};
      const GuestResult guest = RunGuest("guest_false_python", options);
      ASSERT_EQ(guest.status, 0) << kind << " " << lie << guest.err;
      const Log log = ReadLog(directory.File("g.mprof"));
      EXPECT_EQ(log.python_frames.size(), 0u);
      EXPECT_FALSE(log.WithOp(log::OP_ALLOC).empty());
      const bool known = std::set<std::string>{"3.8.1", "3.11.7", "3.12.0"}.contains(kind);
      const std::string what = lie;
      // Some random numbers are 0, which means no frames, so nothing is wrong.
      if (!known || what == "loop" || what == "unmapped") {
        EXPECT_EQ(log.counters.count("python_frames_off"), 1u) << kind << " " << lie;
      }
    }
  }
}

}  // namespace
}  // namespace memprof::testing
