// The leak "error-path".
#include "demo_trainer/leaks/leaks.h"
#include "demo_trainer/ops/ops.h"

namespace memprof::demo {

DEMO_NOINLINE bool AuditBatch(const Tensor& tokens, int64_t step) {
  Device& device = tokens.device();
  void* workspace = device.allocator().Allocate(kAuditWorkspaceBytes, device.compute_stream());
  const Tensor counts(device, "audit.counts", DType::kFloat32, {256});
  Histogram(tokens, counts);
  const bool refused = step % kAuditFailsEvery == kAuditFailsEvery - 1;
  if (refused) return false;  // the workspace is still held
  device.allocator().Free(workspace);
  return true;
}

}  // namespace memprof::demo
