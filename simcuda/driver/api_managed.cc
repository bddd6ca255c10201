// Managed memory: prefetch, advice, discards. Queries of a range: api_managed_range.cc.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "driver_api.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/capture.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/managed_range.h"

namespace memprof::simcuda {
namespace {

CUresult CheckLocation(int location) {
  return location == CU_DEVICE_CPU || FindDevice(location) != nullptr ? CUDA_SUCCESS
                                                                      : CUDA_ERROR_INVALID_DEVICE;
}

CUresult Prefetch(CUdeviceptr address, size_t bytes, int location, CUstream handle) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  CUresult result = RequireStream(handle, &context, &stream);
  if (result != CUDA_SUCCESS) return result;
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  ManagedRange range;
  result = FindManagedRange(address, bytes, &range);
  if (result == CUDA_SUCCESS) result = CheckLocation(location);
  if (result != CUDA_SUCCESS) return result;
  range.allocation->pages->Prefetch(range.first, range.last, location);
  return CUDA_SUCCESS;
}

CUresult Advise(CUdeviceptr address, size_t bytes, CUmem_advise advice, int location) {
  std::shared_ptr<Context> context;
  CUresult result = RequireContext(&context);
  if (result != CUDA_SUCCESS) return result;
  if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  // These do not depend on a device.
  const bool any = advice == CU_MEM_ADVISE_SET_READ_MOSTLY ||
                   advice == CU_MEM_ADVISE_UNSET_READ_MOSTLY ||
                   advice == CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
  ManagedRange range;
  result = FindManagedRange(address, bytes, &range);
  if (result == CUDA_SUCCESS && !any) result = CheckLocation(location);
  if (result != CUDA_SUCCESS) return result;
  range.allocation->pages->Advise(range.first, range.last, advice, location);
  return CUDA_SUCCESS;
}

// Converts a location of CUDA 12.2 and later to the form of the older functions; false if it is
// invalid. Host memory has no NUMA nodes here.
[[maybe_unused]] bool LocationOf(const CUmemLocation& location, int* device) {
  *device = CU_DEVICE_CPU;
  const int type = location.type;
  if (type == CU_MEM_LOCATION_TYPE_DEVICE) *device = location.id;
  return type >= 1 && type <= 4;
}

#if CUDA_VERSION >= 13000
// A batch: the ranges, and the destination of each.
struct Batch {
  std::vector<ManagedRange> ranges;
  std::vector<int> locations;
};

CUresult CheckBatch(CUdeviceptr* addresses, size_t* sizes, size_t count, unsigned long long flags,
                    const std::shared_ptr<Stream>& stream, Batch* batch) {
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0 ||
      stream->kind() == Stream::Kind::kLegacy) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (IsCapturing(stream)) return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
  batch->ranges.resize(count);
  for (size_t i = 0; i < count; ++i) {
    const CUresult result = FindManagedRange(addresses[i], sizes[i], &batch->ranges[i]);
    if (result != CUDA_SUCCESS) return result;
  }
  return CUDA_SUCCESS;
}

CUresult CheckLocations(const CUmemLocation* locations, const size_t* starts, size_t count,
                        Batch* batch) {
  const size_t ranges = batch->ranges.size();
  if (locations == nullptr || starts == nullptr || count == 0 || count > ranges || starts[0] != 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  batch->locations.resize(ranges);
  for (size_t i = 0; i < count; ++i) {
    const size_t end = i + 1 < count ? starts[i + 1] : ranges;
    int device = 0;
    if (starts[i] >= end || end > ranges || !LocationOf(locations[i], &device)) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    const CUresult known = CheckLocation(device);
    if (known != CUDA_SUCCESS) return known;
    for (size_t at = starts[i]; at < end; ++at) batch->locations[at] = device;
  }
  return CUDA_SUCCESS;
}

// Discarded memory reads as zeros; only whole pages of the machine are discarded.
void EnqueueDiscards(const std::shared_ptr<Context>& context, const std::shared_ptr<Stream>& stream,
                     const CUdeviceptr* addresses, const size_t* sizes, const Batch& batch) {
  const auto page = static_cast<uint64_t>(getpagesize());
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for (size_t i = 0; i < batch.ranges.size(); ++i) {
    const uint64_t start = RoundUp(addresses[i], page);
    const uint64_t end = (addresses[i] + sizes[i]) / page * page;
    if (start < end) parts.emplace_back(start, end - start);
  }
  context->Enqueue(
      stream,
      [parts] {
        for (const auto& [start, bytes] : parts) {
          madvise(reinterpret_cast<void*>(start), bytes, MADV_DONTNEED);
        }
      },
      Stream::Mode::kQuick);
}

void PrefetchBatch(const Batch& batch) {
  for (size_t i = 0; i < batch.ranges.size(); ++i) {
    const ManagedRange& range = batch.ranges[i];
    range.allocation->pages->Prefetch(range.first, range.last, batch.locations[i]);
  }
}
#endif

}  // namespace

