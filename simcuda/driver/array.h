// CUDA arrays and mipmapped arrays: opaque memory addressed by coordinates.
#ifndef SIMCUDA_DRIVER_ARRAY_H
#define SIMCUDA_DRIVER_ARRAY_H

#include <cstdint>
#include <memory>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Context;

class Array {
 public:
  // Null when the device's memory does not suffice.
  static std::shared_ptr<Array> Create(const std::shared_ptr<Context>& context,
                                       const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const CUDA_ARRAY3D_DESCRIPTOR& descriptor() const { return descriptor_; }
  const std::shared_ptr<Context>& context() const { return context_; }
  uint64_t element_bytes() const { return element_bytes_; }
  uint64_t row_bytes() const { return row_bytes_; }
  uint64_t slice_bytes() const { return row_bytes_ * rows_; }
  uint8_t* data() const { return reinterpret_cast<uint8_t*>(address_); }
  uint64_t granted() const { return granted_; }
  // A level of a mipmapped array goes away with it, not on its own.
  bool level_of_mipmap() const { return level_of_mipmap_; }
  void set_level_of_mipmap() { level_of_mipmap_ = true; }

 private:
  Array() = default;
  std::shared_ptr<Context> context_;
  CUDA_ARRAY3D_DESCRIPTOR descriptor_{};
  uint64_t element_bytes_ = 0;
  uint64_t row_bytes_ = 0;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
  uint64_t address_ = 0;
  uint64_t granted_ = 0;
  bool level_of_mipmap_ = false;
};

struct Mipmap {
  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Array>> levels;
};

// Bytes of one element of the format, 0 when the format is none.
uint64_t FormatBytes(CUarray_format format);

// Destroys the arrays of a context that ends.
void FreeArraysOf(const Context* context);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_ARRAY_H
