// A tensor: a named, typed, shaped piece of device memory. Handles share it; the memory is
// freed with the last handle. The creation and the end of a tensor are reported to memprof.
#ifndef DEMO_TRAINER_TENSOR_H_
#define DEMO_TRAINER_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "demo_trainer/device.h"
#include "demo_trainer/kernels/bf16.h"

namespace memprof::demo {

enum class DType { kFloat32, kBFloat16, kInt32 };

const char* DTypeName(DType dtype);
size_t DTypeBytes(DType dtype);

class Tensor {
 public:
  Tensor() = default;

  // Memory on the device's compute stream, contents undefined. Throws OutOfMemory.
  Tensor(Device& device, std::string name, DType dtype, std::vector<int64_t> shape);
  // The same on another stream of the device.
  Tensor(Device& device, std::string name, DType dtype, std::vector<int64_t> shape,
         cudaStream_t stream);

  explicit operator bool() const { return storage_ != nullptr; }
  // Releases this handle.
  void Reset() { storage_.reset(); }

  const std::string& name() const { return storage_->name; }
  DType dtype() const { return storage_->dtype; }
  const std::vector<int64_t>& shape() const { return storage_->shape; }
  int64_t dim(size_t axis) const { return storage_->shape[axis]; }
  int64_t count() const { return storage_->count; }
  size_t bytes() const { return storage_->bytes; }
  Device& device() const { return *storage_->device; }
  void* raw() const { return storage_->ptr; }

  template <typename T>
  T* data() const {
    return static_cast<T*>(storage_->ptr);
  }

  // Also used on `stream`: see Allocator::RecordStream.
  void RecordStream(cudaStream_t stream) const;

  // A copy on the same device, made in the order of the compute stream.
  Tensor Clone(const std::string& name) const;

  // Copies from or to pageable host memory and waits for it. `bytes()` bytes.
  void CopyFromHost(const void* host) const;
  void CopyToHost(void* host) const;

 private:
  struct Storage {
    Storage(Device& device, std::string name, DType dtype, std::vector<int64_t> shape,
            cudaStream_t stream);
    ~Storage();
    Storage(const Storage&) = delete;
    Storage& operator=(const Storage&) = delete;

    Device* const device;
    const std::string name;
    const DType dtype;
    const std::vector<int64_t> shape;
    int64_t count = 1;
    size_t bytes = 0;
    void* ptr = nullptr;
  };

  std::shared_ptr<Storage> storage_;
};

}  // namespace memprof::demo

#endif  // DEMO_TRAINER_TENSOR_H_
