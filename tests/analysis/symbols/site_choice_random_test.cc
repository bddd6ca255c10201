#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "tests/analysis/symbols/site_choice_fixture.h"

namespace memprof::analysis {
namespace {

using testing::NamedStack;
using testing::SessionOf;

// ---------------------------------------------------------------------------------------------
// The reference: the rule of the header, with sets and loops over names.

bool ReferencePlumbing(const std::string& function) { return function[0] == '!'; }
// The function that `!` stands for in the log.
std::string InLog(const std::string& function) {
  return ReferencePlumbing(function) ? "std::plumbing" + function.substr(1) : function;
}

char ReferenceGroup(Layer layer) {
  return layer == Layer::kBlock ? 'b' : layer == Layer::kTensor ? 't' : 'd';
}

// "K3" of "K3::Make"; classes of the reference are one scope deep.
std::string ReferenceClass(const std::string& function) {
  const std::size_t scope = function.find("::");
  return scope == std::string::npos ? "" : function.substr(0, scope);
}

std::vector<std::string> ReferencePlaces(const NamedStack& stack) {
  std::vector<std::string> places;
  for (const std::string& function : stack.functions)
    if (!ReferencePlumbing(function)) places.push_back(function);
  return places;
}

// How many places of `asked` are wrappers. All functions in these logs have one line.
std::size_t ReferenceWrappers(const std::vector<NamedStack>& stacks, const NamedStack& asked) {
  const std::vector<std::string> places = ReferencePlaces(asked);
  std::size_t passed = 0;
  for (std::size_t i = 0; i + 1 < places.size() && i < 6 && i <= passed + 2; ++i) {
    std::set<std::string> callers;
    for (const NamedStack& stack : stacks) {
      const std::vector<std::string> others = ReferencePlaces(stack);
      if (others.size() > i + 1 &&
          std::equal(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                     others.begin()) &&
          others[i + 1] != places[i])
        callers.insert(others[i + 1]);
    }
    if (callers.size() >= (i == passed ? 2u : 3u)) passed = i + 1;
  }
  return passed;
}

std::string ReferenceSite(const std::vector<NamedStack>& stacks, const NamedStack& asked,
                          bool with_doors = true) {
  // Distinct stacks of the group of `asked`; a stack belongs to the group of its first allocation.
  std::set<std::vector<std::string>> seen, group;
  for (const NamedStack& stack : stacks)
    if (seen.insert(stack.functions).second &&
        ReferenceGroup(stack.layer) == ReferenceGroup(asked.layer))
      group.insert(stack.functions);
  const auto passing = [&group](const std::string& function) {
    return std::count_if(group.begin(), group.end(), [&function](const auto& functions) {
      return std::find(functions.begin(), functions.end(), function) != functions.end();
    });
  };
  std::string rarest, open;
  std::size_t wrappers = ReferenceWrappers(stacks, asked);
  for (const std::string& function : asked.functions) {
    if (ReferencePlumbing(function)) continue;
    if (wrappers > 0) {
      --wrappers;
      if (function == ReferenceClass(function) + "::" + ReferenceClass(function))
        open = ReferenceClass(function);
      continue;
    }
    const bool rare =
        4.0 * static_cast<double>(passing(function)) <= static_cast<double>(group.size());
    const std::string scope = ReferenceClass(function);
    const bool door = with_doors && !scope.empty() && scope == open;
    if (group.size() < 4 || (rare && !door)) return function;
    if (!rare && !door) open = function == scope + "::" + scope ? scope : "";
    if (rarest.empty() || passing(function) < passing(rarest)) rarest = function;
  }
  return rarest.empty() ? asked.functions.front() : rarest;
}

// Innermost first; often begins with a constructor and another member of its class.
template <typename Draw>
std::vector<std::string> RandomFunctions(Draw draw, int names) {
  std::vector<std::string> functions;
  const std::string scope = draw(4) == 0 ? "K1" : "K0";
  if (draw(2) == 0) functions.push_back(scope + "::" + scope);
  for (int depth = 1 + draw(5); depth > 0; --depth) {
    const std::string name = std::to_string(draw(names));
    const int kind = draw(6);
    functions.push_back(kind == 0 ? "!" + name : kind < 3 ? scope + "::m" + name : "f" + name);
  }
  return functions;
}

TEST(SiteChoiceTest, EqualsItsBruteForceTwin) {
  std::mt19937 random(77);
  const auto draw = [&random](int n) {
    return static_cast<int>(random() % static_cast<unsigned>(n));
  };
  int innermost = 0, shared = 0, plumbing = 0, doors = 0;
  for (int round = 0; round < 150; ++round) {
    std::vector<NamedStack> stacks, in_log;
    const int count = 1 + draw(25), names = 1 + draw(12);
    for (int i = 0; i < count; ++i) {
      constexpr Layer kLayers[] = {Layer::kLinear, Layer::kBlock, Layer::kTensor, Layer::kManaged};
      NamedStack stack{kLayers[draw(4)], {}};
      stack.functions = RandomFunctions(draw, names);
      // The same stack may allocate in two layers; its first allocation determines its group.
      const auto same = std::find_if(stacks.begin(), stacks.end(), [&stack](const NamedStack& s) {
        return s.functions == stack.functions;
      });
      if (same != stacks.end()) stack.layer = same->layer;
      stacks.push_back(stack);
      for (std::string& function : stack.functions) function = InLog(function);
      in_log.push_back(stack);
    }
    const auto session = SessionOf(in_log);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      const std::string expected = ReferenceSite(stacks, stacks[i]);
      ASSERT_EQ(symbols.Site(session->allocations()[i].stack).function, InLog(expected))
          << "round " << round << " stack " << i;
      innermost += expected == stacks[i].functions.front();
      shared += expected != stacks[i].functions.front();
      plumbing += ReferencePlumbing(expected);
      doors += expected != ReferenceSite(stacks, stacks[i], false);
    }
  }
  // The traces cover every case of the rule.
  EXPECT_GT(innermost, 100);
  EXPECT_GT(shared, 100);
  EXPECT_GT(plumbing, 5);
  EXPECT_GT(doors, 20);
}

}  // namespace
}  // namespace memprof::analysis
