// Devices and their attributes: those of the GPU model, and common ones.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <iterator>

#include "driver_api.h"
#include "simcuda/common/config.h"
#include "simcuda/driver/allocation.h"
#include "simcuda/driver/context.h"
#include "simcuda/driver/device.h"
#include "simcuda/driver/texture.h"

namespace memprof::simcuda {
namespace {

struct AttributeValue {
  CUdevice_attribute attribute;
  int value;
};

// Attributes that no model has and that are not listed are 0: the feature is absent.
constexpr AttributeValue kAttributes[] = {
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    {CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, 1500000},
    {CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE, 2000000},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    {CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    {CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    {CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    {CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    {CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    {CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
    {CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR},
#if CUDA_VERSION >= 12010
    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1},
#endif
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_HEIGHT, 65536},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_WIDTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_HEIGHT, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE3D_DEPTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH, kMaxLinearTexture},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_HEIGHT, 65000},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LINEAR_PITCH, 2097120},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_GATHER_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_HEIGHT, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS, 2046},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE1D_WIDTH, 32768},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_WIDTH, 131072},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE2D_HEIGHT, 65536},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_WIDTH, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_HEIGHT, 16384},
    {CU_DEVICE_ATTRIBUTE_MAXIMUM_SURFACE3D_DEPTH, 16384},
    {CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
};

// The attributes that differ between GPUs; false for any other.
bool ModelAttribute(const GpuModel& gpu, CUdevice_attribute attribute, int* value) {
  const CapabilityLimits& limits = LimitsOf(gpu);
  const auto l2 = static_cast<int>(gpu.l2_bytes());
  const bool ampere = gpu.capability >= 80;
  const bool hopper = gpu.capability >= 90;
  const AttributeValue values[] = {
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, gpu.capability / 10},
    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, gpu.capability % 10},
    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, gpu.multiprocessors},
    {CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH, gpu.bus_bits},
    {CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE, l2},
    {CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES, gpu.walks_host_page_tables},
    // A part of the L2 can be set aside since 8.0.
    {CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, ampere ? std::min(l2 / 4 * 3, 32 << 20) : 0},
    {CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, ampere ? 128 << 20 : 0},
    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, limits.threads},
    {CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR, limits.blocks},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, limits.shared_bytes},
    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, limits.shared_per_block_bytes},
    {CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, limits.reserved_per_block_bytes},
    {CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, limits.double_ratio},
#if CUDA_VERSION >= 11080
    {CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, hopper ? 1 : 0},
#endif
#if CUDA_VERSION >= 12010
    {CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, hopper ? 1 : 0},
#endif
  };
  static_cast<void>(hopper);
  const auto* found =
      std::find_if(std::begin(values), std::end(values),
                   [&](const AttributeValue& one) { return one.attribute == attribute; });
  if (found == std::end(values)) return false;
  *value = found->value;
  return true;
}

}  // namespace

namespace api {

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (FindDevice(ordinal) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(Devices().size());
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int len, CUdevice dev) {
  if (name == nullptr || len <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  const std::string& text = GlobalConfig(false).name;
  const size_t copied = text.copy(name, static_cast<size_t>(len) - 1);
  name[copied] = '\0';
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice dev) {
  Device* device = FindDevice(dev);
  if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *bytes = device->memory().capacity();
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* pi, CUdevice_attribute attrib, CUdevice dev) {
  if (pi == nullptr || attrib < 1 || attrib >= CU_DEVICE_ATTRIBUTE_MAX) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (attrib == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) {
    *pi = dev + 1;
    return CUDA_SUCCESS;
  }
  *pi = 0;
  if (ModelAttribute(*GlobalConfig(false).gpu, attrib, pi)) return CUDA_SUCCESS;
  for (const AttributeValue& known : kAttributes) {
    if (known.attribute == attrib) *pi = known.value;
  }
  return CUDA_SUCCESS;
}

CUresult cuDeviceComputeCapability(int* major, int* minor, CUdevice dev) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *major = GlobalConfig(false).gpu->capability / 10;
  *minor = GlobalConfig(false).gpu->capability % 10;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetTexture1DLinearMaxWidth(size_t* maxWidthInElements, CUarray_format /*format*/,
                                            unsigned numChannels, CUdevice dev) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (maxWidthInElements == nullptr || numChannels == 0) return CUDA_ERROR_INVALID_VALUE;
  *maxWidthInElements = kMaxLinearTexture;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice dev) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(uuid->bytes, "memprof-simcuda", sizeof(uuid->bytes));
  uuid->bytes[sizeof(uuid->bytes) - 1] = static_cast<char>(dev);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* pciBusId, int len, CUdevice dev) {
  if (FindDevice(dev) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
  if (pciBusId == nullptr || len < 13) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(pciBusId, static_cast<size_t>(len), "0000:%02X:00.0",
                static_cast<unsigned>(dev + 1) & 0xff);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetByPCIBusId(CUdevice* dev, const char* pciBusId) {
  unsigned domain = 0;
  unsigned bus = 0;
  if (dev == nullptr || pciBusId == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const bool parsed = std::sscanf(pciBusId, "%x:%x:", &domain, &bus) == 2 ||
                      std::sscanf(pciBusId, "%x:", &bus) == 1;
  if (!parsed) return CUDA_ERROR_INVALID_VALUE;
  if (bus == 0 || FindDevice(static_cast<int>(bus) - 1) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  *dev = static_cast<int>(bus) - 1;
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int* canAccessPeer, CUdevice dev, CUdevice peerDev) {
  if (FindDevice(dev) == nullptr || FindDevice(peerDev) == nullptr) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (canAccessPeer == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *canAccessPeer = dev != peerDev ? 1 : 0;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attrib, CUdevice srcDevice,
                                 CUdevice dstDevice) {
  if (FindDevice(srcDevice) == nullptr || FindDevice(dstDevice) == nullptr ||
      srcDevice == dstDevice) {
    return CUDA_ERROR_INVALID_DEVICE;
  }
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *value = attrib == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace api
}  // namespace memprof::simcuda

using memprof::simcuda::Device;
using memprof::simcuda::Use;

#include "simcuda/simcuda.h"

extern "C" int simcuda_get_memory(int device, struct simcuda_memory* memory) {
  Device* found = memprof::simcuda::FindDevice(device);
  if (found == nullptr || memory == nullptr) return 1;
  simcuda_memory filled = {};
  filled.size = sizeof(filled);
  const auto& model = found->memory();
  filled.capacity_bytes = model.capacity();
  filled.free_bytes = model.free_bytes();
  filled.context_bytes = model.used(Use::kContext);
  filled.linear_bytes = model.used(Use::kLinear);
  filled.array_bytes = model.used(Use::kArray);
  filled.managed_bytes = model.used(Use::kManaged);
  filled.pool_reserved_bytes = model.used(Use::kPool);
  filled.vmm_bytes = model.used(Use::kVmm);
  filled.graph_bytes = model.used(Use::kGraph);
  filled.other_bytes = model.other_bytes();
  filled.code_bytes = model.used(Use::kCode);
  filled.live_allocations = memprof::simcuda::Allocations().Count([&](const auto& one) {
    return one.device == device && one.on_device() &&
           one.kind != memprof::simcuda::AllocationKind::kGlobal && one.live;
  });
  const size_t size = memory->size < sizeof(filled) ? memory->size : sizeof(filled);
  if (size < sizeof(size_t)) return 1;
  std::memcpy(memory, &filled, size);
  memory->size = size;
  return 0;
}
