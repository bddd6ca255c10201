// What a category must not claim: more than the log proves.
#include "analysis/categories/internal/judge.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/analysis/categories/kinds_training.h"

namespace memprof::analysis {
namespace {

using testing::KindsTraining;
using testing::kWeights;

constexpr char kBackward[] = "backward (/x/torch/_tensor.py:501)";
constexpr char kWeight[] = "Parameter::Parameter (p.cc:9)";

// The program's own cudaMalloc: a table before the first step, one made in it, a buffer that each
// step replaces, and scratch.
TEST(CategoryJudgeTest, MemoryOfAnExtensionIsNoInput) {
  KindsTraining training;
  const auto make = [&training](std::uint64_t bytes, int line, Category truth) {
    return training.Make(bytes, {training.Loop(line), "Extension::Take (ext.cc:3)"}, truth,
                         Layer::kLinear);
  };
  const auto free = [&training](std::uint64_t address) {
    training.log().Free(Layer::kLinear, address);
  };
  make(900'096, 4, Category::kUnknown);
  make(kWeights[0], 5, Category::kUnknown);
  std::uint64_t buffer = make(5'120, 9, Category::kUnknown);
  training.Run({.before = [&](int step) {
    if (step == 0) make(700'416, 8, Category::kUnknown);
    free(std::exchange(buffer, make(5'120, 9, Category::kUnknown)));
    free(make(9'216, 10, Category::kWorkspaces));
  }});
  training.Expect();
}

// Two gradients of activations have the size of a weight and live on after the pass.
TEST(CategoryJudgeTest, GradientsAreNeverMoreThanParameters) {
  KindsTraining training;
  training.Run(
      {.between =
           [&](int) {
             training.Replace("inputs", {training.Make(kWeights[1], {training.Loop(12), kBackward},
                                                       Category::kTemporaries),
                                         training.Make(kWeights[1], {training.Loop(12), kBackward},
                                                       Category::kTemporaries)});
           },
       .after =
           [&](int) {
             training.Free(training.Make(1'024, {training.Loop(14)}, Category::kTemporaries));
             training.Replace("inputs", {});
           }});
  training.Expect();
}

// Without steps: one forward and one backward pass, and the program ends.
TEST(CategoryJudgeTest, GradientsOfASinglePassAreNoTemporaries) {
  KindsTraining training("main", kWeight);
  std::vector<std::uint64_t> kept;
  for (const std::uint64_t bytes : kWeights)
    kept.push_back(training.Make(bytes + 512, {training.Loop(11), "Net.forward (net.py:5)"},
                                 Category::kActivations));
  for (const std::uint64_t bytes : kWeights) {
    const std::uint64_t passing =
        training.Make(bytes + 512, {training.Loop(12), kBackward}, Category::kTemporaries);
    training.Make(bytes, {training.Loop(12), kBackward}, Category::kGradients);
    training.Free(passing);
    training.Free(kept.back());
    kept.pop_back();
  }
  // Of no size of a parameter, and never freed: it is no temporary.
  training.Make(77'824, {training.Loop(12), kBackward}, Category::kUnknown);
  training.Expect();
}

// A server without a backward pass: nothing says that its cache is data.
TEST(CategoryJudgeTest, WhatAServerKeepsIsNoInput) {
  KindsTraining training("main", kWeight);
  training.Make(900'096, {training.Loop(5), "zeros (cache.py:3)"}, Category::kUnknown);
  const std::vector<std::string> lazy = {training.Loop(11), "Net.forward (net.py:4)"};
  training.Make(600'064, lazy, Category::kUnknown);
  for (int request = 0; request < 12; ++request) {
    std::vector<std::uint64_t> made;
    for (const int line : {5, 6})
      made.push_back(training.Make(
          6'144, {training.Loop(11), "Net.forward (net.py:" + std::to_string(line) + ")"},
          line == 5 ? Category::kActivations : Category::kUnknown));
    for (const std::uint64_t address : made) training.Free(address);
  }
  training.Expect();
}

// What 'memprof leaks' reports was an activation once.
TEST(CategoryJudgeTest, WhatLeaksIsNoActivation) {
  constexpr int kMany = 40;
  KindsTraining training;
  training.Run(
      {.between =
           [&](int) {
             training.Make(9'216, {training.Loop(13), "Net.forward (net.py:9)"}, Category::kLeaks);
           }},
      kMany);
  training.Expect();
}

}  // namespace
}  // namespace memprof::analysis
