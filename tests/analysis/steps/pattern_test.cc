// Windows and periods of token streams, against simple counting and against known steps.
#include "analysis/steps/internal/pattern.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "analysis/steps/internal/windows.h"

namespace memprof::analysis {
namespace {

using Counts = std::map<std::uint32_t, std::uint32_t>;

// The same figures, computed with maps.
WindowLikeness PlainLikeness(const TokenStream& stream, const std::vector<std::uint32_t>& begins,
                             std::uint32_t end) {
  std::vector<Counts> windows;
  for (std::size_t w = 0; w < begins.size(); ++w) {
    Counts counts;
    for (std::uint32_t p = begins[w]; p < (w + 1 < begins.size() ? begins[w + 1] : end); ++p)
      ++counts[stream.token[p]];
    windows.push_back(counts);
  }
  Counts typical;
  for (std::uint32_t t = 0; t < stream.distinct; ++t) {
    std::vector<std::uint32_t> all;
    for (Counts& window : windows) all.push_back(window.contains(t) ? window[t] : 0);
    std::sort(all.begin(), all.end());
    typical[t] = all.empty() ? 0 : all[(all.size() - 1) / 2];
  }
  WindowLikeness result;
  for (const auto& [t, count] : typical) result.typical += count;
  double weighted = 0, tokens = 0;
  for (Counts& window : windows) {
    double least = 0, most = 0, size = 0;
    for (std::uint32_t t = 0; t < stream.distinct; ++t) {
      const std::uint32_t count = window.contains(t) ? window[t] : 0;
      least += std::min(count, typical[t]);
      most += std::max(count, typical[t]);
      size += count;
    }
    result.likeness.push_back(most == 0 ? 1 : least / most);
    weighted += result.likeness.back() * size;
    tokens += size;
  }
  std::vector<double> sorted = result.likeness;
  std::sort(sorted.begin(), sorted.end());
  if (!sorted.empty()) result.common = sorted[std::min(sorted.size() - 1, sorted.size() * 3 / 5)];
  if (tokens > 0) result.weighted = weighted / tokens;
  return result;
}

TEST(StepWindowsTest, LikenessIsThatOfPlainCounting) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 200; ++trial) {
    TokenStream stream;
    const std::uint32_t size = random() % 120, kinds = 1 + random() % 9;
    for (std::uint32_t i = 0; i < size; ++i) stream.Add(random() % kinds, 0);
    std::vector<std::uint32_t> begins;
    for (std::uint32_t p = random() % 10; p < size; p += 1 + random() % 20) begins.push_back(p);
    const std::uint32_t end = begins.empty() ? size : begins.back() + (size - begins.back()) / 2;
    const WindowLikeness found = CompareWindows(stream, begins, end);
    const WindowLikeness plain = PlainLikeness(stream, begins, end);
    EXPECT_EQ(found.typical, plain.typical);
    ASSERT_EQ(found.likeness.size(), plain.likeness.size());
    for (std::size_t w = 0; w < found.likeness.size(); ++w)
      EXPECT_DOUBLE_EQ(found.likeness[w], plain.likeness[w]);
    EXPECT_DOUBLE_EQ(found.common, plain.common);
    EXPECT_NEAR(found.weighted, plain.weighted, 1e-12);
  }
}

TEST(StepWindowsTest, IndexHasEveryPosition) {
  TokenStream stream;
  for (const std::uint32_t t : {2u, 0u, 2u, 2u, 0u}) stream.Add(t, 0);
  const TokenIndex index(stream);
  const auto of = [&](std::uint32_t t) {
    const auto positions = index.Of(t);
    return std::vector<std::uint32_t>(positions.begin(), positions.end());
  };
  EXPECT_EQ(of(0), (std::vector<std::uint32_t>{1, 4}));
  EXPECT_EQ(of(1), (std::vector<std::uint32_t>{}));
  EXPECT_EQ(of(2), (std::vector<std::uint32_t>{0, 2, 3}));
}

// A stream of steps: layers forwards and backwards, micro-batches, an optimizer, evaluations.
struct Shape {
  unsigned steps = 10, layers = 3, kinds = 4, micro_batches = 1, evaluate_every = 0, set_up = 20;
  bool leak = false;
};

class Maker {
 public:
  explicit Maker(const Shape& shape) : shape_(shape) {}
  TokenStream Make(std::vector<std::uint32_t>* begins) {
    for (unsigned i = 0; i < shape_.set_up; ++i) Take(i % 7, 1000 + i);
    for (unsigned step = 0; step < shape_.steps; ++step) {
      begins->push_back(stream_.size());
      std::uint64_t gradients = 0;
      for (unsigned i = 0; i < shape_.micro_batches; ++i) gradients += MicroBatch(i == 0);
      for (unsigned l = 0; step == 0 && l < shape_.layers; ++l) Take(200, 5000);
      Take(201, 0);
      live_ -= gradients;
      if (shape_.evaluate_every > 0 && step % shape_.evaluate_every == shape_.evaluate_every - 1)
        Evaluate();
    }
    return std::move(stream_);
  }