namespace api {

CUresult cuMemPrefetchAsync(CUdeviceptr devPtr, size_t count, CUdevice dstDevice,
                            CUstream hStream) {
  return Prefetch(devPtr, count, dstDevice, hStream);
}

CUresult cuMemAdvise(CUdeviceptr devPtr, size_t count, CUmem_advise advice, CUdevice device) {
  return Advise(devPtr, count, advice, device);
}

#if CUDA_VERSION >= 12020
CUresult cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count, CUmemLocation location,
                               unsigned int flags, CUstream hStream) {
  int device = 0;
  if (flags != 0 || !LocationOf(location, &device)) return CUDA_ERROR_INVALID_VALUE;
  return Prefetch(devPtr, count, device, hStream);
}

CUresult cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                        CUmemLocation location) {
  int device = CU_DEVICE_CPU;
  // Advice that names no place may come without one.
  if (!LocationOf(location, &device) &&
      (advice == CU_MEM_ADVISE_SET_PREFERRED_LOCATION || advice == CU_MEM_ADVISE_SET_ACCESSED_BY ||
       advice == CU_MEM_ADVISE_UNSET_ACCESSED_BY)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  return Advise(devPtr, count, advice, device);
}
#endif

#if CUDA_VERSION >= 13000
CUresult cuMemPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                 CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                 size_t numPrefetchLocs, unsigned long long flags,
                                 CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  CUresult result = RequireStream(hStream, &context, &stream);
  Batch batch;
  if (result == CUDA_SUCCESS) result = CheckBatch(dptrs, sizes, count, flags, stream, &batch);
  if (result == CUDA_SUCCESS) {
    result = CheckLocations(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, &batch);
  }
  if (result == CUDA_SUCCESS) PrefetchBatch(batch);
  return result;
}

CUresult cuMemDiscardBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                unsigned long long flags, CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  CUresult result = RequireStream(hStream, &context, &stream);
  Batch batch;
  if (result == CUDA_SUCCESS) result = CheckBatch(dptrs, sizes, count, flags, stream, &batch);
  if (result == CUDA_SUCCESS) EnqueueDiscards(context, stream, dptrs, sizes, batch);
  return result;
}

CUresult cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* dptrs, size_t* sizes, size_t count,
                                           CUmemLocation* prefetchLocs, size_t* prefetchLocIdxs,
                                           size_t numPrefetchLocs, unsigned long long flags,
                                           CUstream hStream) {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> stream;
  CUresult result = RequireStream(hStream, &context, &stream);
  Batch batch;
  if (result == CUDA_SUCCESS) result = CheckBatch(dptrs, sizes, count, flags, stream, &batch);
  if (result == CUDA_SUCCESS) {
    result = CheckLocations(prefetchLocs, prefetchLocIdxs, numPrefetchLocs, &batch);
  }
  if (result != CUDA_SUCCESS) return result;
  EnqueueDiscards(context, stream, dptrs, sizes, batch);
  PrefetchBatch(batch);
  return CUDA_SUCCESS;
}
#endif

}  // namespace api
}  // namespace memprof::simcuda
