// Physical memory that the program maps, the same memory through an imported handle, and multicast
// objects.
#include <unistd.h>

#include "driver.h"
#include "families.h"

namespace memprof::gpu_check {
namespace {

constexpr std::uint64_t kPage = 2u << 20;

class Mapped : public Family {
 public:
  std::uint64_t Take(std::uint64_t bytes) override {
    bytes = (bytes + kPage - 1) / kPage * kPage;
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    Map map{0, bytes, 0, 0};
    CALL(cuMemAddressReserve, &map.address, bytes, 0, 0, 0);
    CALL(cuMemCreate, &map.handle, bytes, &properties, 0);
    Second(&map);
    CALL(cuMemMap, map.address, bytes, 0, map.handle, 0);
    CUmemAccessDesc access{};
    access.location = properties.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    CALL(cuMemSetAccess, map.address, bytes, &access, 1);
    // From here on only the mapping holds the memory.
    CALL(cuMemRelease, map.handle);
    maps_.push_back(map);
    return bytes;
  }
  void GiveBack() override {
    for (const Map& map : maps_) {
      CALL(cuMemUnmap, map.address, map.bytes);
      CALL(cuMemAddressFree, map.address, map.bytes);
      if (map.second != 0) CALL(cuMemRelease, map.second);
    }
    maps_.clear();
  }

 protected:
  struct Map {
    CUdeviceptr address;
    std::uint64_t bytes;
    CUmemGenericAllocationHandle handle;
    CUmemGenericAllocationHandle second;
  };
  virtual void Second(Map*) {}

 private:
  std::vector<Map> maps_;
};

// The memory exists once, however many handles refer to it.
class MappedAndImported : public Mapped {
  void Second(Map* map) override {
    int file = -1;
    CALL(cuMemExportToShareableHandle, &file, map->handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
         0);
    const auto import =
        Find<decltype(&cuMemImportFromShareableHandle)>("cuMemImportFromShareableHandle");
    const CUresult result =
        import(&map->second, reinterpret_cast<void*>(static_cast<std::uintptr_t>(file)),
               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(file);
    Check(result, "cuMemImportFromShareableHandle");
  }
};

#if CUDA_VERSION >= 12010
// An object of one device, without bound memory.
class Multicast : public Family {
  void Prepare() override {
    int supported = 0;
    CALL(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0);
    if (supported == 0) throw Skipped("the device does not support multicast");
  }
  std::uint64_t Take(std::uint64_t bytes) override {
    CUmulticastObjectProp properties{};
    properties.numDevices = 1;
    properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    std::size_t granularity = 0;
    properties.size = bytes;
    CALL(cuMulticastGetGranularity, &granularity, &properties, CU_MULTICAST_GRANULARITY_MINIMUM);
    properties.size = (bytes + granularity - 1) / granularity * granularity;
    CUmemGenericAllocationHandle object = 0;
    const CUresult result =
        Find<decltype(&cuMulticastCreate)>("cuMulticastCreate")(&object, &properties);
    if (result != CUDA_SUCCESS)
      throw Skipped("cuMulticastCreate for one device returned " + std::to_string(result));
    objects_.push_back(object);
    return properties.size;
  }
  void GiveBack() override {
    for (const auto object : objects_) CALL(cuMemRelease, object);
    objects_.clear();
  }
  std::vector<CUmemGenericAllocationHandle> objects_;
};
#endif

}  // namespace

std::unique_ptr<Family> MakeMappedFamily(const std::string& name) {
  if (name == "vmm") return std::make_unique<Mapped>();
  if (name == "vmm-imported") return std::make_unique<MappedAndImported>();
#if CUDA_VERSION >= 12010
  if (name == "multicast") return std::make_unique<Multicast>();
#endif
  return nullptr;
}

}  // namespace memprof::gpu_check
