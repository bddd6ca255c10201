// Devices of the stand-in and the driver as a whole.
#ifndef SIMCUDA_DRIVER_DEVICE_H
#define SIMCUDA_DRIVER_DEVICE_H

#include <memory>
#include <mutex>
#include <vector>

#include "simcuda/driver/cuda_headers.h"
#include "simcuda/driver/device_memory.h"

namespace memprof::simcuda {

class Context;
class Pool;

class Device {
 public:
  Device(int id, uint64_t capacity, uint64_t overhead, std::unique_ptr<CapacityShare> share);

  int id() const { return id_; }
  DeviceMemory& memory() { return memory_; }
  uint64_t context_overhead() const { return overhead_; }

  // The primary context: created at the first retain, destroyed at the last release.
  CUresult RetainPrimary(std::shared_ptr<Context>* context);
  CUresult ReleasePrimary();
  CUresult ResetPrimary();
  CUresult SetPrimaryFlags(unsigned flags);
  void GetPrimaryState(unsigned* flags, bool* active);

  // Contexts that end with the primary one.
  void AddGreen(std::shared_ptr<Context> context);
  std::vector<std::shared_ptr<Context>> TakeGreen();

  std::shared_ptr<Pool> default_pool();
  std::shared_ptr<Pool> current_pool();
  void set_current_pool(std::shared_ptr<Pool> pool);

 private:
  const int id_;
  const uint64_t overhead_;
  DeviceMemory memory_;
  std::mutex primary_mutex_;
  std::shared_ptr<Context> primary_;
  int primary_count_ = 0;
  unsigned primary_flags_ = 0;
  std::mutex green_mutex_;
  std::vector<std::shared_ptr<Context>> green_;
  std::mutex pool_mutex_;
  std::shared_ptr<Pool> default_pool_;
  std::shared_ptr<Pool> current_pool_;
};

// All devices; created at the first call, never destroyed.
const std::vector<Device*>& Devices();
// Null when there is no such device.
Device* FindDevice(int ordinal);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_DRIVER_DEVICE_H
