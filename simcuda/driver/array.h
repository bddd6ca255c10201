// CUDA arrays and mipmapped arrays: opaque memory addressed by coordinates.
#ifndef SIMCUDA_DRIVER_ARRAY_H
#define SIMCUDA_DRIVER_ARRAY_H

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Context;
class Physical;

constexpr unsigned kDeferredMapping = 0x80;  // CUDA_ARRAY3D_DEFERRED_MAPPING, from CUDA 11.6

// The bytes of a tile of a sparse array.
constexpr uint64_t kTileBytes = uint64_t{64} << 10;

class Array {
 public:
  // Null if the device has too little memory. An array whose memory is mapped later, or that shows
  // `foreign` memory, takes none of the device.
  static std::shared_ptr<Array> Create(const std::shared_ptr<Context>& context,
                                       const CUDA_ARRAY3D_DESCRIPTOR& descriptor,
                                       bool foreign = false);
  ~Array();
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  const CUDA_ARRAY3D_DESCRIPTOR& descriptor() const { return descriptor_; }
  const std::shared_ptr<Context>& context() const { return context_; }
  uint64_t element_bytes() const { return element_bytes_; }
  uint64_t row_bytes() const { return row_bytes_; }
  uint64_t bytes() const { return bytes_; }
  // Whether memory of VMM handles is bound to it (cuMemMapArrayAsync).
  bool sparse() const { return (descriptor_.Flags & CUDA_ARRAY3D_SPARSE) != 0; }
  bool deferred() const { return (descriptor_.Flags & kDeferredMapping) != 0; }
  // Elements along each side of a tile.
  std::array<uint64_t, 3> TileExtent() const;
  // Sets the memory at a place, until it is replaced, unmapped (null) or the array ends.
  // Thread-safe.
  void SetTile(const std::array<uint64_t, 4>& place, std::shared_ptr<Physical> memory);
  uint64_t slice_bytes() const { return row_bytes_ * rows_; }
  uint8_t* data() const { return reinterpret_cast<uint8_t*>(address_); }
  uint64_t granted() const { return granted_; }
  // Whether it is a level of a mipmapped array, which ends with that.
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
  bool own_pages_ = false;  // host memory that does not count for the device
  std::mutex tiles_mutex_;
  std::map<std::array<uint64_t, 4>, std::shared_ptr<Physical>> tiles_;
};

struct Mipmap {
  std::shared_ptr<Context> context;
  std::vector<std::shared_ptr<Array>> levels;
};

// Bytes of one element of the format, 0 when the format is none.
uint64_t FormatBytes(CUarray_format format);

// Destroys the arrays of a context that ends.
void FreeArraysOf(const Context* context);
// And its registered resources of graphics interfaces.
void FreeGraphicsOf(const Context* context);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_ARRAY_H
