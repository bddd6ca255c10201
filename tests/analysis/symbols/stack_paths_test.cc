// Paths in tries, against plain lists of names.
#include "analysis/symbols/stack_paths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

using Numbers = std::vector<std::uint32_t>;

std::uint32_t NodeOf(PathTrie& trie, const Numbers& path) {
  std::uint32_t node = PathTrie::kRoot;
  for (const std::uint32_t name : path) node = trie.Child(node, name);
  return node;
}

TEST(PathTrieTest, OrdersPathsAsListsAreOrdered) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    PathTrie trie;
    std::map<Numbers, std::uint32_t> nodes = {{{}, PathTrie::kRoot}};
    for (int i = 0; i < 40; ++i) {
      Numbers path(random() % 6);
      for (std::uint32_t& name : path) name = random() % 3;
      const std::uint32_t node = NodeOf(trie, path);
      const auto [at, fresh] = nodes.emplace(path, node);
      ASSERT_EQ(at->second, node) << "a path is one node";
    }
    const std::vector<std::uint32_t> order = trie.Order();
    const std::uint32_t* before = nullptr;
    for (const auto& [path, node] : nodes) {
      ASSERT_LT(node, order.size());
      if (before != nullptr) {
        ASSERT_LT(order[*before], order[node]);
      }
      before = &node;
    }
  }
}

// Random stacks of a few functions with lines, innermost first.
struct Stacks {
  std::vector<std::vector<std::pair<std::string, int>>> frames;
  std::shared_ptr<const Session> session;
};

Stacks RandomStacks(std::mt19937& random) {
  Stacks stacks;
  LogBuilder log;
  for (int i = 0; i < 30; ++i) {
    auto& frames = stacks.frames.emplace_back();
    std::vector<std::string> text;
    for (std::uint32_t n = 1 + random() % 5; n > 0; --n) {
      frames.emplace_back(std::string(1, static_cast<char>('a' + random() % 4)),
                          static_cast<int>(1 + random() % 2));
      text.push_back(frames.back().first + " (x.py:" + std::to_string(frames.back().second) + ")");
    }
    log.Alloc(Layer::kLinear, 0x1000 + 0x1000u * static_cast<unsigned>(i), 64,
              {.stack = log.Stack(text)});
  }
  stacks.session = LoadLog(log);
  return stacks;
}

TEST(StackPathsTest, TwoAreTheSameWhereTheirListsAre) {
  std::mt19937 random(3);
  for (int round = 0; round < 30; ++round) {
    NameTable names;
    PathTrie functions, lines, folded;
    const Stacks stacks[] = {RandomStacks(random), RandomStacks(random)};
    std::map<std::vector<std::string>, std::uint32_t> by_functions, by_folded;
    std::map<std::vector<int>, std::uint32_t> by_lines;
    std::vector<bool> kept(4);
    for (const char* name : {"a", "b", "c", "d"}) kept[names.NumberOf(name)] = name[0] < 'c';
    for (const Stacks& run : stacks) {
      ASSERT_NE(run.session, nullptr);
      Symbols symbols(run.session);
      StackPaths paths(*run.session, symbols, names, functions, lines);
      for (std::uint32_t i = 0; i < run.frames.size(); ++i) {
        std::vector<std::string> named, of_kept;
        std::vector<int> numbers;
        for (auto frame = run.frames[i].rbegin(); frame != run.frames[i].rend(); ++frame) {
          named.push_back(frame->first);
          numbers.push_back(frame->second);
          if (frame->first < "c") of_kept.push_back(frame->first);
        }
        const StackId stack = run.session->record(AllocationId(i)).stack;
        const StackPaths::Path path = paths.Of(stack);
        EXPECT_EQ(by_functions.emplace(named, path.functions).first->second, path.functions);
        EXPECT_EQ(by_lines.emplace(numbers, path.lines).first->second, path.lines);
        const std::uint32_t common = paths.FoldedOf(stack, kept, folded);
        EXPECT_EQ(by_folded.emplace(of_kept, common).first->second, common);
      }
      EXPECT_EQ(paths.Of(StackId()), StackPaths::Path());
    }
    const auto distinct = [](const auto& by) {
      std::vector<std::uint32_t> nodes;
      for (const auto& [key, node] : by) nodes.push_back(node);
      std::sort(nodes.begin(), nodes.end());
      return std::adjacent_find(nodes.begin(), nodes.end()) == nodes.end();
    };
    EXPECT_TRUE(distinct(by_functions) && distinct(by_lines) && distinct(by_folded));
  }
}

}  // namespace
}  // namespace memprof::analysis
