// The trie of call stacks, against a map from stack to id.
#include "libmemprof/src/stacks/stack_table.h"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "tests/libmemprof/log/with_ring.h"

namespace memprof::recorder {
namespace {

class StackTableTest : public WithRing {
 protected:
  StackTableTest() { EXPECT_TRUE(stacks_.Create()); }
  Modules modules_{&definitions_};
  StackTable stacks_{&definitions_, &modules_};
  StackCache cache_{};
};

using Stack = std::vector<void*>;

Stack RandomStack(std::mt19937* random) {
  Stack stack;
  for (std::size_t depth = 1 + (*random)() % 12, i = 0; i < depth; ++i)
    stack.push_back(reinterpret_cast<void*>(0x400000ul + 16 * ((*random)() % 4)));
  return stack;
}

TEST_F(StackTableTest, SameStackSameNodeAndTheLogHasItsFrames) {
  std::mt19937 random(1);
  std::map<Stack, std::uint32_t> reference;
  for (int i = 0; i < 20000; ++i) {
    const Stack stack = RandomStack(&random);
    const std::uint32_t node =
        stacks_.Intern(stack.data(), static_cast<int>(stack.size()), &cache_);
    ASSERT_NE(node, 0u);
    const auto [known, is_new] = reference.emplace(stack, node);
    ASSERT_EQ(known->second, node);
  }
  const testing::Log log = PublishedDefinitions(&ring_);
  EXPECT_EQ(log.nodes.size(), stacks_.nodes());
  std::set<std::uint32_t> distinct;
  for (const auto& [stack, node] : reference) {
    distinct.insert(node);
    const std::vector<testing::StackNode> frames = log.Stack(node);
    ASSERT_EQ(frames.size(), stack.size());
    for (std::size_t i = 0; i < stack.size(); ++i)
      EXPECT_EQ(frames[i].address, reinterpret_cast<std::uint64_t>(stack[i]) - 1);
  }
  EXPECT_EQ(distinct.size(), reference.size());
  // No edge is written twice.
  std::set<std::pair<std::uint32_t, std::uint64_t>> edges;
  for (const auto& [id, node] : log.nodes)
    EXPECT_TRUE(edges.emplace(node.parent, node.address).second);
}

TEST_F(StackTableTest, ThreadsAgreeOnEveryNode) {
  constexpr int kThreads = 4, kStacks = 3000;
  std::vector<std::vector<std::uint32_t>> nodes(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      std::mt19937 random(99);  // all threads insert the same stacks at about the same time
      auto cache = std::make_unique<StackCache>();
      for (int i = 0; i < kStacks; ++i) {
        const Stack stack = RandomStack(&random);
        nodes[static_cast<std::size_t>(t)].push_back(
            stacks_.Intern(stack.data(), static_cast<int>(stack.size()), cache.get()));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 1; t < kThreads; ++t) EXPECT_EQ(nodes[static_cast<std::size_t>(t)], nodes[0]);
  EXPECT_EQ(PublishedDefinitions(&ring_).nodes.size(), stacks_.nodes());
}

TEST_F(StackTableTest, FramesKnowTheirModule) {
  void* frames[] = {reinterpret_cast<void*>(&ring::PaddedRecordBytes),
                    reinterpret_cast<void*>(&std::strlen)};
  const std::uint32_t node = stacks_.Intern(frames, 2, &cache_);
  const testing::Log log = PublishedDefinitions(&ring_);
  const std::vector<testing::StackNode> stack = log.Stack(node);
  ASSERT_EQ(stack.size(), 2u);
  for (const testing::StackNode& frame : stack) {
    ASSERT_TRUE(log.modules.count(frame.module));
    const log::Module& module = log.modules.at(frame.module);
    EXPECT_GE(frame.address, module.first_address());
    EXPECT_LT(frame.address, module.end_address());
  }
}

TEST_F(StackTableTest, AnEmptyStackIsNone) { EXPECT_EQ(stacks_.Intern(nullptr, 0, &cache_), 0u); }

}  // namespace
}  // namespace memprof::recorder
