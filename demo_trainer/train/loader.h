// Copies batches to the device: directly, or ahead of time through pinned buffers.
#ifndef DEMO_TRAINER_TRAIN_LOADER_H_
#define DEMO_TRAINER_TRAIN_LOADER_H_

#include <memory>

#include "demo_trainer/tensor.h"
#include "demo_trainer/train/text.h"

namespace memprof::demo {

struct Batch {
  Tensor tokens;   // int32 [rows, context]
  Tensor targets;  // the same shape
};

// Copies a host batch to the device and waits.
Batch UploadBatch(Device& device, const HostBatch& host, int64_t rows);

// Delivers the micro-batches of one device in order: step 0 micro-batch 0, 1, …, then step 1.
class Loader {
 public:
  virtual ~Loader() = default;
  virtual Batch Next() = 0;
};

struct LoaderPlan {
  int64_t steps = 0;
  int64_t grad_accum = 1;
  int64_t batch = 1;  // rows of a micro-batch over all shards
  int64_t shard = 0;  // the part of it for this device
  int64_t shard_rows = 1;
};

std::unique_ptr<Loader> MakeLoader(Device& device, const Text& text, const LoaderPlan& plan);
// The next batch is copied on the device's copy stream while the current one is computed.
std::unique_ptr<Loader> MakePrefetchingLoader(Device& device, const Text& text,
                                              const LoaderPlan& plan);

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TRAIN_LOADER_H_
