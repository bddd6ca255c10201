// Steps of loops of many shapes and lengths, all without step marks.
#include "tests/analysis/steps/step_shapes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "analysis/steps/found.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;
using testing::StepShape;

struct Outcome {
  std::size_t found = 0, at_their_places = 0;
  double confidence = 0;
  bool used = false;
  std::string why;
};

Outcome Judge(const StepShape& shape, std::uint32_t seed, int iterations, Layer layer) {
  LogBuilder log;
  const std::vector<std::uint32_t> truth =
      WriteStepShape(shape.name, seed, iterations, layer, &log);
  const auto session = LoadLog(log);
  const FoundSteps found = FindSteps(*session, StepChoice::kPattern);
  Outcome outcome{.found = found.steps.size(),
                  .confidence = found.origin.confidence,
                  .used = found.origin.confidence >= kStepConfidence,
                  .why = found.origin.why};
  std::vector<std::uint32_t> births;
  std::uint32_t row = 0;
  for (const StepInfo& step : found.steps) {
    while (row < session->records().size() && session->records()[row].birth < step.event) ++row;
    births.push_back(row);
  }
  for (const std::uint32_t begin : truth)
    outcome.at_their_places += std::binary_search(births.begin(), births.end(), begin) ? 1 : 0;
  return outcome;
}

bool Right(const StepShape& shape, const Outcome& outcome, int iterations) {
  if (!shape.steps) return !outcome.used;
  return outcome.used && outcome.found + 1 >= static_cast<std::size_t>(iterations) &&
         outcome.found <= static_cast<std::size_t>(iterations) + 1;
}

// STEP_SHAPES_ITERATIONS=12,40,… prints a table of every shape and length.
TEST(StepShapesTest, StepsAreFoundAndUsed) {
  std::vector<int> lengths = {12, 40};
  const char* const wanted = std::getenv("STEP_SHAPES_ITERATIONS");
  if (wanted != nullptr) {
    lengths.clear();
    for (const char* at = wanted; *at != '\0';) {
      char* end = nullptr;
      lengths.push_back(static_cast<int>(std::strtol(at, &end, 10)));
      at = *end == ',' ? end + 1 : end;
    }
  }
  for (const StepShape& shape : testing::StepShapes()) {
    for (const int iterations : lengths) {
      for (const Layer layer : {Layer::kLinear, Layer::kBlock}) {
        for (std::uint32_t seed = 1; seed <= 2; ++seed) {
          const Outcome outcome = Judge(shape, seed, iterations, layer);
          const bool right = Right(shape, outcome, iterations);
          if (wanted != nullptr)
            std::printf("SHAPE|%s|%d|%s|%u|%zu|%zu|%.2f|%s\n", std::string(shape.name).c_str(),
                        iterations, layer == Layer::kBlock ? "block" : "cuda", seed, outcome.found,
                        outcome.at_their_places, outcome.confidence, right ? "right" : "WRONG");
          EXPECT_TRUE(right) << shape.name << ", " << iterations << " iterations, seed " << seed
                             << ": " << outcome.found << " found, confidence " << outcome.confidence
                             << "; " << outcome.why;
        }
      }
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
