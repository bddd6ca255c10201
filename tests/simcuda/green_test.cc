// Green contexts: subsets of the multiprocessors, and memory that ends with the primary context.
#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64MiB,overhead=16MiB");

class GreenTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CUdevResource all = {};
    CHECK_CU(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
    unsigned groups = 1;
    CHECK_CU(cuDevSmResourceSplitByCount(&part_, &groups, &all, nullptr, 0, 5));
    CHECK_CU(cuDevResourceGenerateDesc(&description_, &part_, 1));
    CHECK_CU(cuGreenCtxCreate(&green_, description_, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  }
  CUdevResource part_ = {};
  CUdevResourceDesc description_ = nullptr;
  CUgreenCtx green_ = nullptr;
};

TEST_F(GreenTest, PartsAreWhole) {
  EXPECT_EQ(part_.sm.smCount, 8u);
  CUdevResource all = {}, rest = {}, parts[8] = {};
  CHECK_CU(cuDeviceGetDevResource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  unsigned groups = 0;
  CHECK_CU(cuDevSmResourceSplitByCount(nullptr, &groups, &all, nullptr, 0, 12));
  EXPECT_EQ(groups, all.sm.smCount / 16);
  groups = 1;
  CHECK_CU(cuDevSmResourceSplitByCount(parts, &groups, &all, &rest, 0, 12));
  EXPECT_EQ(parts[0].sm.smCount + rest.sm.smCount, all.sm.smCount);
  EXPECT_EQ(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION,
            cuDevSmResourceSplitByCount(parts, &groups, &all, &rest, 0, all.sm.smCount + 1));
  CUdevResource own = {};
  CHECK_CU(cuGreenCtxGetDevResource(green_, &own, CU_DEV_RESOURCE_TYPE_SM));
  EXPECT_EQ(own.sm.smCount, 8u);
  CHECK_CU(cuGreenCtxDestroy(green_));
}

TEST_F(GreenTest, TakesNoMemoryAndLeavesWhatWasAllocated) {
  EXPECT_EQ(Memory().context_bytes, 16 * kMiB);
  CUcontext context = nullptr, again = nullptr;
  CHECK_CU(cuCtxFromGreenCtx(&context, green_));
  CHECK_CU(cuCtxFromGreenCtx(&again, green_));
  EXPECT_EQ(context, again);
  EXPECT_NE(context, context_);
  CHECK_CU(cuCtxSetCurrent(context));
  CUdeviceptr memory = 0;
  CHECK_CU(cuMemAlloc(&memory, 3 * kMiB));
  CUstream stream = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate(&stream, green_, 0, 0));
  CHECK_CU(cuGreenCtxStreamCreate(&stream, green_, CU_STREAM_NON_BLOCKING, 0));
  CHECK_CU(cuMemsetD8Async(memory, 1, kMiB, stream));
  CHECK_CU(cuGreenCtxDestroy(green_));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuGreenCtxDestroy(green_));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxFromGreenCtx(&context, green_));
  EXPECT_EQ(Memory().linear_bytes, 4 * kMiB);
  CHECK_CU(cuCtxSetCurrent(context_));
  CHECK_CU(cuDevicePrimaryCtxRelease(0));
  EXPECT_EQ(Memory().linear_bytes, 0u);
  EXPECT_EQ(Memory().context_bytes, 0u);
}

TEST_F(GreenTest, HoldsThePrimaryContext) {
  CHECK_CU(cuDevicePrimaryCtxRelease(0));
  unsigned flags = 0;
  int active = 0;
  CHECK_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 1);
  CHECK_CU(cuGreenCtxDestroy(green_));
  CHECK_CU(cuDevicePrimaryCtxGetState(0, &flags, &active));
  EXPECT_EQ(active, 0);
}

}  // namespace
}  // namespace memprof::simcuda
