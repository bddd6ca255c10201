// The leak "history".
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {

DEMO_NOINLINE void RememberHistory(const Tensor& loss, const Tensor& logits) {
  static auto& history = *new std::vector<Tensor>();
  history.push_back(loss.Clone("history.loss"));
  history.push_back(logits.Clone("history.logits"));
}

}  // namespace memprof::demo
