// Memory pools: stream-ordered allocation out of reserved chunks.
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

// Thread-safe. A pool reserves memory of its device in chunks and hands out parts of them. Freed
// parts are free for their own stream at once and for others once the work before the free is
// done. Empty chunks go back at synchronisation, as far as more than the release threshold is
// reserved, and when the pool is trimmed.
class Pool : public std::enable_shared_from_this<Pool> {
 public:
  Pool(Device* device, uint64_t max_bytes);
  static std::shared_ptr<Pool> Create(Device* device, uint64_t max_bytes = 0);
  ~Pool();

  Device& device() const { return *device_; }

  // `bytes` for use by work enqueued to the stream after this call. On success *after holds work
  // of other streams that must be done first.
  CUresult Allocate(uint64_t bytes, const std::shared_ptr<Stream>& stream, uint64_t* address,
                    uint64_t* granted, std::vector<StreamPoint>* after);
  // Frees in the order of the stream.
  void FreeAsync(uint64_t address, uint64_t granted, const StreamPoint& after);
  // Frees memory that no work uses any more.
  void Release(uint64_t address, uint64_t granted);

  // Gives empty chunks back until at most `keep` bytes are reserved.
  void Trim(uint64_t keep);
  // What synchronisation does: trims to the release threshold.
  void Synchronised();
  // The handle is gone: everything is given back as soon as nothing is in use.
  void Abandon();

  // The chunk that holds the address; false when none does.
  bool ChunkOf(uint64_t address, uint64_t* start, uint64_t* bytes) const;

  // Set once, after making: handles that it may be exported as, and, of an imported pool, what it is
  // in the process that it comes from.
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

// All pools of the device, created ones and the default one, give unused memory back.
void TrimPoolsOf(Device* device);
// Synchronisation of a context: its device's pools go down to their thresholds.
void PoolsSynchronised(Device* device);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_POOL_H
