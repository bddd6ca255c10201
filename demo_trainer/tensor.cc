// Memory and lifetime of tensors.
#include "demo_trainer/tensor.h"

#include <cstdio>
#include <utility>

#include "demo_trainer/error.h"
#include "demo_trainer/profiler.h"

namespace memprof::demo {

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kFloat32:
      return "float32";
    case DType::kBFloat16:
      return "bfloat16";
    case DType::kInt32:
      return "int32";
  }
  return "unknown";
}

size_t DTypeBytes(DType dtype) { return dtype == DType::kBFloat16 ? 2 : 4; }

Tensor::Storage::Storage(Device& owner, std::string tensor_name, DType element,
                         std::vector<int64_t> dims, cudaStream_t stream)
    : device(&owner), name(std::move(tensor_name)), dtype(element), shape(std::move(dims)) {
  for (const int64_t extent : shape) count *= extent;
  bytes = static_cast<size_t>(count) * DTypeBytes(dtype);
  ptr = device->allocator().Allocate(bytes, stream);
  profiler::TensorCreate(device->id(), ptr, bytes, name, DTypeName(dtype), shape);
}

Tensor::Storage::~Storage() {
  profiler::TensorDestroy(device->id(), ptr);
  try {
    device->allocator().Free(ptr);
  } catch (const Error& error) {
    std::fprintf(stderr, "demo_trainer: freeing %s: %s\n", name.c_str(), error.what());
  }
}

Tensor::Tensor(Device& device, std::string name, DType dtype, std::vector<int64_t> shape)
    : Tensor(device, std::move(name), dtype, std::move(shape), device.compute_stream()) {}

Tensor::Tensor(Device& device, std::string name, DType dtype, std::vector<int64_t> shape,
               cudaStream_t stream)
    // Not make_shared: its six frames of the standard library would be in every stack.
    : storage_(new Storage(device, std::move(name), dtype, std::move(shape), stream)) {}

void Tensor::RecordStream(cudaStream_t stream) const {
  device().allocator().RecordStream(raw(), stream);
}

Tensor Tensor::Clone(const std::string& name) const {
  Tensor copy(device(), name, dtype(), shape());
  device().Select();
  Check(cudaMemcpyAsync(copy.raw(), raw(), bytes(), cudaMemcpyDeviceToDevice,
                        device().compute_stream()),
        "copying a tensor");
  return copy;
}

void Tensor::CopyFromHost(const void* host) const {
  device().Select();
  Check(cudaMemcpyAsync(raw(), host, bytes(), cudaMemcpyHostToDevice, device().compute_stream()),
        "copying to the device");
  Check(cudaStreamSynchronize(device().compute_stream()), "copying to the device");
}

void Tensor::CopyToHost(void* host) const {
  device().Select();
  Check(cudaMemcpyAsync(host, raw(), bytes(), cudaMemcpyDeviceToHost, device().compute_stream()),
        "copying from the device");
  Check(cudaStreamSynchronize(device().compute_stream()), "copying from the device");
}

}  // namespace memprof::demo
