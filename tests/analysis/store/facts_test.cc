// Facts are computed once, whichever threads request them and in whatever order.
#include "analysis/store/facts.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "analysis/store/session.h"

namespace memprof::analysis {
namespace {

struct Answer {
  int value = 0;
};
struct Sum {
  int value = 0;
};

TEST(FactCacheTest, FindsAFactOnceHoweverManyThreadsAsk) {
  FactCache facts;
  std::atomic<int> found{0}, wrong{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i)
    threads.emplace_back([&] {
      const auto sum = facts.Get<Sum>([&] {  // needs the other fact
        return Sum{facts.Get<Answer>([&] { return Answer{40 + ++found}; })->value + 1};
      });
      const auto answer = facts.Get<Answer>([&] { return Answer{40 + ++found}; });
      wrong += sum->value != 42 || answer->value != 41;
    });
  threads.clear();
  EXPECT_EQ(found, 1);
  EXPECT_EQ(wrong, 0);
}

TEST(FactCacheTest, WhatIsDroppedIsFoundAgainAndStaysWithWhoHasIt) {
  FactCache facts;
  const auto first = facts.Get<Answer>([] { return Answer{1}; });
  facts.Forget<Sum>();
  EXPECT_EQ(facts.Get<Answer>([] { return Answer{2}; }), first);
  facts.Forget<Answer>();
  EXPECT_EQ(facts.Get<Answer>([] { return Answer{2}; })->value, 2);
  EXPECT_EQ(first->value, 1);
  facts.Clear();
  EXPECT_EQ(facts.Get<Answer>([] { return Answer{3}; })->value, 3);
}

TEST(FactCacheTest, FactsOfASessionAreFoundAnewWithItsSteps) {
  Session session{SessionData()};
  EXPECT_EQ(session.facts().Get<Answer>([] { return Answer{1}; })->value, 1);
  session.SetSteps({});
  EXPECT_EQ(session.facts().Get<Answer>([] { return Answer{2}; })->value, 2);
}

}  // namespace
}  // namespace memprof::analysis
