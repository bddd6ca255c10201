// GPU models that the stand-in can simulate: the properties that their drivers report.
#ifndef SIMCUDA_COMMON_GPU_MODEL_H
#define SIMCUDA_COMMON_GPU_MODEL_H

#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::simcuda {

// Whose kernels: the program's (one fat binary, as of one source file of PyTorch), or a library's.
enum class KernelLibrary { kProgram, kCublas, kCudnn };
constexpr int kKernelLibraryCount = 3;

struct GpuModel {
  const char* key;   // as in gpu=KEY
  const char* name;  // as cuDeviceGetName gives it
  int capability;    // 10 * major + minor
  int multiprocessors;
  uint64_t memory_mib;  // as cuDeviceTotalMem gives it, in MiB
  uint64_t l2_kib;
  int bus_bits;
  uint64_t context_mib = 0;             // as measured; 0: by rule
  bool walks_host_page_tables = false;  // coherent with the memory of its host

  uint64_t memory_bytes() const { return memory_mib << 20; }
  uint64_t l2_bytes() const { return l2_kib << 10; }
  // The memory of a context without kernels. NVIDIA publishes no figures. 2 KiB for each thread
  // that the multiprocessors hold at once is within 5 % of eight figures that users published
  // (docs/torch-sim.md, "The context").
  uint64_t context_bytes() const;
  // What the kernels of a library take when the first of them runs, or all at once if `eager`
  // (CUDA_MODULE_LOADING).
  uint64_t code_bytes(KernelLibrary library, bool eager) const;
};

// Limits that depend only on the compute capability ("Technical Specifications per Compute
// Capability" in NVIDIA's CUDA C++ Programming Guide).
struct CapabilityLimits {
  int capability;
  int threads;  // per multiprocessor
  int blocks;   // per multiprocessor
  int shared_bytes;
  int shared_per_block_bytes;    // the maximum, if requested
  int reserved_per_block_bytes;  // of the driver
  int double_ratio;              // of single to double precision's throughput
};

// Null when there is no such model; letters of either case.
const GpuModel* FindGpuModel(std::string_view key);
const GpuModel& DefaultGpuModel();
// "A, B and C", for error messages.
std::string GpuModelKeys();
const CapabilityLimits& LimitsOf(const GpuModel& model);

}  // namespace memprof::simcuda

#endif  // SIMCUDA_COMMON_GPU_MODEL_H
