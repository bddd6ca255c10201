// Compares results of the analysis with the true values.
#include "studies/truth/truth.h"

#include <algorithm>

#include "analysis/categories/words.h"
#include "analysis/peak/peak.h"
#include "analysis/steps/figures.h"
#include "analysis/steps/found.h"

namespace memprof::truth {
namespace {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::Categories;
using analysis::Category;
using analysis::Session;

// The number of allocations of the step layer before each step.
std::vector<std::size_t> BirthsBefore(const Session& session,
                                      std::span<const analysis::StepInfo> steps) {
  const analysis::StepLayer layer = analysis::ChooseStepLayer(session);
  std::vector<std::size_t> births;
  for (const analysis::StepInfo& step : steps) {
    std::size_t count = 0;
    for (const AllocationRecord& a : session.records()) {
      if (a.birth >= step.event) break;
      count += analysis::IsOfStepLayer(layer, a.layer) ? 1 : 0;
    }
    births.push_back(count);
  }
  return births;
}

void Add(const Session& session, const Categories& categories, AllocationId id,
         CategoryScore* score) {
  const AllocationRecord& tensor = session.record(id);
  const analysis::TensorInfo* info = session.tensor(tensor.tensor());
  if (info == nullptr) return;
  const Category truth = analysis::CategoryOfTensorName(info->name);
  if (truth == Category::kUnknown) return;
  const Category said = categories.Of(id).category;
  if (said == Category::kLeaks) return;  // whatever it was made for
  score->total += tensor.bytes;
  if (said == truth) {
    score->right += tensor.bytes;
  } else {
    score->mistaken[static_cast<std::size_t>(truth)][static_cast<std::size_t>(said)] +=
        tensor.bytes;
  }
}

}  // namespace

StepScore ScoreSteps(const Session& session) {
  const analysis::FoundSteps found = analysis::FindSteps(session, analysis::StepChoice::kPattern);
  const std::vector<std::size_t> truth = BirthsBefore(session, session.steps());
  const std::vector<std::size_t> births = BirthsBefore(session, found.steps);
  StepScore score{truth.size(), births.size(), 0, found.origin.confidence};
  for (const std::size_t birth : births)
    score.right += std::find(truth.begin(), truth.end(), birth) != truth.end() ? 1 : 0;
  return score;
}

std::vector<Evidence> EvidenceLeft() {
  return {{"all but names", {.names = false}},
          {"- symbols", {.names = false, .symbols = false}},
          {"- ranges", {.names = false, .ranges = false}},
          {"- both", {.names = false, .symbols = false, .ranges = false}},
          {"- and marks", {.names = false, .symbols = false, .ranges = false}, false},
          {"- and stacks",
           {.names = false, .symbols = false, .ranges = false, .stacks = false},
           false}};
}

CategoryScores ScoreCategories(const Session& session, analysis::Symbols& symbols,
                               const Evidence& evidence) {
  analysis::CategoryOptions options = evidence.options;
  analysis::FoundSteps found;
  if (!evidence.marks) {
    found = analysis::FindSteps(session, analysis::StepChoice::kPattern);
    options.steps = &found.steps;
  }
  const Categories categories(session, &symbols, options);
  CategoryScores scores;
  for (const analysis::Peak& peak : analysis::FindPeaks(session))
    for (const AllocationId id : peak.tensors) Add(session, categories, id, &scores.at_peaks);
  for (std::uint32_t i = 0; i < session.records().size(); ++i)
    if (session.records()[i].layer == analysis::Layer::kTensor)
      Add(session, categories, AllocationId(i), &scores.of_run);
  return scores;
}

}  // namespace memprof::truth
