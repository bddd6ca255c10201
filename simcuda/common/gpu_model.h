// GPUs that the stand-in can pass itself off as: what their drivers report of them.
#ifndef SIMCUDA_COMMON_GPU_MODEL_H
#define SIMCUDA_COMMON_GPU_MODEL_H

#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::simcuda {

struct GpuModel {
  const char* key;   // as in gpu=KEY
  const char* name;  // as cuDeviceGetName gives it
  int capability;    // 10 * major + minor
  int multiprocessors;
  uint64_t memory_mib;  // as cuDeviceTotalMem gives it, in MiB
  uint64_t l2_kib;
  int bus_bits;

  uint64_t memory_bytes() const { return memory_mib << 20; }
  uint64_t l2_bytes() const { return l2_kib << 10; }
  // What a context without kernels takes. NVIDIA publishes no figures; 2 KiB for each thread that
  // the multiprocessors hold at once is within a fifth of what users report of several of these.
  uint64_t context_bytes() const;
};

// What depends on the compute capability alone ("Technical Specifications per Compute Capability"
// in NVIDIA's CUDA C++ Programming Guide).
struct CapabilityLimits {
  int capability;
  int threads;  // per multiprocessor
  int blocks;   // per multiprocessor
  int shared_bytes;
  int shared_per_block_bytes;    // at most, when asked for
  int reserved_per_block_bytes;  // of the driver
  int double_ratio;              // of single to double precision's throughput
};

// Null when there is no such model; letters of either case.
const GpuModel* FindGpuModel(std::string_view key);
const GpuModel& DefaultGpuModel();
// "A, B and C", for complaints.
std::string GpuModelKeys();
const CapabilityLimits& LimitsOf(const GpuModel& model);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_COMMON_GPU_MODEL_H
