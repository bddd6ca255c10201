// Managed memory: the location of each of its pages, and the program's advice on them.
#ifndef SIMCUDA_DRIVER_MANAGED_H
#define SIMCUDA_DRIVER_MANAGED_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <set>
#include <vector>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Device;

// Locations are device ordinals, CU_DEVICE_CPU or CU_DEVICE_INVALID for none. The host can access
// every page wherever it is; a page's location only matters for the device's capacity. Thread-safe.
class ManagedPages {
 public:
  explicit ManagedPages(size_t count) : pages_(count) {}

  // Puts as many pages as fit, from the front, on the device; the rest stays on the host.
  void Place(Device* device);
  // Releases the part on devices.
  void Release();
  // Moves the pages [first, last) to the location, as many as fit.
  void Prefetch(size_t first, size_t last, int location);
  void Advise(size_t first, size_t last, CUmem_advise advice, int location);
  // Bytes on the device.
  uint64_t ResidentOn(int device) const;

  bool ReadMostly(size_t first, size_t last) const;
  // The preferred location that all the pages share, else CU_DEVICE_INVALID.
  int PreferredLocation(size_t first, size_t last) const;
  int LastPrefetch(size_t first, size_t last) const;
  // The locations with advice of access to all the pages.
  std::vector<int> AccessedBy(size_t first, size_t last) const;

 private:
  struct Page {
    bool read_mostly = false;
    int location = CU_DEVICE_CPU;
    int preferred = CU_DEVICE_INVALID;
    int last_prefetch = CU_DEVICE_INVALID;
    std::set<int> accessed_by;
  };
  int Common(size_t first, size_t last, int Page::*field) const;

  mutable std::mutex mutex_;
  std::vector<Page> pages_;
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_MANAGED_H
