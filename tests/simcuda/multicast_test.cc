// Multicast objects: their devices, bindings and their bounds, mappings.
#include <fcntl.h>
#include <unistd.h>

#include <map>
#include <random>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=256MiB,overhead=0,devices=3");
constexpr size_t kPage = 2 * kMiB;

class MulticastTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    properties_.numDevices = 2;
    properties_.size = 8 * kPage;
    CHECK_CU(cuMulticastCreate(&object_, &properties_));
    for (int device = 0; device < 3; ++device) {
      CUmemAllocationProp memory = {};
      memory.type = CU_MEM_ALLOCATION_TYPE_PINNED;
      memory.location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
      CHECK_CU(cuMemCreate(&memory_[device], 4 * kPage, &memory, 0));
    }
  }
  void TearDown() override {
    for (const auto handle : memory_) {
      if (handle != 0) {
        CHECK_CU(cuMemRelease(handle));
      }
    }
    CHECK_CU(cuMemRelease(object_));
    for (int device = 0; device < 3; ++device) EXPECT_EQ(Memory(device).vmm_bytes, 0u);
    DriverTest::TearDown();
  }
  void AddBoth() {
    CHECK_CU(cuMulticastAddDevice(object_, 0));
    CHECK_CU(cuMulticastAddDevice(object_, 1));
  }
  CUresult Bind(int device, size_t at, size_t offset, size_t bytes) {
    return cuMulticastBindMem(object_, at, memory_[device], offset, bytes, 0);
  }
  CUmulticastObjectProp properties_ = {};
  CUmemGenericAllocationHandle object_ = 0;
  CUmemGenericAllocationHandle memory_[3] = {};
};

TEST_F(MulticastTest, PropertiesAreChecked) {
  int supported = 0;
  CHECK_CU(cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, 0));
  EXPECT_EQ(supported, 1);
  size_t granularity = 0;
  for (const auto option :
       {CU_MULTICAST_GRANULARITY_MINIMUM, CU_MULTICAST_GRANULARITY_RECOMMENDED}) {
    CHECK_CU(cuMulticastGetGranularity(&granularity, &properties_, option));
    EXPECT_EQ(granularity, kPage);
  }
  const struct {
    unsigned devices;
    size_t bytes;
    unsigned long long types;
    unsigned long long flags;
    CUresult expected;
  } cases[] = {
      {0, kPage, 0, 0, CUDA_ERROR_INVALID_VALUE}, {4, kPage, 0, 0, CUDA_ERROR_INVALID_DEVICE},
      {2, 0, 0, 0, CUDA_ERROR_INVALID_VALUE},     {2, kPage + 4096, 0, 0, CUDA_ERROR_INVALID_VALUE},
      {2, kPage, 8, 0, CUDA_ERROR_NOT_SUPPORTED}, {2, kPage, 0, 1, CUDA_ERROR_INVALID_VALUE}};
  for (const auto& one : cases) {
    CUmulticastObjectProp properties = {};
    properties.numDevices = one.devices;
    properties.size = one.bytes;
    properties.handleTypes = one.types;
    properties.flags = one.flags;
    CUmemGenericAllocationHandle none = 0;
    EXPECT_EQ(one.expected, cuMulticastCreate(&none, &properties)) << one.devices << one.bytes;
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(nullptr, &properties_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastCreate(&object_, nullptr));
}

TEST_F(MulticastTest, TheTeamIsCompleteBeforeAnythingElse) {
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(memory_[0], 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMulticastAddDevice(object_, 3));
  CHECK_CU(cuMulticastAddDevice(object_, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object_, 0));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, Bind(0, 0, 0, kPage));
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, 8 * kPage, 0, 0, 0));
  EXPECT_EQ(CUDA_ERROR_NOT_READY, cuMemMap(address, 8 * kPage, 0, object_, 0));
  CHECK_CU(cuMulticastAddDevice(object_, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastAddDevice(object_, 2));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, Bind(2, 0, 0, kPage));
  CHECK_CU(Bind(0, 0, 0, kPage));
  // The mapped object can be written to; the mapping takes no more memory.
  CHECK_CU(cuMemMap(address, 8 * kPage, 0, object_, 0));
  const CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, {0}},
                                  CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CHECK_CU(cuMemSetAccess(address, 8 * kPage, &access, 1));
  CHECK_CU(cuMemsetD8(address + 8 * kPage - 1, 8, 1));
  EXPECT_EQ(Memory(0).vmm_bytes, 4 * kPage);
  CHECK_CU(cuMemUnmap(address, 8 * kPage));
  CHECK_CU(cuMemAddressFree(address, 8 * kPage));
}

