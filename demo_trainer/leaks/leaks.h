// Intentional leaks. Each kind is one function in a file of its own, in the form of real leaks, so
// that tests can check whether a profiler names its function and line.
#ifndef DEMO_TRAINER_LEAKS_LEAKS_H_
#define DEMO_TRAINER_LEAKS_LEAKS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "demo_trainer/tensor.h"

// Gives a function its own frame in stacks.
#define DEMO_NOINLINE __attribute__((noinline))

namespace memprof::demo {

struct Options;

// history: a list of losses and logits "for plotting later", never emptied.
void RememberHistory(const Tensor& loss, const Tensor& logits);

// hook: a forward hook, installed for debugging, retains activations.
void RetainActivation(const Tensor& activation);

// error-path: checks a batch with a workspace, and does not free it when it returns early.
// False when the batch was refused, which happens at every fourth step.
bool AuditBatch(const Tensor& tokens, int64_t step);
inline constexpr size_t kAuditWorkspaceBytes = 512 << 10;
inline constexpr int64_t kAuditFailsEvery = 4;

// shape-cache: a plan with a workspace for each length of batch ever seen, without bound.
void* PlanForLength(Device& device, int64_t length);
inline constexpr size_t kPlanWorkspaceBytes = 256 << 10;

// eval: evaluations keep their logits to compare them "with the next one".
void KeepEvaluation(const Tensor& logits);

// extension: an extension that allocates device memory without the framework.
void ExtensionScratch(Device& device);
inline constexpr size_t kExtensionBytes = 192 << 10;

// cycle: two nodes of a graph that own each other and that nothing else refers to.
void BuildGraphCycle(const Tensor& loss_rows);

// pinned: a staging buffer in pinned host memory for each step.
void StagePinned(const std::vector<int>& tokens);
inline constexpr size_t kPinnedBytes = 64 << 10;

// One kind, for --leak list and for tests.
struct LeakKind {
  const char* name;
  const char* function;
  const char* file;
  const char* summary;
  // Requested bytes, per optimizer step and process, averaged, with these options. Device memory
  // unless `host`.
  double (*bytes_per_step)(const Options& options);
  bool host;
};

const std::vector<LeakKind>& LeakKinds();
const LeakKind* FindLeak(const std::string& name);
// The table of --leak list.
std::string LeakTable(const Options& options);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_LEAKS_LEAKS_H_
