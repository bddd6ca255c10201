// Evidence from random call stacks, against reading each stack separately.
#include "analysis/categories/stacks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using Facts = CategoryStacks::Facts;

struct Word {
  const char* frame;
  Phase says = Phase::kNone;
  const char* own = "";  // the function if it belongs to the program; all its lines have this name
  bool zeros = false;
};
constexpr Word kWords[] = {
    {"main (train.py:1)", Phase::kNone, "main"},
    {"helper (train.py:40)", Phase::kNone, "helper"},
    {"forward (net.py:5)", Phase::kForward, "forward"},
    {"forward (net.py:6)", Phase::kForward, "forward"},
    {"backward (/x/site-packages/torch/_tensor.py:500)", Phase::kBackward},
    {"optimize_model (train.py:3)", Phase::kOptimizer, "optimize_model"},
    {"optimize_model (train.py:9)", Phase::kOptimizer, "optimize_model"},
    {"optimize_model (other.py:3)", Phase::kOptimizer, "optimize_model of other.py"},
    {"step (/x/site-packages/torch/optim/adam.py:7)", Phase::kOptimizer},
    {"zeros_like (/x/site-packages/torch/functional.py:3)", Phase::kNone, "", true},
    {"initgrad (net.py:8)", Phase::kGradient, "initgrad"},
    {"load_state_dict (/x/site-packages/torch/serialization.py:2)", Phase::kParameter},
};
using Stack = std::vector<std::size_t>;  // of kWords, outermost first

// Functions of the program with a name like an optimizer's, in which a forward or backward pass
// runs in some stack.
std::set<std::string> Doubted(const std::vector<Stack>& stacks) {
  std::set<std::string> doubted;
  for (const Stack& stack : stacks)
    for (std::size_t outer = 0; outer < stack.size(); ++outer)
      for (std::size_t inner = outer + 1; inner < stack.size(); ++inner)
        if (const Phase pass = kWords[stack[inner]].says;
            kWords[stack[outer]].says == Phase::kOptimizer && *kWords[stack[outer]].own != '\0' &&
            (pass == Phase::kForward || pass == Phase::kBackward))
          doubted.insert(kWords[stack[outer]].own);
  return doubted;
}

Facts Read(const Stack& stack, const std::set<std::string>& doubted) {
  const auto is_phase = [&](std::size_t word) {
    const Word& w = kWords[word];
    if (w.says == Phase::kOptimizer) return !doubted.contains(w.own);
    return w.says == Phase::kForward || w.says == Phase::kBackward;
  };
  const auto has = [](auto from, auto to, Phase phase) {
    return std::any_of(from, to, [&](std::size_t word) { return kWords[word].says == phase; });
  };
  const auto at = std::find_if(stack.rbegin(), stack.rend(), is_phase);
  Facts facts;
  if (at != stack.rend()) facts.phase = kWords[*at].says;
  facts.gradient = has(stack.rbegin(), at, Phase::kGradient);
  facts.parameter = has(stack.rbegin(), at, Phase::kParameter);
  facts.backward = has(stack.begin(), stack.end(), Phase::kBackward);
  facts.zeros =
      std::any_of(stack.rbegin(), at, [](std::size_t word) { return kWords[word].zeros; });
  return facts;
}

// The position, counted from the innermost frame, of the first frame that at most a quarter of the
// stacks contain.
std::size_t Site(const Stack& stack, const std::vector<Stack>& stacks) {
  if (stacks.size() < 8) return 0;
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const std::size_t word = stack[stack.size() - 1 - i];
    const auto sharing = std::count_if(stacks.begin(), stacks.end(), [word](const Stack& other) {
      return std::find(other.begin(), other.end(), word) != other.end();
    });
    if (static_cast<std::size_t>(sharing) * 4 <= stacks.size()) return i;
  }
  return stack.size();
}

TEST(CategoryStacksTest, RandomStacks) {
  std::mt19937 random(5);
  std::set<Phase> seen;
  bool some_doubted = false, some_site_behind = false;
  for (int round = 0; round < 60; ++round) {
    std::set<Stack> made;
    for (int i = 0; i < 3 + round; ++i) {
      Stack stack(1 + random() % 5);
      for (std::size_t& word : stack) word = random() % std::size(kWords);
      made.insert(stack);
    }
    const std::vector<Stack> stacks(made.begin(), made.end());
    LogBuilder log;
    log.Device(0, 1 << 30);
    for (std::size_t i = 0; i < stacks.size() * 2; ++i) {  // each of them twice
      std::vector<std::string> frames;
      for (const std::size_t word : stacks[i / 2]) frames.emplace_back(kWords[word].frame);
      log.Alloc(Layer::kLinear, 0x1000 * (i + 1), 512, {.stack = log.Stack(frames)});
    }
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    const std::vector<CategoryUnit> units = FindCategoryUnits(*session, {});
    ASSERT_EQ(units.size(), stacks.size() * 2);
    const CategoryStacks read(*session, &symbols, units);
    const std::set<std::string> doubted = Doubted(stacks);
    some_doubted |= !doubted.empty();
    bool parameters = false, backward = false;
    for (std::size_t i = 0; i < units.size(); ++i) {
      const Stack& stack = stacks[i / 2];
      const Facts& facts = read.Of(units[i].stack);
      const Facts expected = Read(stack, doubted);
      std::string where;
      for (const std::size_t word : stack) where += std::string(kWords[word].frame) + "; ";
      EXPECT_EQ(facts.phase, expected.phase) << where;
      EXPECT_EQ(facts.gradient, expected.gradient) << where;
      EXPECT_EQ(facts.parameter, expected.parameter) << where;
      EXPECT_EQ(facts.backward, expected.backward) << where;
      EXPECT_EQ(facts.zeros, expected.zeros) << where;
      const std::vector<FrameId> frames = session->StackFrames(units[i].stack);
      const std::size_t site = Site(stack, stacks);
      some_site_behind |= site > 0;
      EXPECT_EQ(facts.site, site < frames.size() ? frames[site].value : CategoryStacks::kNone)
          << where;
      parameters |= facts.parameter;
      backward |= facts.backward;
      seen.insert(facts.phase);
    }
    EXPECT_EQ(read.identify_parameters(), parameters);
    EXPECT_EQ(read.identify_backward(), backward);
  }
  EXPECT_TRUE(some_doubted && some_site_behind);
  EXPECT_EQ(seen.size(), 4u) << "none, forward, backward, optimizer";
}

}  // namespace
}  // namespace memprof::analysis