TEST_F(MulticastTest, BoundMemoryLivesUntilItIsUnbound) {
  AddBoth();
  CHECK_CU(Bind(0, 2 * kPage, kPage, 3 * kPage));
  CHECK_CU(cuMemRelease(memory_[0]));
  memory_[0] = 0;
  EXPECT_EQ(Memory(0).vmm_bytes, 4 * kPage);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object_, 0, kPage, 3 * kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object_, 0, 2 * kPage, kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastUnbind(object_, 1, 2 * kPage, 3 * kPage));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMulticastUnbind(object_, 2, 2 * kPage, 3 * kPage));
  CHECK_CU(cuMulticastUnbind(object_, 0, 2 * kPage, 3 * kPage));
  EXPECT_EQ(Memory(0).vmm_bytes, 0u);
  // A binding also ends with the object.
  CHECK_CU(Bind(1, 0, 0, kPage));
  CHECK_CU(cuMemRelease(memory_[1]));
  memory_[1] = 0;
  EXPECT_EQ(Memory(1).vmm_bytes, 4 * kPage);
}

TEST_F(MulticastTest, AddressesAreBoundThroughTheirMapping) {
  AddBoth();
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, 8 * kPage, 0, 0, 0));
  CHECK_CU(cuMemMap(address, 2 * kPage, 2 * kPage, memory_[1], 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object_, 0, address, 3 * kPage, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object_, 0, address + 4096, kPage, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuMulticastBindAddr(object_, 0, address + 2 * kPage, kPage, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMulticastBindAddr(object_, 0, address, kPage, 1));
  CHECK_CU(cuMulticastBindAddr(object_, 0, address + kPage, kPage, 0));
  CHECK_CU(cuMulticastUnbind(object_, 1, 0, kPage));
  CHECK_CU(cuMemUnmap(address, 2 * kPage));
  CHECK_CU(cuMemAddressFree(address, 8 * kPage));
}

TEST_F(MulticastTest, ObjectsTravelAsDescriptors) {
  CUmulticastObjectProp properties = properties_;
  properties.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle shared = 0;
  CHECK_CU(cuMulticastCreate(&shared, &properties));
  int file = -1;
  CHECK_CU(
      cuMemExportToShareableHandle(&file, shared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_GE(fcntl(file, F_GETFD), 0);
  close(file);
  EXPECT_EQ(
      CUDA_ERROR_NOT_SUPPORTED,
      cuMemExportToShareableHandle(&file, object_, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CHECK_CU(cuMemRelease(shared));
}

// Random bindings against a model of the pages.
TEST_F(MulticastTest, RandomBindingsAgreeWithTwin) {
  AddBoth();
  bool taken[2][8] = {};
  std::map<std::pair<int, size_t>, size_t> bound;
  std::mt19937 random(9);
  for (int round = 0; round < 1000; ++round) {
    const int device = static_cast<int>(random() % 2);
    const size_t at = random() % 9;
    const size_t pages = random() % 5;
    const size_t offset = random() % 5;
    if (random() % 2 == 0) {
      bool good = pages > 0 && at + pages <= 8 && offset + pages <= 4;
      for (size_t i = at; good && i < at + pages; ++i) good = !taken[device][i];
      ASSERT_EQ(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
                Bind(device, at * kPage, offset * kPage, pages * kPage));
      for (size_t i = at; good && i < at + pages; ++i) taken[device][i] = true;
      if (good) bound[{device, at}] = pages;
    } else {
      const auto found = bound.find({device, at});
      const bool good = found != bound.end() && found->second == pages;
      ASSERT_EQ(good ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE,
                cuMulticastUnbind(object_, device, at * kPage, pages * kPage));
      if (!good) continue;
      for (size_t i = at; i < at + pages; ++i) taken[device][i] = false;
      bound.erase(found);
    }
  }
}

}  // namespace
}  // namespace memprof::simcuda
