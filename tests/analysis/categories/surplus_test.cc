// Which gradients are too many, by hand and at random.
#include "analysis/categories/internal/surplus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

namespace memprof::analysis {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

CategoryUnit Unit(std::uint64_t bytes, std::uint32_t birth, std::uint32_t death) {
  CategoryUnit unit;
  unit.bytes = bytes;
  unit.birth = EventId(birth);
  if (death != 0) unit.death = EventId(death);
  return unit;
}

TEST(SurplusGradientsTest, ThoseThatEndFirstAreNone) {
  const std::vector<CategoryUnit> units = {Unit(4096, 0, 0),   Unit(4096, 10, 30),
                                           Unit(4096, 11, 20), Unit(4096, 21, 0),
                                           Unit(8192, 22, 0),  Unit(5 * kMiB, 23, 0)};
  const std::vector<bool> parameters = {true, false, false, false, false, false};
  const std::vector<bool> gradients = {false, true, true, true, true, true};
  EXPECT_EQ(SurplusGradients(units, parameters, gradients, std::vector<bool>(6)),
            (std::vector<bool>{false, true, true, false, true, false}))
      << "twice the bytes count as well; of an unknown size, nothing is known";
  EXPECT_EQ(
      SurplusGradients(units, parameters, gradients, {false, true, false, false, false, false}),
      (std::vector<bool>{false, false, true, true, true, false}));
}

TEST(SurplusGradientsTest, SizesThatTheRestOfABlockExplainsAreOne) {
  const std::vector<CategoryUnit> units = {Unit(4 * kMiB, 0, 0), Unit(5 * kMiB - 512, 1, 0),
                                           Unit(4 * kMiB, 2, 0), Unit(5 * kMiB - 512, 3, 0),
                                           Unit(4 * kMiB + 512, 4, 0)};
  const std::vector<bool> surplus =
      SurplusGradients(units, {true, true, false, false, false}, {false, false, true, true, true},
                       std::vector<bool>(5));
  EXPECT_EQ(std::count(surplus.begin(), surplus.end(), true), 1);
}

TEST(SurplusGradientsTest, AtNoTimeMoreThanParameters) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<CategoryUnit> units;
    std::vector<bool> parameters, gradients, held;
    std::map<std::uint64_t, int> count;
    for (std::uint32_t i = 0; i < 60; ++i) {
      const std::uint64_t bytes = 4096 << (2 * (random() % 3) + 1);
      const bool parameter = i < 10;
      units.push_back(Unit(bytes, i, parameter ? 0 : i + 1 + random() % 20));
      parameters.push_back(parameter);
      gradients.push_back(!parameter && random() % 4 != 0);
      held.push_back(random() % 2 == 0);
      count[bytes] += parameter;
    }
    const std::vector<bool> surplus = SurplusGradients(units, parameters, gradients, held);
    for (std::uint32_t at = 0; at < 60; ++at) {
      std::map<std::uint64_t, int> live;
      for (std::uint32_t i = 0; i <= at; ++i)
        live[units[i].bytes] += gradients[i] && !surplus[i] && units[i].death.value > at ? 1 : 0;
      for (const auto& [bytes, most] : count)
        if (most > 0) {
          EXPECT_LE(live[bytes], most) << "round " << round << " at " << at;
        }
    }
    for (std::size_t i = 0; i < 60; ++i) EXPECT_FALSE(surplus[i] && !gradients[i]);
  }
}

}  // namespace
}  // namespace memprof::analysis
