// Multicast objects: which devices are in, and what memory of each is bound where. What a write to
// a mapped object does on a real fabric, reaching every device, does not happen here.
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
  // Whether all devices are in; before that, nothing is bound or mapped.
  bool complete() const;
  // `bytes` of the memory from `offset` on, at `at` of the object.
  CUresult Bind(uint64_t at, std::shared_ptr<Physical> memory, uint64_t offset, uint64_t bytes);
  // What was bound with these very bounds.
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
