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

DEMO_NOINLINE void BuildGraphCycle(const Tensor& loss_rows) {
  auto forward = std::make_shared<Node>();
  auto backward = std::make_shared<Node>();
  forward->saved = loss_rows.Clone("cycle.loss_rows");
  forward->other = backward;
  backward->other = std::move(forward);  // each now keeps the other alive
}

}  // namespace memprof::demo
