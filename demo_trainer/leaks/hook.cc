// The leak "hook".
#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {

DEMO_NOINLINE void RetainActivation(const Tensor& activation) {
  static auto& seen = *new std::vector<Tensor>();
  seen.push_back(activation.Clone("hook.activation"));
}

}  // namespace memprof::demo
