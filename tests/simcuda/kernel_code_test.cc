// The memory that the code of kernels takes.
#include "simcuda/driver/kernel_code.h"

#include <cstdlib>
#include <random>
#include <vector>

#include "driver_fixture.h"
#include "simcuda/driver/device_memory.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("gpu=RTX3060-12GB");

constexpr char kProgramPtx[] = ".version 8.0\n.target sm_50\n.visible .entry one() { ret; }\n";
constexpr uint64_t kProgram = 64 << 10;
constexpr uint64_t kCudnn = 8 << 20;

class KernelCodeTest : public DriverTest {
 protected:
  void TearDown() override {
    unsetenv("CUDA_MODULE_LOADING");
    DriverTest::TearDown();
  }
  static CUmodule Load(const char* image) {
    CUmodule module = nullptr;
    EXPECT_EQ(CUDA_SUCCESS, cuModuleLoadData(&module, image));
    return module;
  }
};

TEST_F(KernelCodeTest, ModulesShareAPage) {
  EXPECT_EQ(Memory().context_bytes, 68 * kMiB);
  EXPECT_EQ(Memory().code_bytes, 0u);
  for (int i = 0; i < 32; ++i) Load(kProgramPtx);
  EXPECT_EQ(Memory().code_bytes, kPageBytes);
  Load(kProgramPtx);
  EXPECT_EQ(Memory().code_bytes, 2 * kPageBytes);
}

TEST_F(KernelCodeTest, CuMemGetInfoShowsIt) {
  size_t before = 0, after = 0, total = 0;
  CHECK_CU(cuMemGetInfo(&before, &total));
  Load(simcuda_library_image("cuDNN"));
  CHECK_CU(cuMemGetInfo(&after, &total));
  EXPECT_EQ(before - after, kCudnn);
}

TEST_F(KernelCodeTest, AnUnloadGivesItBack) {
  const CUmodule cudnn = Load(simcuda_library_image("cuDNN"));
  const CUmodule program = Load(kProgramPtx);
  CHECK_CU(cuModuleUnload(cudnn));
  EXPECT_EQ(Memory().code_bytes, kPageBytes);
  CHECK_CU(cuModuleUnload(program));
  EXPECT_EQ(Memory().code_bytes, 0u);
}

TEST_F(KernelCodeTest, AsAPlainSum) {
  std::mt19937 random(11);
  std::vector<std::pair<CUmodule, uint64_t>> loaded;
  for (int i = 0; i < 300; ++i) {
    if (!loaded.empty() && random() % 3 == 0) {
      const size_t at = random() % loaded.size();
      CHECK_CU(cuModuleUnload(loaded[at].first));
      loaded.erase(loaded.begin() + static_cast<std::ptrdiff_t>(at));
    } else {
      const bool cudnn = random() % 8 == 0;
      loaded.emplace_back(Load(cudnn ? simcuda_library_image("cuDNN") : kProgramPtx),
                          cudnn ? kCudnn : kProgram);
    }
    uint64_t sum = 0;
    for (const auto& [module, bytes] : loaded) sum += bytes;
    ASSERT_EQ(Memory().code_bytes, RoundUp(sum, kPageBytes));
  }
}

TEST_F(KernelCodeTest, EagerlyTheFirstModuleBringsAll) {
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);
  CUmoduleLoadingMode mode = CU_MODULE_LAZY_LOADING;
  CHECK_CU(cuModuleGetLoadingMode(&mode));
  EXPECT_EQ(mode, CU_MODULE_EAGER_LOADING);
  Load(kProgramPtx);
  EXPECT_EQ(Memory().code_bytes, 362 * kMiB);
  Load(kProgramPtx);
  EXPECT_EQ(Memory().code_bytes, 362 * kMiB);
}

TEST_F(KernelCodeTest, AFullDeviceTakesWhatFits) {
  CUdeviceptr most = 0;
  CHECK_CU(cuMemAlloc(&most, Memory().free_bytes - 3 * kMiB));
  Load(simcuda_library_image("cuDNN"));
  EXPECT_EQ(Memory().code_bytes, kPageBytes);
  CHECK_CU(cuMemFree(most));
}

TEST_F(KernelCodeTest, OnlyTheNamedLibrariesHaveAnImage) {
  EXPECT_NE(simcuda_library_image("cuBLAS"), nullptr);
  EXPECT_EQ(simcuda_library_image("cuFFT"), nullptr);
  EXPECT_EQ(simcuda_library_image(nullptr), nullptr);
}

}  // namespace
}  // namespace memprof::simcuda
