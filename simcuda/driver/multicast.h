// Multicast objects: their devices, and the memory bound to them. Writing to a mapped object
// reaches every device on a real fabric; this is not simulated.
#ifndef SIMCUDA_DRIVER_MULTICAST_H
#define SIMCUDA_DRIVER_MULTICAST_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "simcuda/driver/cuda_headers.h"

namespace memprof::simcuda {

class Physical;

// Thread-safe. Bound memory lives at least as long as it is bound.
class Multicast {
 public:
  Multicast(unsigned device_count, uint64_t bytes) : device_count_(device_count), bytes_(bytes) {}

  CUresult AddDevice(int device);
  // Whether all devices were added; before that, nothing can be bound or mapped.
  bool complete() const;
  // Binds `bytes` of the memory from `offset` on to `at` of the object.
  CUresult Bind(uint64_t at, std::shared_ptr<Physical> memory, uint64_t offset, uint64_t bytes);
  // Removes the binding with exactly these bounds.
  CUresult Unbind(int device, uint64_t at, uint64_t bytes);

 private:
  struct Binding {
    uint64_t bytes = 0;
    std::shared_ptr<Physical> memory;
  };
  const unsigned device_count_;
  const uint64_t bytes_;
  mutable std::mutex mutex_;
  std::set<int> devices_;
  std::map<std::pair<int, uint64_t>, Binding> bindings_;  // by device and place
};

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_MULTICAST_H
