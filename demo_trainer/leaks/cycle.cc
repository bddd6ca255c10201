// The leak "cycle".
#include <memory>
#include <utility>

#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {
namespace {

struct Node {
  Tensor saved;
  std::shared_ptr<Node> other;
};

}  // namespace

// The nodes themselves are a leak of host memory, which the leak sanitizer need not report.
extern "C" const char* __lsan_default_suppressions() { return "leak:BuildGraphCycle\n"; }

DEMO_NOINLINE void BuildGraphCycle(const Tensor& loss_rows) {
  auto forward = std::make_shared<Node>();
  auto backward = std::make_shared<Node>();
  forward->saved = loss_rows.Clone("cycle.loss_rows");
  forward->other = backward;
  backward->other = std::move(forward);  // each now owns the other
}

}  // namespace memprof::demo
