// Averages gradients among the devices of one process.
#include "demo_trainer/error.h"
#include "demo_trainer/ops/ops.h"
#include "demo_trainer/profiler.h"
#include "demo_trainer/train/replica.h"

namespace memprof::demo {
namespace {

// `to` = `from`, between devices, in the order of to's stream. All other work is already done.
void CopyBetween(const Tensor& from, const Tensor& to) {
  to.device().Select();
  Check(cudaMemcpyPeerAsync(to.raw(), to.device().id(), from.raw(), from.device().id(),
                            from.bytes(), to.device().compute_stream()),
        "copying between devices");
}

}  // namespace

void AverageGradients(const std::vector<std::unique_ptr<Replica>>& replicas) {
  if (replicas.size() < 2) return;
  const profiler::Range range("all-reduce");
  for (const auto& replica : replicas) replica->device().Synchronize();
  const ParameterList& sums = replicas[0]->model().parameters();
  for (size_t i = 0; i < sums.size(); ++i) {
    const Tensor& sum = sums[i]->grad;
    const Tensor arriving(sum.device(), "all_reduce.buffer", sum.dtype(), sum.shape());
    for (size_t r = 1; r < replicas.size(); ++r) {
      CopyBetween(replicas[r]->model().parameters()[i]->grad, arriving);
      Add(sum, arriving, sum);
    }
    Scale(sum, 1.0f / static_cast<float>(replicas.size()));
  }
  replicas[0]->device().Synchronize();
  for (size_t r = 1; r < replicas.size(); ++r) {
    const ParameterList& parameters = replicas[r]->model().parameters();
    for (size_t i = 0; i < sums.size(); ++i) CopyBetween(sums[i]->grad, parameters[i]->grad);
  }
  // The memory of the sums may be reused after the return.
  for (size_t r = 1; r < replicas.size(); ++r) replicas[r]->device().Synchronize();
}

}  // namespace memprof::demo
