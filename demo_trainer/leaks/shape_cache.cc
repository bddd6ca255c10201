// The leak "shape-cache".
#include <map>
#include <utility>

#include "demo_trainer/leaks/leaks.h"

namespace memprof::demo {

DEMO_NOINLINE void* PlanForLength(Device& device, int64_t length) {
  static auto& plans = *new std::map<std::pair<int, int64_t>, void*>();
  void*& plan = plans[{device.id(), length}];
  if (plan == nullptr) {
    plan = device.allocator().Allocate(kPlanWorkspaceBytes, device.compute_stream());
  }
  return plan;
}

}  // namespace memprof::demo
