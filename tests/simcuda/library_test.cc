// Libraries: one image in every context.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <set>
#include <string>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

constexpr char kLibraryPtx[] =
    ".version 8.0\n.target sm_90\n.visible .global .align 8 .u64 total;\n"
    ".entry one(.param .u32 a, .param .u64 b) { ret; }\n.entry two() { ret; }\n";

class LibraryTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuLibraryLoadData(&library_, kLibraryPtx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  }
  CUlibrary library_ = nullptr;
};

TEST_F(LibraryTest, KernelsAreFoundByName) {
  CUkernel one = nullptr;
  CUkernel again = nullptr;
  CHECK_CU(cuLibraryGetKernel(&one, library_, "one"));
  CHECK_CU(cuLibraryGetKernel(&again, library_, "one"));
  EXPECT_EQ(one, again);
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel(&again, library_, "three"));
  unsigned count = 0;
  CHECK_CU(cuLibraryGetKernelCount(&count, library_));
  ASSERT_EQ(count, 2u);
  CUkernel all[2] = {};
  CHECK_CU(cuLibraryEnumerateKernels(all, 2, library_));
  std::set<std::string> names;
  for (const CUkernel kernel : all) {
    const char* name = nullptr;
    CHECK_CU(cuKernelGetName(&name, kernel));
    names.insert(name);
    CUlibrary of = nullptr;
    CHECK_CU(cuKernelGetLibrary(&of, kernel));
    EXPECT_EQ(of, library_);
  }
  EXPECT_EQ(names, std::set<std::string>({"one", "two"}));
  size_t offset = 0;
  size_t size = 0;
  CHECK_CU(cuKernelGetParamInfo(one, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 8u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo(one, 2, &offset, &size));
  CHECK_CU(cuLibraryUnload(library_));
}

TEST_F(LibraryTest, EveryContextHasItsOwnModule) {
  CUkernel kernel = nullptr;
  CHECK_CU(cuLibraryGetKernel(&kernel, library_, "one"));
  CUfunction here = nullptr;
  CHECK_CU(cuKernelGetFunction(&here, kernel));
  CUdeviceptr total = 0;
  size_t bytes = 0;
  CHECK_CU(cuLibraryGetGlobal(&total, &bytes, library_, "total"));
  EXPECT_EQ(bytes, 8u);
  CUcontext second = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 1));
  CHECK_CU(cuCtxPushCurrent(second));
  CUfunction there = nullptr;
  CHECK_CU(cuKernelGetFunction(&there, kernel));
  EXPECT_NE(here, there);
  CUdeviceptr other = 0;
  CHECK_CU(cuLibraryGetGlobal(&other, nullptr, library_, "total"));
  EXPECT_NE(total, other);
  EXPECT_EQ(Memory(1).linear_bytes, 2 * kMiB);
  // A kernel handle can be launched directly, in the current context.
  unsigned a = 0;
  void* b = nullptr;
  void* params[] = {&a, &b};
  CHECK_CU(cuLaunchKernel(reinterpret_cast<CUfunction>(kernel), 1, 1, 1, 1, 1, 1, 0, nullptr,
                          params, nullptr));
  CHECK_CU(cuCtxPopCurrent(nullptr));
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
  CHECK_CU(cuLibraryUnload(library_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload(library_));
  EXPECT_EQ(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction(&here, kernel));
  EXPECT_EQ(Memory().linear_bytes, 0u);
}

TEST_F(LibraryTest, AttributesPerKernel) {
  CUkernel kernel = nullptr;
  CHECK_CU(cuLibraryGetKernel(&kernel, library_, "two"));
  CHECK_CU(cuKernelSetAttribute(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel, 0));
  int value = 0;
  CHECK_CU(
      cuKernelGetAttribute(&value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, 0));
  EXPECT_EQ(value, 65536);
  CHECK_CU(cuLibraryUnload(library_));
}

TEST_F(LibraryTest, ImagesComeFromFiles) {
  char path[] = "/tmp/simcuda_image_XXXXXX";
  const int descriptor = mkstemp(path);
  ASSERT_GE(descriptor, 0);
  ASSERT_EQ(write(descriptor, kLibraryPtx, sizeof(kLibraryPtx) - 1),
            static_cast<ssize_t>(sizeof(kLibraryPtx) - 1));
  close(descriptor);
  CUmodule module = nullptr;
  CHECK_CU(cuModuleLoad(&module, path));
  CUlibrary library = nullptr;
  CHECK_CU(cuLibraryLoadFromFile(&library, path, nullptr, nullptr, 0, nullptr, nullptr, 0));
  std::remove(path);
  CUfunction function = nullptr;
  CHECK_CU(cuModuleGetFunction(&function, module, "one"));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "none"));
  CUkernel kernel = nullptr;
  CHECK_CU(cuLibraryGetKernel(&kernel, library, "two"));
  EXPECT_EQ(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad(&module, path));
  CHECK_CU(cuLibraryUnload(library));
  CHECK_CU(cuLibraryUnload(library_));
}

}  // namespace
}  // namespace memprof::simcuda
