// Calls that a source reports as an entry and an exit: what is kept between the two, and what
// happens when one of them is missing.
#include "libmemprof/src/sources/driver_calls.h"

#include <string>
#include <vector>

#include "libmemprof/src/sources/source_host.h"
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

struct AllocParameters {
  CUdeviceptr* pointer;
  std::size_t bytes;
};
struct FreeParameters {
  CUdeviceptr pointer;
};

class DriverCalls : public HooksTest {
 protected:
  // The entry and the exit of one call.
  struct ReportedCall {
    ReportedCall(const char* name, const void* parameters)
        : call{SourceTable().function_id(name), 0, 0, parameters, &kept} {}
    void Enter() { SourceTable().driver_call(&call); }
    void Exit(CUresult result = CUDA_SUCCESS) {
      call.is_exit = 1;
      call.result = static_cast<std::uint32_t>(result);
      SourceTable().driver_call(&call);
    }
    std::uint64_t kept = 0xdddddddddddddddd;
    SourceCall call;
  };
  std::vector<std::string> Story() {
    std::vector<std::string> story;
    for (const Event& event : Finish().events)
      if (event.op == log::OP_ALLOC || event.op == log::OP_FREE ||
          event.op == log::OP_ALLOC_FAILED || event.op == log::OP_FREE_FAILED)
        story.push_back(log::Op_Name(event.op) + " " + std::to_string(event.address));
    return story;
  }
};

TEST_F(DriverCalls, HaveANumberWhereTheyAreEvents) {
  EXPECT_GE(SourceTable().function_id("cuMemAlloc_v2"), 0);
  EXPECT_GE(SourceTable().function_id("cuGraphLaunch_ptsz"), 0);
  for (const char* name : {"cuInit", "cuGetProcAddress_v2", "cuMemcpyHtoD_v2", "cuMemAlloc", ""})
    EXPECT_EQ(SourceTable().function_id(name), -1) << name;
  EXPECT_EQ(SourceTable().function_id(nullptr), -1);
}

TEST_F(DriverCalls, AnAllocationWhoseEntryWasNotSeenIsRecorded) {
  Start();
  CUdeviceptr pointer = 4096;
  const AllocParameters parameters{&pointer, 64};
  ReportedCall("cuMemAlloc_v2", &parameters).Exit();
  EXPECT_THAT(Story(), ElementsAre("OP_ALLOC 4096"));
}

TEST_F(DriverCalls, AFreeWhoseEntryWasNotSeenIsNotTakenBack) {
  Start();
  const FreeParameters parameters{4096};
  ReportedCall("cuMemFree_v2", &parameters).Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(Story(), IsEmpty());
}

TEST_F(DriverCalls, WithinACallAnotherOneMayBeSeen) {
  Start();
  const FreeParameters outer{4096}, inner{8192};
  ReportedCall first("cuMemFree_v2", &outer), second("cuMemFree_v2", &inner);
  first.Enter();
  second.Enter();
  second.Exit();
  first.Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(Story(), ElementsAre("OP_FREE 4096", "OP_FREE 8192", "OP_FREE_FAILED 4096"));
}

// More calls than can be kept at once, as from a source that stopped listening during each.
TEST_F(DriverCalls, ThatNeverEndAreForgottenWhenListeningBeginsAnew) {
  Start();
  const FreeParameters parameters{4096};
  for (int i = 0; i < 300; ++i) ReportedCall("cuMemFree_v2", &parameters).Enter();
  ClearDriverCalls();
  ReportedCall call("cuMemFree_v2", &parameters);
  call.Enter();
  call.Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Story().back(), "OP_FREE_FAILED 4096");
}

TEST_F(DriverCalls, AnExitIsTakenOnce) {
  Start();
  const FreeParameters parameters{4096};
  ReportedCall call("cuMemFree_v2", &parameters);
  call.Enter();
  call.Exit(CUDA_ERROR_INVALID_VALUE);
  call.Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_THAT(Story(), ElementsAre("OP_FREE 4096", "OP_FREE_FAILED 4096"));
}

TEST_F(DriverCalls, AFailureWithoutOutputsIsSafe) {
  Start();
  const AllocParameters linear{nullptr, 10};
  ReportedCall("cuMemAlloc_v2", &linear).Exit(CUDA_ERROR_INVALID_VALUE);
  const struct {
    CUdeviceptr* pointer;
    std::size_t* pitch;
    std::size_t width, height;
    unsigned element;
  } pitched{nullptr, nullptr, 10, 4, 4};
  ReportedCall("cuMemAllocPitch_v2", &pitched).Exit(CUDA_ERROR_INVALID_VALUE);
  const struct {
    void* handle;
    std::size_t bytes;
    const void* properties;
    unsigned long long flags;
  } physical{nullptr, 10, nullptr, 0};
  ReportedCall("cuMemCreate", &physical).Exit(CUDA_ERROR_INVALID_VALUE);
  const struct { void *array, *descriptor; } array{nullptr, nullptr};
  ReportedCall("cuArrayCreate_v2", &array).Exit(CUDA_ERROR_INVALID_VALUE);
  const std::vector<Event> failed = Finish().WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 4u);
  EXPECT_EQ(failed[1].bytes, 40u) << "a failed pitched allocation has no pitch yet";
}

TEST_F(DriverCalls, OfContextsAreLeftToHooksThatAreInPlace) {
  Start();
  const int device = 1;
  ReportedCall("cuDevicePrimaryCtxReset_v2", &device).Enter();
  {
    EntryGuard hook;
    ReportedCall("cuDevicePrimaryCtxReset_v2", &device).Enter();
    CUdeviceptr pointer = 4096;
    const AllocParameters parameters{&pointer, 64};
    ReportedCall("cuMemAlloc_v2", &parameters).Exit();
  }
  const testing::Log log = Finish();
  EXPECT_EQ(log.WithOp(log::OP_DEVICE_RESET).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_ALLOC).size(), 1u) << "the source reports memory";
}

TEST_F(DriverCalls, ThatMakeNoSenseAreLeftAlone) {
  Start();
  CUdeviceptr pointer = 4096;
  const AllocParameters parameters{&pointer, 64};
  SourceTable().driver_call(nullptr);
  for (const int function : {-1, kFunctionCount, 1 << 30}) {
    const SourceCall call{function, 1, 0, &parameters, nullptr};
    SourceTable().driver_call(&call);
  }
  ReportedCall("cuMemAlloc_v2", nullptr).Exit();
  EXPECT_THAT(Story(), IsEmpty());
}

TEST_F(DriverCalls, PoolsOfTheHostAreKnown) {
  Start();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = static_cast<CUmemLocationType>(2);
  CUmemoryPool host = nullptr, device = nullptr;
  Call("cuMemPoolCreate", &host, &properties);
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  Call("cuMemPoolCreate", &device, &properties);
  EXPECT_EQ(SourceTable().pool_on_host(reinterpret_cast<std::uint64_t>(host)), 1);
  EXPECT_EQ(SourceTable().pool_on_host(reinterpret_cast<std::uint64_t>(device)), 0);
  EXPECT_EQ(SourceTable().pool_on_host(77), 0);
}

}  // namespace
}  // namespace memprof::recorder
