// Calls of forward(), from the lines on stacks.
#include "analysis/remedies/internal/invocations.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_log.h"

namespace memprof::analysis::remedies {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

// (pass, number of blocks) of each call of Block.forward; `lines`: (pass, line) of its allocations.
std::vector<std::pair<std::uint32_t, std::size_t>> CallsOf(
    const std::vector<std::pair<std::uint32_t, int>>& lines) {
  LogBuilder log;
  std::uint64_t address = 0;
  for (const auto& [pass, line] : lines)
    log.Alloc(Layer::kBlock, address += 4096, 512,
              {.stack = log.Stack({"main (train.py:7)",
                                   "Block.forward (model.py:" + std::to_string(line) + ")"})});
  const auto session = LoadLog(log);
  if (session == nullptr) return {};
  Symbols symbols(session);
  Training training;
  for (std::uint32_t i = 0; i < lines.size(); ++i) {
    Block block;
    block.id = AllocationId(i);
    block.part = Part::kForward;
    block.pass = lines[i].first;
    block.stack = session->record(block.id).stack;
    training.blocks.push_back(block);
  }
  std::vector<std::pair<std::uint32_t, std::size_t>> calls;
  for (const Invocation& one : FindInvocations({*session, symbols, training}).list)
    calls.emplace_back(one.pass, one.blocks.size());
  return calls;
}

using Calls = std::vector<std::pair<std::uint32_t, std::size_t>>;

TEST(InvocationsTest, ACallEndsWhereTheFunctionIsBackAtItsFirstLine) {
  EXPECT_EQ(CallsOf({{0, 11}, {0, 12}, {0, 13}, {0, 11}, {0, 13}}), (Calls{{0, 3}, {0, 2}}));
}

TEST(InvocationsTest, ACallEndsWithItsPass) {
  // The second pass skips what the first one began with.
  EXPECT_EQ(CallsOf({{0, 11}, {0, 13}, {1, 13}, {1, 14}}), (Calls{{0, 2}, {1, 2}}));
}

}  // namespace
}  // namespace memprof::analysis::remedies
