// Launches: attributes of their streams, cooperative ones, kernels of linked code.
#include <string>

#include "tests/simcuda/graph_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0");

TEST_F(GraphTest, StreamsKeepTheirAttributes) {
  CUstreamAttrValue value = {};
  value.accessPolicyWindow.num_bytes = 4096;
  value.accessPolicyWindow.hitRatio = 0.5F;
  CHECK_CU(cuStreamSetAttribute(stream_, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &value));
  CHECK_CU(cuStreamCopyAttributes(other_, stream_));
  CUstreamAttrValue found = {};
  CHECK_CU(cuStreamGetAttribute(other_, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, &found));
  EXPECT_EQ(found.accessPolicyWindow.num_bytes, 4096u);
  CHECK_CU(cuStreamGetAttribute(other_, CU_STREAM_ATTRIBUTE_SYNCHRONIZATION_POLICY, &found));
  EXPECT_EQ(found.syncPolicy, 0);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuStreamSetAttribute(stream_, CU_STREAM_ATTRIBUTE_ACCESS_POLICY_WINDOW, nullptr));
}

TEST_F(GraphTest, CooperativeLaunchesFitTheDevice) {
  int cooperates = 0;
  CHECK_CU(cuDeviceGetAttribute(&cooperates, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 0));
  EXPECT_EQ(cooperates, 1);
  int multiprocessors = 0;
  CHECK_CU(cuDeviceGetAttribute(&multiprocessors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0));
  int blocks = 0;
  CHECK_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, twice_, 256, 0));
  const auto all = static_cast<unsigned>(blocks * multiprocessors);
  void* params[] = {&values_};
  CHECK_CU(cuMemsetD32(values_, 1, 8));
  CHECK_CU(cuLaunchCooperativeKernel(twice_, all, 1, 1, 256, 1, 1, 0, stream_, params));
  CHECK_CU(cuStreamSynchronize(stream_));
  EXPECT_EQ(First(), 2u);
  EXPECT_EQ(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
            cuLaunchCooperativeKernel(twice_, all + 1, 1, 1, 256, 1, 1, 0, stream_, params));
}

TEST_F(GraphTest, LinkedPtxHasTheKernelsOfAll) {
  CUlinkState linker = nullptr;
  CHECK_CU(cuLinkCreate(0, nullptr, nullptr, &linker));
  std::string one = kTwicePtx;
  std::string two = ".version 8.0\n.target sm_90\n.entry other(.param .u32 n) { ret; }\n";
  CHECK_CU(cuLinkAddData(linker, CU_JIT_INPUT_PTX, one.data(), one.size() + 1, "one", 0, nullptr,
                         nullptr));
  CHECK_CU(
      cuLinkAddData(linker, CU_JIT_INPUT_PTX, two.data(), two.size(), "two", 0, nullptr, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_PTX,
            cuLinkAddData(linker, CU_JIT_INPUT_PTX, one.data(), 3, "cut", 0, nullptr, nullptr));
  void* cubin = nullptr;
  size_t bytes = 0;
  CHECK_CU(cuLinkComplete(linker, &cubin, &bytes));
  EXPECT_GT(bytes, one.size() + two.size());
  CUmodule module = nullptr;
  CHECK_CU(cuModuleLoadData(&module, cubin));
  CUfunction function = nullptr;
  EXPECT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "twice"));
  EXPECT_EQ(CUDA_SUCCESS, cuModuleGetFunction(&function, module, "other"));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction(&function, module, "neither"));
  CHECK_CU(cuModuleUnload(module));
  CHECK_CU(cuLinkDestroy(linker));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuLinkComplete(linker, &cubin, &bytes));
}

}  // namespace
}  // namespace memprof::simcuda