 private:
  static std::uint64_t Bytes(unsigned token) { return 512 * (1 + token * 31 % 97); }
  void Take(unsigned token, std::uint64_t bytes) {
    stream_.Add(token, live_);
    live_ += bytes;
  }
  // Returns the bytes of gradients that stay until the optimizer.
  std::uint64_t MicroBatch(bool first) {
    std::uint64_t activations = 4096, gradients = 0;
    Take(10, 4096);
    for (unsigned i = 0; i < shape_.layers * shape_.kinds; ++i) {
      Take(20 + i % shape_.kinds, Bytes(i));
      activations += Bytes(i);
    }
    if (shape_.leak && first) Take(11, 3000);
    for (unsigned i = shape_.layers * shape_.kinds; i-- > 0;) {
      Take(60 + i % shape_.kinds, 0);
      live_ -= Bytes(i);
      activations -= Bytes(i);
      if (!first || i % shape_.kinds != 0) continue;
      Take(100 + i % 3, 20'000);
      gradients += 20'000;
    }
    live_ -= activations;
    return gradients;
  }
  void Evaluate() {
    const std::uint64_t before = live_;
    for (unsigned i = 0; i < shape_.layers * shape_.kinds; ++i)
      Take(300 + i % shape_.kinds, Bytes(i));
    live_ = before;
  }

  const Shape shape_;
  TokenStream stream_;
  std::uint64_t live_ = 0;
};

TEST(StepPatternTest, FindsEveryStepOfRandomTrainings) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 200; ++trial) {
    Shape shape;
    shape.steps = 4 + random() % 60;
    shape.layers = 1 + random() % 12;
    shape.kinds = 3 + random() % 10;
    shape.set_up = random() % 60;
    if (random() % 3 == 0) shape.micro_batches = 2 + random() % 6;
    if (random() % 3 == 0) shape.evaluate_every = 3 + random() % 5;
    shape.leak = random() % 4 == 0;
    std::vector<std::uint32_t> truth;
    const TokenStream stream = Maker(shape).Make(&truth);
    const Period period = FindPeriod(stream);
    EXPECT_EQ(period.begins, truth)
        << shape.steps << " steps, " << shape.layers << " layers, " << shape.kinds << " kinds, "
        << shape.micro_batches << " micro-batches, evaluation " << shape.evaluate_every << ", leak "
        << shape.leak;
    EXPECT_GE(period.confidence, shape.steps < 8 ? 0.5 : 0.75) << shape.steps;
  }
}

TEST(StepPatternTest, ChanceHasNoSteps) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 200; ++trial) {
    TokenStream stream;
    const std::uint32_t kinds = 1 + random() % (trial % 2 == 0 ? 8 : 200);
    const std::uint32_t size = random() % 5000;
    const std::size_t most = 1 + random() % 100;
    std::vector<std::uint64_t> live;
    std::uint64_t level = 0;
    for (std::uint32_t i = 0; i < size; ++i) {
      const std::uint32_t token = random() % kinds;
      stream.Add(token, level);
      live.push_back(512 * (1 + token % 17));
      level += live.back();
      while (live.size() > most || (random() % 3 == 0 && !live.empty())) {
        std::swap(live[random() % live.size()], live.back());
        level -= live.back();
        live.pop_back();
      }
    }
    EXPECT_LT(FindPeriod(stream).confidence, 0.6) << "trial " << trial;
  }
}

TEST(StepPatternTest, WhatIsKeptForGoodIsNoStep) {
  TokenStream stream;  // the layers of a model are created
  for (std::uint32_t i = 0; i < 400; ++i) stream.Add(i % 10, 1000 * i);
  EXPECT_LT(FindPeriod(stream).confidence, 0.75);
}

TEST(StepPatternTest, ShortAndEmptyStreams) {
  EXPECT_TRUE(FindPeriod(TokenStream()).begins.empty());
  TokenStream stream;
  for (std::uint32_t i = 0; i < 5; ++i) stream.Add(0, 0);
  EXPECT_TRUE(FindPeriod(stream).begins.empty());
  EXPECT_EQ(FindPeriod(stream).confidence, 0);
}

// If gradients stay from step to step, micro-batches and steps look equally complete; a hint from
// the optimizer's runs decides.
TEST(StepPatternTest, AHintDistinguishesStepsFromMicroBatches) {
  TokenStream stream;
  std::vector<std::uint32_t> steps;
  constexpr std::uint32_t kSteps = 10, kMicroBatches = 16, kLayers = 30;
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    steps.push_back(stream.size());
    for (std::uint32_t micro = 0; micro < kMicroBatches; ++micro)
      for (std::uint32_t i = 0; i < 2 * kLayers; ++i)
        stream.Add(i == 0 ? 0 : 1 + i % 7, 1000 * (i < kLayers ? i : 2 * kLayers - i));
    stream.Add(50, 0);
  }
  EXPECT_EQ(FindPeriod(stream).begins.size(), kSteps * kMicroBatches);
  EXPECT_EQ(FindPeriod(stream, kSteps).begins, steps);
}

}  // namespace
}  // namespace memprof::analysis
