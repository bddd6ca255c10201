// The table of leaks, with the bytes of each.
#include <algorithm>
#include <cstdio>

#include "demo_trainer/leaks/leaks.h"
#include "demo_trainer/options.h"

namespace memprof::demo {
namespace {

// The number of tokens of one step in this process.
double Positions(const Options& o) {
  return static_cast<double>(o.ShardBatch() * o.devices * o.model.context * o.grad_accum);
}

double LogitsBytes(const Options& o) {
  return Positions(o) * kVocabulary * static_cast<double>(DTypeBytes(o.model.dtype));
}

double MicroBatches(const Options& o) {
  return static_cast<double>(o.devices) * static_cast<double>(o.grad_accum);
}

double History(const Options& o) { return LogitsBytes(o) + 4.0 * MicroBatches(o); }

double Hook(const Options& o) {
  return Positions(o) * 4.0 * static_cast<double>(o.model.dim) *
         static_cast<double>(DTypeBytes(o.model.dtype));
}

double ErrorPath(const Options& o) {
  return o.devices * static_cast<double>(kAuditWorkspaceBytes) / kAuditFailsEvery;
}

double ShapeCache(const Options& o) { return o.devices * static_cast<double>(kPlanWorkspaceBytes); }

double Eval(const Options& o) {
  const int64_t every = std::max<int64_t>(o.eval_every, 1);
  return LogitsBytes(o) / static_cast<double>(o.grad_accum * o.devices * every);
}

double Extension(const Options& o) { return o.devices * static_cast<double>(kExtensionBytes); }

double Cycle(const Options& o) { return Positions(o) * 4.0; }

double Pinned(const Options& o) { return MicroBatches(o) * static_cast<double>(kPinnedBytes); }

}  // namespace

const std::vector<LeakKind>& LeakKinds() {
  static const std::vector<LeakKind> kinds = {
      {"history", "RememberHistory", "leaks/history.cc",
       "a list of losses and logits, never emptied", History, false},
      {"hook", "RetainActivation", "leaks/hook.cc",
       "a forward hook retains the last block's activations", Hook, false},
      {"error-path", "AuditBatch", "leaks/error_path.cc",
       "a workspace is not freed on an early return, every 4th step", ErrorPath, false},
      {"shape-cache", "PlanForLength", "leaks/shape_cache.cc",
       "a cache with an entry per shape, without bound", ShapeCache, false},
      {"eval", "KeepEvaluation", "leaks/eval.cc", "evaluations keep their logits", Eval, false},
      {"extension", "ExtensionScratch", "leaks/extension.cc",
       "an extension's own cudaMalloc, without cudaFree", Extension, false},
      {"cycle", "BuildGraphCycle", "leaks/cycle.cc", "nodes of a graph own each other; unreachable",
       Cycle, false},
      {"pinned", "StagePinned", "leaks/pinned.cc", "pinned host memory for each batch", Pinned,
       true},
  };
  return kinds;
}

const LeakKind* FindLeak(const std::string& name) {
  for (const LeakKind& kind : LeakKinds()) {
    if (name == kind.name) return &kind;
  }
  return nullptr;
}

std::string LeakTable(const Options& options) {
  std::string table =
      "kind         bytes/step  memory  function          file                  what\n";
  Options with_evaluation = options;
  if (with_evaluation.eval_every == 0) with_evaluation.eval_every = 5;
  for (const LeakKind& kind : LeakKinds()) {
    char line[256];
    std::snprintf(line, sizeof(line), "%-11s %11.0f  %-6s  %-16s  %-20s  %s\n", kind.name,
                  kind.bytes_per_step(with_evaluation), kind.host ? "host" : "device",
                  kind.function, kind.file, kind.summary);
    table += line;
  }
  return table;
}

}  // namespace memprof::demo
