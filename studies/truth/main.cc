// Prints how often analysis is right on logs of programs that mark their steps and name their
// tensors.
// usage: truth [--mistakes] LOG...
#include <cstdio>
#include <string>

#include "analysis/load/load.h"
#include "studies/truth/truth.h"

namespace memprof::truth {
namespace {

void PrintMistakes(const CategoryScore& score) {
  for (std::size_t t = 0; t < analysis::kCategoryCount; ++t) {
    for (std::size_t s = 0; s < analysis::kCategoryCount; ++s) {
      const double share = static_cast<double>(score.mistaken[t][s]) /
                           static_cast<double>(score.total == 0 ? 1 : score.total);
      if (share < 0.005) continue;
      const auto name = [](std::size_t c) {
        return std::string(analysis::CategoryName(static_cast<analysis::Category>(c)));
      };
      std::printf("      %.1f %%: %s taken for %s\n", 100 * share, name(t).c_str(),
                  name(s).c_str());
    }
  }
}

int Print(const std::string& path, bool mistakes) {
  const auto session = analysis::LoadLogs({path}, {.find_steps = false});
  if (!session.ok()) {
    std::fprintf(stderr, "%s\n", std::string(session.status().message()).c_str());
    return 1;
  }
  std::printf("%s\n", path.c_str());
  const StepScore steps = ScoreSteps(**session);
  std::printf("  steps: %zu marked, %zu found, %zu right, confidence %.2f\n", steps.marked,
              steps.found, steps.right, steps.confidence);
  analysis::Symbols symbols(*session);
  for (const Evidence& evidence : EvidenceLeft()) {
    const CategoryScores scores = ScoreCategories(**session, symbols, evidence);
    std::printf("  %-14s %5.1f %% of the bytes at the peak right, %5.1f %% of the run's\n",
                std::string(evidence.name).c_str(), 100 * scores.at_peaks.Share(),
                100 * scores.of_run.Share());
    if (mistakes) PrintMistakes(scores.at_peaks);
  }
  return 0;
}

}  // namespace
}  // namespace memprof::truth

int main(int argc, char** argv) {
  const bool mistakes = argc > 1 && std::string(argv[1]) == "--mistakes";
  int status = argc < 2 ? 2 : 0;
  for (int i = mistakes ? 2 : 1; i < argc; ++i) status |= memprof::truth::Print(argv[i], mistakes);
  return status;
}
