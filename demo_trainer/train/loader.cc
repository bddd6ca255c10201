// The two loaders.
#include "demo_trainer/train/loader.h"

#include <array>
#include <cstring>
#include <utility>

#include "demo_trainer/error.h"

namespace memprof::demo {
namespace {

std::vector<int64_t> ShapeOf(const HostBatch& host, int64_t rows) {
  return {rows, static_cast<int64_t>(host.tokens.size()) / rows};
}

// Iterates over the micro-batches of a plan.
class Cursor {
 public:
  Cursor(const Text& text, const LoaderPlan& plan) : text_(text), plan_(plan) {}

  bool AtEnd() const { return index_ >= plan_.steps * plan_.grad_accum; }

  HostBatch Next() {
    const int64_t step = index_ / plan_.grad_accum;
    const int64_t micro = index_ % plan_.grad_accum;
    ++index_;
    const int64_t first = micro * plan_.batch + plan_.shard * plan_.shard_rows;
    return text_.TrainingBatch(step, first, plan_.shard_rows);
  }

 private:
  const Text& text_;
  const LoaderPlan plan_;
  int64_t index_ = 0;
};

class PlainLoader : public Loader {
 public:
  PlainLoader(Device& device, const Text& text, const LoaderPlan& plan)
      : device_(device), rows_(plan.shard_rows), cursor_(text, plan) {}

  Batch Next() override { return UploadBatch(device_, cursor_.Next(), rows_); }

 private:
  Device& device_;
  const int64_t rows_;
  Cursor cursor_;
};

// A pinned host buffer with an event that marks the end of the copy from it.
class PinnedSlot {
 public:
  explicit PinnedSlot(Device& device) {
    device.Select();
    Check(cudaEventCreateWithFlags(&copied_, cudaEventDisableTiming), "creating an event");
  }
  ~PinnedSlot() {
    cudaFreeHost(buffer_);
    cudaEventDestroy(copied_);
  }
  PinnedSlot(const PinnedSlot&) = delete;
  PinnedSlot& operator=(const PinnedSlot&) = delete;

  void* Reserve(size_t bytes) {
    if (bytes > bytes_) {
      Check(cudaFreeHost(buffer_), "freeing pinned memory");
      buffer_ = nullptr;
      Check(cudaHostAlloc(&buffer_, bytes, cudaHostAllocDefault), "allocating pinned memory");
      bytes_ = bytes;
    }
    return buffer_;
  }
  cudaEvent_t copied() const { return copied_; }

 private:
  void* buffer_ = nullptr;
  size_t bytes_ = 0;
  cudaEvent_t copied_ = nullptr;
};

class PrefetchingLoader : public Loader {
 public:
  PrefetchingLoader(Device& device, const Text& text, const LoaderPlan& plan)
      : device_(device), rows_(plan.shard_rows), cursor_(text, plan) {
    for (auto& slot : slots_) slot = std::make_unique<PinnedSlot>(device);
    if (!cursor_.AtEnd()) StartCopy();
  }

  ~PrefetchingLoader() override { cudaStreamSynchronize(device_.copy_stream()); }

  Batch Next() override {
    Batch batch = std::exchange(coming_, {});
    device_.Select();
    Check(cudaStreamWaitEvent(device_.compute_stream(), slots_[slot_]->copied(), 0),
          "making a stream wait");
    batch.tokens.RecordStream(device_.compute_stream());
    batch.targets.RecordStream(device_.compute_stream());
    slot_ = 1 - slot_;
    if (!cursor_.AtEnd()) StartCopy();
    return batch;
  }

 private:
  void StartCopy() {
    const HostBatch host = cursor_.Next();
    device_.Select();
    PinnedSlot& slot = *slots_[slot_];
    Check(cudaEventSynchronize(slot.copied()), "waiting for a copy");
    const size_t bytes = host.tokens.size() * sizeof(int);
    char* pinned = static_cast<char*>(slot.Reserve(2 * bytes));
    std::memcpy(pinned, host.tokens.data(), bytes);
    std::memcpy(pinned + bytes, host.targets.data(), bytes);
    const cudaStream_t stream = device_.copy_stream();
    const std::vector<int64_t> shape = ShapeOf(host, rows_);
    coming_.tokens = Tensor(device_, "batch.tokens", DType::kInt32, shape, stream);
    coming_.targets = Tensor(device_, "batch.targets", DType::kInt32, shape, stream);
    Check(cudaMemcpyAsync(coming_.tokens.raw(), pinned, bytes, cudaMemcpyHostToDevice, stream),
          "copying a batch");
    Check(cudaMemcpyAsync(coming_.targets.raw(), pinned + bytes, bytes, cudaMemcpyHostToDevice,
                          stream),
          "copying a batch");
    Check(cudaEventRecord(slot.copied(), stream), "recording an event");
  }

  Device& device_;
  const int64_t rows_;
  Cursor cursor_;
  std::array<std::unique_ptr<PinnedSlot>, 2> slots_;
  int slot_ = 0;  // of the next batch
  Batch coming_;
};

}  // namespace

Batch UploadBatch(Device& device, const HostBatch& host, int64_t rows) {
  const std::vector<int64_t> shape = ShapeOf(host, rows);
  Batch batch{Tensor(device, "batch.tokens", DType::kInt32, shape),
              Tensor(device, "batch.targets", DType::kInt32, shape)};
  batch.tokens.CopyFromHost(host.tokens.data());
  batch.targets.CopyFromHost(host.targets.data());
  return batch;
}

std::unique_ptr<Loader> MakeLoader(Device& device, const Text& text, const LoaderPlan& plan) {
  return std::make_unique<PlainLoader>(device, text, plan);
}

std::unique_ptr<Loader> MakePrefetchingLoader(Device& device, const Text& text,
                                              const LoaderPlan& plan) {
  return std::make_unique<PrefetchingLoader>(device, text, plan);
}

}  // namespace memprof::demo
