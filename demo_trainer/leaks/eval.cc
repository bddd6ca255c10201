// The leak "eval".
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {

DEMO_NOINLINE void KeepEvaluation(const Tensor& logits) {
  static auto& evaluations = *new std::vector<Tensor>();
  evaluations.push_back(logits.Clone("eval.logits"));
}

}  // namespace memprof::demo
