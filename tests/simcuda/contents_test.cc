// Devices without contents (SIMCUDA=contents=none): reads return zeros, except for what small
// copies wrote since the last kernel; host memory keeps everything; device memory takes no memory
// of the machine.
#include <sys/mman.h>
#include <unistd.h>

#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=64GiB,overhead=0,contents=none");

constexpr char kNothingPtx[] =
    ".version 7.0\n.target sm_80\n.visible .entry nothing()\n{\n ret;\n}\n";

class ContentsTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuMemAlloc(&values_, kBytes));
    CHECK_CU(cuModuleLoadData(&module_, kNothingPtx));
    CHECK_CU(cuModuleGetFunction(&kernel_, module_, "nothing"));
  }
  void TearDown() override {
    CHECK_CU(cuMemFree(values_));
    DriverTest::TearDown();
  }
  void Launch() {
    CHECK_CU(cuLaunchKernel(kernel_, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  }
  unsigned First(CUdeviceptr address) {
    unsigned value = 0xdeadbeef;
    EXPECT_EQ(CUDA_SUCCESS, cuMemcpyDtoH(&value, address, 4));
    return value;
  }
  static constexpr size_t kBytes = 4 * kMiB;
  CUdeviceptr values_ = 0;
  CUmodule module_ = nullptr;
  CUfunction kernel_ = nullptr;
};

TEST_F(ContentsTest, SmallWritesLastUntilTheNextKernel) {
  const unsigned number = 42;
  EXPECT_EQ(First(values_), 0u);
  CHECK_CU(cuMemcpyHtoD(values_, &number, 4));
  CHECK_CU(cuMemcpyDtoD(values_ + 1024, values_, 4));
  EXPECT_EQ(First(values_), 42u);
  EXPECT_EQ(First(values_ + 1024), 42u);
  Launch();
  EXPECT_EQ(First(values_), 0u);
  CHECK_CU(cuMemsetD32(values_ + 8, 7, 2));
  EXPECT_EQ(First(values_ + 12), 7u);
  EXPECT_EQ(First(values_ + 16), 0u);
  CHECK_CU(cuMemsetD32(values_, 0, 1024));
  EXPECT_EQ(First(values_ + 12), 0u);
}

TEST_F(ContentsTest, OrderIsThatOfTheCallsInEveryStream) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  unsigned* pinned = nullptr;
  CHECK_CU(cuMemHostAlloc(reinterpret_cast<void**>(&pinned), 4096, 0));
  for (unsigned round = 1; round < 200; ++round) {
    pinned[0] = round;
    CHECK_CU(cuMemcpyHtoDAsync(values_, pinned, 4, stream));
    CHECK_CU(cuMemcpyDtoHAsync(pinned + 1, values_, 4, stream));
    Launch();
    CHECK_CU(cuMemcpyDtoHAsync(pinned + 2, values_, 4, stream));
    CHECK_CU(cuStreamSynchronize(stream));
    ASSERT_EQ(pinned[1], round);
    ASSERT_EQ(pinned[2], 0u) << "older than the kernel";
  }
  CHECK_CU(cuMemFreeHost(pinned));
  CHECK_CU(cuStreamDestroy(stream));
}

TEST_F(ContentsTest, LargeCopiesTakeNoMemory) {
  const std::vector<unsigned> data(kBytes / 4, 9);
  CHECK_CU(cuMemcpyHtoD(values_, data.data(), kBytes));
  CHECK_CU(cuMemsetD8(values_, 1, kBytes));
  const long page = sysconf(_SC_PAGESIZE);
  std::vector<unsigned char> resident(kBytes / static_cast<size_t>(page));
  ASSERT_EQ(0, mincore(reinterpret_cast<void*>(values_), kBytes, resident.data()));
  for (const unsigned char one : resident) ASSERT_EQ(one & 1, 0);
  EXPECT_EQ(First(values_), 0u);
}

TEST_F(ContentsTest, GraphsRunTheirCopies) {
  CUstream stream = nullptr;
  CHECK_CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CHECK_CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CHECK_CU(cuMemsetD8Async(values_, 3, 16, stream));
  CUgraph graph = nullptr;
  CHECK_CU(cuStreamEndCapture(stream, &graph));
  CUgraphExec exec = nullptr;
  CHECK_CU(cuGraphInstantiate(&exec, graph, 0));
  CHECK_CU(cuGraphLaunch(exec, stream));
  CHECK_CU(cuStreamSynchronize(stream));
  EXPECT_EQ(First(values_), 0u) << "a graph counts as having run kernels";
  CHECK_CU(cuGraphExecDestroy(exec));
  CHECK_CU(cuGraphDestroy(graph));
  CHECK_CU(cuStreamDestroy(stream));
}

TEST_F(ContentsTest, ManagedMemoryIsTheHostsToo) {
  CUdeviceptr managed = 0;
  CHECK_CU(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  const unsigned number = 17;
  CHECK_CU(cuMemcpyHtoD(managed, &number, 4));
  Launch();
  EXPECT_EQ(*reinterpret_cast<unsigned*>(managed), 17u);
  EXPECT_EQ(First(managed), 17u);
  CHECK_CU(cuMemFree(managed));
}

}  // namespace
}  // namespace memprof::simcuda
