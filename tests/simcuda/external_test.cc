// Memory imported from other interfaces by file descriptor.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

class ExternalTest : public DriverTest {
 protected:
  // A file in memory with a pattern, as another interface would export its memory.
  int File(size_t bytes) {
    const int file = memfd_create("external", MFD_CLOEXEC);
    std::vector<unsigned char> content(bytes);
    for (size_t i = 0; i < bytes; ++i) content[i] = static_cast<unsigned char>(i / 1000);
    EXPECT_EQ(pwrite(file, content.data(), bytes, 0), static_cast<ssize_t>(bytes));
    return file;
  }
  CUDA_EXTERNAL_MEMORY_HANDLE_DESC Describe(int file, size_t bytes) {
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description = {};
    description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD;
    description.handle.fd = file;
    description.size = bytes;
    return description;
  }
};

TEST_F(ExternalTest, BuffersAreViewsOfTheObject) {
  const int file = File(100000);
  const int kept = dup(file);
  const auto description = Describe(file, 100000);
  CUexternalMemory memory = nullptr;
  CHECK_CU(cuImportExternalMemory(&memory, &description));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {};
  part.offset = 5000;
  part.size = 20000;
  CUdeviceptr buffer = 0;
  CHECK_CU(cuExternalMemoryGetMappedBuffer(&buffer, memory, &part));
  unsigned char bytes[2] = {};
  CHECK_CU(cuMemcpyDtoH(&bytes[0], buffer, 1));
  CHECK_CU(cuMemcpyDtoH(&bytes[1], buffer + 19999, 1));
  EXPECT_EQ(bytes[0], 5);
  EXPECT_EQ(bytes[1], 24);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(&bytes[0], buffer + 20000, 1));
  CHECK_CU(cuMemsetD8(buffer, 200, 10));
  ASSERT_EQ(pread(kept, bytes, 2, 5009), 2);
  EXPECT_EQ(bytes[0], 200);
  EXPECT_EQ(bytes[1], 5);
  unsigned type = 0;
  CHECK_CU(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, buffer));
  EXPECT_EQ(type, unsigned{CU_MEMORYTYPE_DEVICE});
  // The buffer takes no device memory, and outlives the object until it is freed.
  EXPECT_EQ(Memory().free_bytes, kGiB);
  EXPECT_EQ(Memory().live_allocations, 1u);
  CHECK_CU(cuDestroyExternalMemory(memory));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuDestroyExternalMemory(memory));
  EXPECT_EQ(fcntl(file, F_GETFD), -1);  // the driver owned the descriptor and has closed it
  CHECK_CU(cuMemcpyDtoH(&bytes[0], buffer + 1000, 1));
  EXPECT_EQ(bytes[0], 6);
  CHECK_CU(cuMemFree(buffer));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(buffer));
  close(kept);
}

TEST_F(ExternalTest, BuffersMayBeFreedInStreamOrder) {
  const auto description = Describe(File(8192), 8192);
  CUexternalMemory memory = nullptr;
  CHECK_CU(cuImportExternalMemory(&memory, &description));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC all = {};
  all.size = 8192;
  CUdeviceptr one = 0;
  CUdeviceptr two = 0;
  CHECK_CU(cuExternalMemoryGetMappedBuffer(&one, memory, &all));
  CHECK_CU(cuExternalMemoryGetMappedBuffer(&two, memory, &all));
  CHECK_CU(cuMemsetD8(one, 9, 8192));
  unsigned char byte = 0;
  CHECK_CU(cuMemcpyDtoH(&byte, two + 8191, 1));
  EXPECT_EQ(byte, 9);
  CHECK_CU(cuMemFreeAsync(one, nullptr));
  CHECK_CU(cuMemFreeAsync(two, nullptr));
  CHECK_CU(cuCtxSynchronize());
  EXPECT_EQ(Memory().live_allocations, 0u);
  CHECK_CU(cuDestroyExternalMemory(memory));
}

TEST_F(ExternalTest, TheObjectEndsWhereItWasSaidTo) {
  // The file is larger than the object.
  const auto description = Describe(File(8192), 4096);
  CUexternalMemory memory = nullptr;
  CHECK_CU(cuImportExternalMemory(&memory, &description));
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {};
  part.offset = 96;
  part.size = 4001;
  CUdeviceptr buffer = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&buffer, memory, &part));
  part.size = 4000;
  CHECK_CU(cuExternalMemoryGetMappedBuffer(&buffer, memory, &part));
  CHECK_CU(cuMemFree(buffer));
  CHECK_CU(cuDestroyExternalMemory(memory));
}

TEST_F(ExternalTest, BadDescriptionsAreRefused) {
  CUexternalMemory memory = nullptr;
  const int file = File(4096);
  struct {
    const char* what;
    CUresult expected;
    CUDA_EXTERNAL_MEMORY_HANDLE_DESC description;
  } cases[] = {
      {"no size", CUDA_ERROR_INVALID_VALUE, Describe(file, 0)},
      {"larger than the file", CUDA_ERROR_INVALID_HANDLE, Describe(file, 4097)},
      {"no descriptor", CUDA_ERROR_INVALID_HANDLE, Describe(-1, 4096)},
      {"another type", CUDA_ERROR_NOT_SUPPORTED, Describe(file, 4096)},
      {"unknown flags", CUDA_ERROR_INVALID_VALUE, Describe(file, 4096)},
  };
  cases[3].description.type = CU_EXTERNAL_MEMORY_HANDLE_TYPE_D3D12_HEAP;
  cases[4].description.flags = 64;
  for (const auto& one : cases) {
    EXPECT_EQ(one.expected, cuImportExternalMemory(&memory, &one.description)) << one.what;
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuImportExternalMemory(&memory, nullptr));
  // After failed imports the descriptor still belongs to the caller.
  EXPECT_GE(fcntl(file, F_GETFD), 0);
  const auto description = Describe(file, 4096);
  CHECK_CU(cuImportExternalMemory(&memory, &description));
  const struct {
    unsigned long long offset;
    unsigned long long size;
    unsigned flags;
  } parts[] = {{0, 0, 0}, {0, 4097, 0}, {4096, 1, 0}, {~0ull, 2, 0}, {1, ~0ull, 0}, {0, 1, 1}};
  for (const auto& one : parts) {
    CUDA_EXTERNAL_MEMORY_BUFFER_DESC part = {};
    part.offset = one.offset;
    part.size = one.size;
    part.flags = one.flags;
    CUdeviceptr buffer = 0;
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuExternalMemoryGetMappedBuffer(&buffer, memory, &part))
        << one.offset << " " << one.size;
  }
  CHECK_CU(cuDestroyExternalMemory(memory));
}

}  // namespace
}  // namespace memprof::simcuda
