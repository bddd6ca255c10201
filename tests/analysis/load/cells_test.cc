// Cells that run several times.
#include "analysis/load/internal/cells.h"

#include <gtest/gtest.h>

#include <set>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

TEST(CellsTest, ACellIsNamedAfterItsText) {
  EXPECT_EQ(CellOf("<ipython-input-3-9d1f0c2ab34e>"), "<cell 9d1f0c2ab34e>");
  EXPECT_EQ(CellOf("/tmp/ipykernel_71/286144868.py"), "<cell 286144868>");
  EXPECT_EQ(CellOf("C:\\Temp\\ipykernel_71\\286144868.py"), "<cell 286144868>");
  for (const char* file :
       {"", "<string>", "<ipython-input-3>", "<ipython-input--ab>", "<ipython-input-3-notahash>",
        "<ipython-input-3-ab", "/tmp/ipykernel_71/train.py", "/tmp/ipykernel_x/12.py",
        "/tmp/ipykernel_71/12/a.py", "/tmp/ipykernel_71/12.cc", "/tmp/ipykernel_", "ab.py"})
    EXPECT_EQ(CellOf(file), "") << file;
}

// The stacks of allocations, in their order.
std::vector<std::uint32_t> StacksOf(const std::vector<std::vector<std::string>>& stacks) {
  LogBuilder log;
  std::uint64_t address = 0x1000;
  for (const auto& stack : stacks)
    log.Alloc(Layer::kLinear, address += 0x1000, 64, {.stack = log.Stack(stack)});
  const auto session = LoadLog(log);
  std::vector<std::uint32_t> found;
  if (session == nullptr) return found;
  for (const AllocationRecord& record : session->records()) found.push_back(record.stack.value);
  return found;
}

TEST(CellsTest, RunsOfACellAreOneStack) {
  const auto stacks =
      StacksOf({{"main (a.py:1)", "<module> (<ipython-input-2-ab12>:3)", "f (b.py:7)"},
                {"main (a.py:1)", "<module> (<ipython-input-9-ab12>:3)", "f (b.py:7)"},
                {"main (a.py:1)", "<module> (<ipython-input-9-ab12>:4)", "f (b.py:7)"},
                {"main (a.py:1)", "<module> (<ipython-input-9-cd34>:3)", "f (b.py:7)"},
                {"main (a.py:1)", "<module> (<ipython-input-3-ab12>:3)"}});
  ASSERT_EQ(stacks.size(), 5u);
  EXPECT_EQ(stacks[0], stacks[1]);
  EXPECT_EQ(std::set<std::uint32_t>(stacks.begin(), stacks.end()).size(), 4u);
}

TEST(CellsTest, OtherStacksStayAsTheyAre) {
  const auto stacks = StacksOf({{"main (a.py:1)", "f (b.py:7)"}, {"main (a.py:1)", "f (b.py:8)"}});
  ASSERT_EQ(stacks.size(), 2u);
  EXPECT_NE(stacks[0], stacks[1]);
}

}  // namespace
}  // namespace memprof::analysis
