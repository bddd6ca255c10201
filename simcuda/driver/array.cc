// Memory behind arrays.
#include "simcuda/driver/array.h"

#include <sys/mman.h>

#include <algorithm>

#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/pool.h"
#include "simcuda/driver/vmm.h"

namespace memprof::simcuda {
namespace {

constexpr uint64_t kRowAlignment = 64;

}  // namespace

uint64_t FormatBytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
      return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
      return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
      return 4;
    default:
      return 0;
  }
}

std::shared_ptr<Array> Array::Create(const std::shared_ptr<Context>& context,
                                     const CUDA_ARRAY3D_DESCRIPTOR& descriptor, bool foreign) {
  std::shared_ptr<Array> array(new Array);
  array->context_ = context;
  array->descriptor_ = descriptor;
  array->element_bytes_ = FormatBytes(descriptor.Format) * descriptor.NumChannels;
  array->rows_ = std::max<uint64_t>(descriptor.Height, 1);
  const uint64_t slices = std::max<uint64_t>(descriptor.Depth, 1);
  if (__builtin_mul_overflow(descriptor.Width, array->element_bytes_, &array->row_bytes_) ||
      array->row_bytes_ > (uint64_t{1} << 46)) {
    return nullptr;
  }
  array->row_bytes_ = RoundUp(array->row_bytes_, kRowAlignment);
  if (__builtin_mul_overflow(array->row_bytes_, array->rows_, &array->bytes_) ||
      __builtin_mul_overflow(array->bytes_, slices, &array->bytes_)) {
    return nullptr;
  }
  if (foreign || array->sparse() || array->deferred()) {
    void* pages = mmap(nullptr, array->bytes_, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED) return nullptr;
    array->address_ = reinterpret_cast<uint64_t>(pages);
    array->own_pages_ = true;
    return array;
  }
  Device& device = context->device();
  if (!device.memory().Allocate(Use::kArray, array->bytes_, &array->address_, &array->granted_)) {
    TrimPoolsOf(&device);
    if (!device.memory().Allocate(Use::kArray, array->bytes_, &array->address_, &array->granted_)) {
      array->granted_ = 0;
      return nullptr;
    }
  }
  return array;
}

std::array<uint64_t, 3> Array::TileExtent() const {
  uint64_t width = 1;
  const uint64_t elements = kTileBytes / element_bytes_;
  while (width * width < elements) width *= 2;
  return {width, elements / width, 1};
}

void Array::SetTile(const std::array<uint64_t, 4>& place, std::shared_ptr<Physical> memory) {
  const std::lock_guard lock(tiles_mutex_);
  if (memory == nullptr) {
    tiles_.erase(place);
  } else {
    tiles_[place] = std::move(memory);
  }
}

Array::~Array() {
  if (own_pages_) munmap(reinterpret_cast<void*>(address_), bytes_);
  if (granted_ != 0) context_->device().memory().Free(Use::kArray, address_, granted_);
}

void FreeArraysOf(const Context* context) {
  AllHandles<Array>().RemoveIf([&](const Array& one) { return one.context().get() == context; });
  AllHandles<Mipmap>().RemoveIf([&](const Mipmap& one) { return one.context.get() == context; });
}

}  // namespace memprof::simcuda
