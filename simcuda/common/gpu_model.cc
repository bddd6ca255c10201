// The table of GPUs.
#include "simcuda/common/gpu_model.h"

#include <algorithm>
#include <cctype>
#include <iterator>

namespace memprof::simcuda {
namespace {

// Multiprocessors, L2 and bus: NVIDIA's data sheets and architecture white papers of each GPU.
// Names and memory: what PyTorch's get_device_properties and deviceQuery print on them in public
// bug reports (RTX3060-12GB, RTX4060: in the records of studies/fit; RTX5090:
// NVIDIA/nccl#1637; RTX2080Ti, RTX3080: PyTorch's out-of-memory messages, "10.76 GiB total
// capacity" and "9.78 GiB"); memory varies by some MiB with driver and ECC. Contexts of the RTX3060
// and RTX4060: what was left beside PyTorch's memory in their trainings that ran out of it.
constexpr GpuModel kModels[] = {
    {"H100-80GB", "NVIDIA H100 80GB HBM3", 90, 132, 81090, 51200, 5120},
    {"H200", "NVIDIA H200", 90, 132, 143156, 61440, 6144},
    {"GH200", "NVIDIA GH200 480GB", 90, 132, 96768, 61440, 6144, 0, true},
    {"B200", "NVIDIA B200", 100, 148, 182631, 129024, 8192},
    {"A100-40GB", "NVIDIA A100-SXM4-40GB", 80, 108, 40339, 40960, 5120},
    {"A100-80GB", "NVIDIA A100-SXM4-80GB", 80, 108, 81153, 40960, 5120},
    {"V100-16GB", "Tesla V100-SXM2-16GB", 70, 80, 16160, 6144, 4096},
    {"V100-32GB", "Tesla V100-SXM2-32GB", 70, 80, 32510, 6144, 4096},
    {"T4", "Tesla T4", 75, 40, 15102, 4096, 256},
    {"L4", "NVIDIA L4", 89, 58, 22478, 49152, 192},
    {"L40S", "NVIDIA L40S", 89, 142, 45589, 98304, 384},
    {"A10", "NVIDIA A10", 86, 72, 22723, 6144, 384},
    {"A6000", "NVIDIA RTX A6000", 86, 84, 48676, 6144, 384},
    {"RTX6000Ada", "NVIDIA RTX 6000 Ada Generation", 89, 142, 48508, 98304, 384},
    {"RTXPRO6000", "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 120, 188, 97247, 131072,
     512},
    {"RTX2080Ti", "NVIDIA GeForce RTX 2080 Ti", 75, 68, 11018, 5632, 352},
    {"RTX3060-12GB", "NVIDIA GeForce RTX 3060", 86, 28, 12037, 2304, 192, 68},
    {"RTX3080", "NVIDIA GeForce RTX 3080", 86, 68, 10015, 5120, 320},
    {"RTX3090", "NVIDIA GeForce RTX 3090", 86, 82, 24259, 6144, 384},
    {"RTX4060", "NVIDIA GeForce RTX 4060", 89, 24, 7932, 24576, 128, 56},
    {"RTX4090", "NVIDIA GeForce RTX 4090", 89, 128, 24217, 73728, 384},
    {"RTX5090", "NVIDIA GeForce RTX 5090", 120, 170, 32120, 98304, 512},
};

constexpr CapabilityLimits kLimits[] = {
    {70, 2048, 32, 98304, 98304, 0, 2},       {75, 1024, 16, 65536, 65536, 0, 32},
    {80, 2048, 32, 167936, 166912, 1024, 2},  {86, 1536, 16, 102400, 101376, 1024, 32},
    {89, 1536, 24, 102400, 101376, 1024, 64}, {90, 2048, 32, 233472, 232448, 1024, 2},
    {100, 2048, 32, 233472, 232448, 1024, 2}, {120, 1536, 24, 102400, 101376, 1024, 64},
};

// The code of a fat binary of the program, of cuBLAS and of cuDNN, in KiB. NVIDIA publishes
// nothing.
struct CodeSizes {
  uint64_t kib[kKernelLibraryCount];
};
// 8.6 and 8.9: 10 to 14 MiB in the first iteration of convolutional networks, of which
// transformers, without cuDNN, show next to nothing (studies/fit).
constexpr CodeSizes kLazy = {{64, 512, 8192}};
// 9.0: of 8 processes on an H200, each with PyTorch 2.11, CUDA 13 and driver 580, 101 MiB beyond
// the context; divided by the bytes of the images that it loaded, 27 MiB in 21 of PyTorch and 29
// MiB in 8 of cuBLASLt. cuDNN is assumed to be like cuBLAS.
constexpr CodeSizes kLazyHopper = {{2400, 51200, 51200}};
// All at once: 362 MiB more than lazily of PyTorch 1.13's own
// (github.com/pytorch/pytorch/pull/86509); 1021 MiB with cuDNN and cuBLAS inside, PyTorch 1.10
// (studies/fit/bert.py), the rest in halves.
constexpr CodeSizes kEager = {{362 << 10, 330 << 10, 330 << 10}};

bool SameLetters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

uint64_t GpuModel::context_bytes() const {
  if (context_mib != 0) return context_mib << 20;
  return static_cast<uint64_t>(multiprocessors) * static_cast<uint64_t>(LimitsOf(*this).threads) *
         2048;
}

uint64_t GpuModel::code_bytes(KernelLibrary library, bool eager) const {
  const CodeSizes& sizes = eager ? kEager : capability >= 90 ? kLazyHopper : kLazy;
  return sizes.kib[static_cast<int>(library)] << 10;
}

const GpuModel* FindGpuModel(std::string_view key) {
  for (const GpuModel& model : kModels) {
    if (SameLetters(model.key, key)) return &model;
  }
  return nullptr;
}

const GpuModel& DefaultGpuModel() { return kModels[0]; }

std::string GpuModelKeys() {
  std::string text;
  for (const GpuModel& model : kModels) {
    if (!text.empty()) text += &model == std::end(kModels) - 1 ? " and " : ", ";
    text += model.key;
  }
  return text;
}

const CapabilityLimits& LimitsOf(const GpuModel& model) {
  return *std::find_if(std::begin(kLimits), std::end(kLimits), [&](const CapabilityLimits& one) {
    return one.capability == model.capability;
  });
}

}  // namespace memprof::simcuda
