// The command line.
#ifndef DEMO_TRAINER_OPTIONS_H_
#define DEMO_TRAINER_OPTIONS_H_

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "demo_trainer/device.h"
#include "demo_trainer/model/config.h"

namespace memprof::demo {

struct Options {
  ModelConfig model;
  int64_t batch = 8;  // windows of text in one micro-batch, over all devices and ranks
  int64_t grad_accum = 1;
  int64_t steps = 50;
  uint64_t seed = 1;
  float lr = 1e-3f;
  float clip = 1.0f;        // largest norm of the gradient; 0 = no limit
  float loss_scale = 0.0f;  // initial; 0 = 65536 for bf16, none for fp32
  std::string text;         // empty = the bundled one
  bool prefetch = false;
  AllocatorKind allocator = AllocatorKind::kCaching;
  size_t max_split_bytes = std::numeric_limits<size_t>::max();
  int devices = 1;
  int ranks = 1;
  std::vector<std::string> leaks;
  int64_t leak_after = 0;  // the first step that leaks
  int64_t eval_every = 0;  // 0 = never, or every 5 steps with --leak eval
  int64_t print_every = 10;
  std::vector<int64_t> snapshots;  // steps
  bool empty_cache = false;        // after each evaluation
  bool stats = false;
  bool quiet = false;

  // Set by the program when it starts its own ranks.
  int rank = 0;
  int rank_fd = -1;

  bool help = false;
  bool list_leaks = false;

  bool Leaks(const std::string& kind) const;
  int64_t Shards() const { return static_cast<int64_t>(devices) * ranks; }
  // Windows in one micro-batch on one device.
  int64_t ShardBatch() const { return batch / Shards(); }
};

// Throws UsageError. `arguments` are without the program's name.
Options ParseOptions(const std::vector<std::string>& arguments);

// The text of --help.
std::string HelpText();

// "64MiB", "2GiB", "1000000": bytes. Throws UsageError.
size_t ParseSize(const std::string& option, const std::string& text);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_OPTIONS_H_
