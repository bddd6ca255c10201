// Memory pools: stream-ordered allocation from reserved chunks.
#ifndef SIMCUDA_DRIVER_POOL_H
#define SIMCUDA_DRIVER_POOL_H

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"
#include "simcuda/driver/range_allocator.h"
#include "simcuda/driver/stream.h"

namespace memprof::simcuda {

class Device;

// The pool of another process that was imported.
struct PoolOrigin {
  int process = 0;
  uint64_t id = 0;
};

// Thread-safe. A pool reserves memory of its device in chunks and allocates parts of them. Freed
// parts are available to their own stream at once, and to others when the work before the free is
// done. Empty chunks are released at a synchronisation, while more than the release threshold is
// reserved, and when the pool is trimmed.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(Device* device, uint64_t max_bytes);
  static std::shared_ptr<Pool> Create(Device* device, uint64_t max_bytes = 0);
  ~Pool();

  Device& device() const { return *device_; }

  // Allocates `bytes` for work that is enqueued to the stream after this call. On success *after
  // has work of other streams that must be done first.
  CUresult Allocate(uint64_t bytes, const std::shared_ptr<Stream>& stream, uint64_t* address,
                    uint64_t* granted, std::vector<StreamPoint>* after);
  // Frees in the order of the stream.
  void FreeAsync(uint64_t address, uint64_t granted, const StreamPoint& after);
  // Frees memory that no work uses any more.
  void Release(uint64_t address, uint64_t granted);

  // Releases empty chunks until at most `keep` bytes are reserved.
  void Trim(uint64_t keep);
  // At a synchronisation: trims to the release threshold.
  void Synchronised();
  // The handle was destroyed: everything is released as soon as nothing is in use.
  void Abandon();

  // The chunk that contains the address; false if there is none.
  bool ChunkOf(uint64_t address, uint64_t* start, uint64_t* bytes) const;

  // Set once after creation: the handle types for export and, for an imported pool, its origin.
  void set_handle_types(unsigned types) { handle_types_ = types; }
  unsigned handle_types() const { return handle_types_; }
  void set_origin(PoolOrigin origin) { origin_ = origin; }
  const PoolOrigin& origin() const { return origin_; }
  bool imported() const { return origin_.process != 0; }
  uint64_t id() const { return id_; }

  CUresult GetAttribute(CUmemPool_attribute attribute, void* value);
  CUresult SetAttribute(CUmemPool_attribute attribute, const void* value);
  uint64_t reserved() const;
  uint64_t used() const;

  // Access granted to other devices.
  void SetAccess(int device, CUmemAccess_flags flags);
  CUmemAccess_flags GetAccess(int device) const;

 private:
  struct Pending {
    uint64_t address;
    uint64_t bytes;
    StreamPoint after;
  };
  bool TakeLocked(uint64_t bytes, const std::shared_ptr<Stream>& stream, uint64_t* address);
  bool TakePendingOf(const Stream* stream, uint64_t bytes, uint64_t* address);
  bool GrowLocked(uint64_t bytes);
  void ReapLocked();
  void TrimLocked(uint64_t keep);

  Device* const device_;
  const uint64_t max_bytes_;
  const uint64_t id_;  // unique in the process
  unsigned handle_types_ = 0;
  PoolOrigin origin_;
  mutable std::mutex mutex_;
  bool abandoned_ = false;
  RangeAllocator free_;
  std::map<uint64_t, uint64_t> chunks_;  // address -> bytes
  std::list<Pending> pending_;
  std::map<int, CUmemAccess_flags> access_;
  uint64_t reserved_ = 0;
  uint64_t reserved_high_ = 0;
  uint64_t used_ = 0;
  uint64_t used_high_ = 0;
  uint64_t threshold_ = 0;
  int reuse_event_ = 1;
  int reuse_opportunistic_ = 1;
  int reuse_internal_ = 1;
};

// Releases unused memory of all pools of the device, created ones and the default one.
void TrimPoolsOf(Device* device);
// At a synchronisation of a context: its device's pools are trimmed to their thresholds.
void PoolsSynchronised(Device* device);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_POOL_H
