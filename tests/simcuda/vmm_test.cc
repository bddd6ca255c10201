// Virtual memory management: references, mappings, access.
#include <unistd.h>

#include <cstring>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

class VmmTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties_.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    access_.location = properties_.location;
    access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  CUmemAllocationProp properties_ = {};
  CUmemAccessDesc access_ = {};
};

TEST_F(VmmTest, GranularityIsOnePage) {
  size_t granularity = 0;
  CHECK_CU(
      cuMemGetAllocationGranularity(&granularity, &properties_, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_EQ(granularity, 2 * kMiB);
  CUmemGenericAllocationHandle handle = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, kMiB, &properties_, 0));
  EXPECT_EQ(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&handle, 2 * kGiB, &properties_, 0));
}

TEST_F(VmmTest, MemoryLivesWhileHandleOrMappingDoes) {
  CUmemGenericAllocationHandle handle = 0;
  CHECK_CU(cuMemCreate(&handle, 8 * kMiB, &properties_, 0));
  EXPECT_EQ(Memory().vmm_bytes, 8 * kMiB);
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, 64 * kMiB, 0, 0, 0));
  EXPECT_EQ(Memory().vmm_bytes, 8 * kMiB);
  CHECK_CU(cuMemMap(address, 8 * kMiB, 0, handle, 0));
  CHECK_CU(cuMemRelease(handle));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemRelease(handle));
  EXPECT_EQ(Memory().vmm_bytes, 8 * kMiB);
  // The mapping still identifies the handle.
  CUmemGenericAllocationHandle again = 0;
  CHECK_CU(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(address + 5)));
  EXPECT_EQ(again, handle);
  CHECK_CU(cuMemUnmap(address, 8 * kMiB));
  EXPECT_EQ(Memory().vmm_bytes, 8 * kMiB);
  CHECK_CU(cuMemRelease(again));
  EXPECT_EQ(Memory().vmm_bytes, 0u);
  CHECK_CU(cuMemAddressFree(address, 64 * kMiB));
}

TEST_F(VmmTest, MappingsShareMemory) {
  CUmemGenericAllocationHandle handle = 0;
  CHECK_CU(cuMemCreate(&handle, 4 * kMiB, &properties_, 0));
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, 8 * kMiB, 0, 0, 0));
  CHECK_CU(cuMemMap(address, 4 * kMiB, 0, handle, 0));
  CHECK_CU(cuMemMap(address + 4 * kMiB, 4 * kMiB, 0, handle, 0));
  EXPECT_EQ(Memory().vmm_bytes, 4 * kMiB);
  // Without access, the memory cannot be written.
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(address, 1, 100));
  CHECK_CU(cuMemSetAccess(address, 8 * kMiB, &access_, 1));
  CHECK_CU(cuMemsetD8(address, 9, 4 * kMiB));
  unsigned char value = 0;
  CHECK_CU(cuMemcpyDtoH(&value, address + 8 * kMiB - 1, 1));
  EXPECT_EQ(value, 9);
  // A fill may cross the border between two mappings.
  CHECK_CU(cuMemsetD8(address + kMiB, 7, 6 * kMiB));
  unsigned long long flags = 0;
  CUmemLocation location = properties_.location;
  CHECK_CU(cuMemGetAccess(&flags, &location, address));
  EXPECT_EQ(flags, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CHECK_CU(cuMemUnmap(address, 8 * kMiB));
  CHECK_CU(cuMemAddressFree(address, 8 * kMiB));
  CHECK_CU(cuMemRelease(handle));
}

TEST_F(VmmTest, WrongRangesAreRefused) {
  CUmemGenericAllocationHandle handle = 0;
  CHECK_CU(cuMemCreate(&handle, 4 * kMiB, &properties_, 0));
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, 8 * kMiB, 0, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + 6 * kMiB, 4 * kMiB, 0, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, 6 * kMiB, 0, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, 4 * kMiB, 2 * kMiB, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address, 4 * kMiB, 0, handle + 8, 0));
  CHECK_CU(cuMemMap(address, 4 * kMiB, 0, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemMap(address + 2 * kMiB, 2 * kMiB, 0, handle, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, 2 * kMiB));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(address, 8 * kMiB));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess(address + 4 * kMiB, 4 * kMiB, &access_, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 8 * kMiB));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(address));
  CHECK_CU(cuMemUnmap(address, 4 * kMiB));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(address, 4 * kMiB));
  CHECK_CU(cuMemAddressFree(address, 8 * kMiB));
  CHECK_CU(cuMemRelease(handle));
}

TEST_F(VmmTest, UnmapCoversSeveralMappings) {
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, kGiB * 64, 0, 0, 0));
  CUmemGenericAllocationHandle handles[3];
  for (int i = 0; i < 3; ++i) {
    CHECK_CU(cuMemCreate(&handles[i], 2 * kMiB, &properties_, 0));
    CHECK_CU(cuMemMap(address + static_cast<size_t>(i) * 2 * kMiB, 2 * kMiB, 0, handles[i], 0));
    CHECK_CU(cuMemRelease(handles[i]));
  }
  EXPECT_EQ(Memory().vmm_bytes, 6 * kMiB);
  CHECK_CU(cuMemUnmap(address + 2 * kMiB, 4 * kMiB));
  EXPECT_EQ(Memory().vmm_bytes, 2 * kMiB);
  CHECK_CU(cuMemUnmap(address, 2 * kMiB));
  CHECK_CU(cuMemAddressFree(address, kGiB * 64));
}

TEST_F(VmmTest, HandlesTravelAsDescriptors) {
  properties_.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CUmemGenericAllocationHandle handle = 0;
  CHECK_CU(cuMemCreate(&handle, 2 * kMiB, &properties_, 0));
  int descriptor = -1;
  CHECK_CU(cuMemExportToShareableHandle(&descriptor, handle,
                                        CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  CUmemGenericAllocationHandle imported = 0;
  CHECK_CU(cuMemImportFromShareableHandle(
      &imported, reinterpret_cast<void*>(static_cast<intptr_t>(descriptor)),
      CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
  close(descriptor);
  EXPECT_EQ(Memory().vmm_bytes, 2 * kMiB);
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAddressReserve(&address, 4 * kMiB, 0, 0, 0));
  CHECK_CU(cuMemMap(address, 2 * kMiB, 0, handle, 0));
  CHECK_CU(cuMemMap(address + 2 * kMiB, 2 * kMiB, 0, imported, 0));
  CHECK_CU(cuMemSetAccess(address, 4 * kMiB, &access_, 1));
  CHECK_CU(cuMemsetD32(address, 0xabcd, 16));
  unsigned value = 0;
  CHECK_CU(cuMemcpyDtoH(&value, address + 2 * kMiB, sizeof(value)));
  EXPECT_EQ(value, 0xabcdu);
  CHECK_CU(cuMemUnmap(address, 4 * kMiB));
  CHECK_CU(cuMemRelease(handle));
  CHECK_CU(cuMemRelease(imported));
  CHECK_CU(cuMemAddressFree(address, 4 * kMiB));
}

}  // namespace
}  // namespace memprof::simcuda
