// Initialisation and contexts.
#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/sources/source_host.h"
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

CUcontext ContextAt(std::uint64_t number) { return reinterpret_cast<CUcontext>(number); }

class ContextHooks : public HooksTest {
 protected:
  std::vector<log::Op> Ops(const testing::Log& log) {
    std::vector<log::Op> ops;
    for (const Event& event : log.events) ops.push_back(event.op);
    return ops;
  }
};

TEST_F(ContextHooks, AskingForDevicesLeavesNoLogAndUsingOneDoes) {
  if (!ByHooks()) GTEST_SKIP() << "a matter of hooks";
  Answer(CUDA_ERROR_NO_DEVICE);
  EXPECT_EQ(Call("cuInit", 0u), CUDA_ERROR_NO_DEVICE);
  Answer(CUDA_SUCCESS);
  EXPECT_EQ(Call("cuInit", 0u), CUDA_SUCCESS);
  EXPECT_EQ(Call("cuInit", 0u), CUDA_SUCCESS) << "launchers may call it again";
  EXPECT_FALSE(Recording());
  EXPECT_FALSE(std::filesystem::exists(path_)) << "a program that only queries leaves no log";
  CUcontext context = nullptr;
  EXPECT_EQ(Call("cuDevicePrimaryCtxRetain", &context, CUdevice{0}), CUDA_SUCCESS);
  EXPECT_TRUE(Recording());
  EXPECT_EQ(Ops(Finish()), std::vector<log::Op>{log::OP_CONTEXT_CREATE})
      << "the call that starts the recording is in it";
}

TEST_F(ContextHooks, AMarkBeginsTheRecordingOnceTheDriverIsUp) {
  if (!ByHooks()) GTEST_SKIP() << "a matter of hooks";
  EXPECT_EQ(memprof_step(6), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(memprof_range_push("too early"), MEMPROF_NOT_RECORDING);
  EXPECT_EQ(Call("cuInit", 0u), CUDA_SUCCESS);
  EXPECT_EQ(memprof_range_pop(), MEMPROF_NOT_RECORDING)
      << "the begin of the range was not recorded";
  EXPECT_EQ(memprof_step(7), MEMPROF_OK);
  EXPECT_EQ(memprof_range_push("set-up"), MEMPROF_OK);
  const testing::Log log = Finish();
  ASSERT_EQ(log.WithOp(log::OP_STEP).size(), 1u);
  EXPECT_EQ(log.WithOp(log::OP_RANGE_PUSH).size(), 1u);
}

TEST_F(ContextHooks, PausedFromTheStartWaitsForTheProgramsWord) {
  setenv("MEMPROF_START", "paused", 1);
  EXPECT_EQ(Call("cuInit", 0u), CUDA_SUCCESS);
  CUdeviceptr pointer = 0;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  EXPECT_FALSE(Recording());
  EXPECT_EQ(memprof_step(1), MEMPROF_NOT_RECORDING);
  EXPECT_FALSE(std::filesystem::exists(path_));
  Start();
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC).size(), 1u);
}

TEST_F(ContextHooks, EveryVersionOfCreateAndDestroy) {
  Start();
  struct Version {
    const char* create;
    const char* destroy;
    std::function<CUresult(void*, CUcontext*)> call;
  };
  const Version versions[] = {
      {"cuCtxCreate", "cuCtxDestroy",
       [](void* f, CUcontext* context) {
         return reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(f)(context, 0, 1);
       }},
      {"cuCtxCreate_v2", "cuCtxDestroy_v2",
       [](void* f, CUcontext* context) {
         return reinterpret_cast<CUresult (*)(CUcontext*, unsigned, CUdevice)>(f)(context, 0, 1);
       }},
      {"cuCtxCreate_v3", "cuCtxDetach",
       [](void* f, CUcontext* context) {
         return reinterpret_cast<CUresult (*)(CUcontext*, void*, int, unsigned, CUdevice)>(f)(
             context, nullptr, 0, 0, 1);
       }},
      {"cuCtxCreate_v4", "cuCtxDestroy_v2",
       [](void* f, CUcontext* context) {
         return reinterpret_cast<CUresult (*)(CUcontext*, void*, unsigned, CUdevice)>(f)(
             context, nullptr, 0, 1);
       }},
  };
  for (const Version& version : versions) {
    CUcontext context = nullptr;
    ASSERT_EQ(version.call(Wrapper(version.create), &context), CUDA_SUCCESS);
    std::size_t before = 0;
    driver_.decide = [&](const DriverCall&) {
      before = Events().size();
      return CUDA_SUCCESS;
    };
    const std::size_t so_far = Events().size();
    ASSERT_EQ(Call(version.destroy, context), CUDA_SUCCESS);
    EXPECT_EQ(before, so_far + 1) << version.destroy << " is recorded before the real call";
    driver_.decide = [](const DriverCall&) { return CUDA_SUCCESS; };
  }
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 8u);
  for (std::size_t i = 0; i < 8; i += 2) {
    EXPECT_EQ(log.events[i].op, log::OP_CONTEXT_CREATE);
    EXPECT_EQ(log.events[i + 1].op, log::OP_CONTEXT_DESTROY);
    EXPECT_EQ(log.events[i].context, log.events[i + 1].context);
    EXPECT_EQ(log.events[i].device, 1);
    EXPECT_EQ(log.events[i + 1].device, 1);
    EXPECT_FALSE(log.contexts.at(log.events[i].context).primary());
  }
  EXPECT_EQ(log.contexts.size(), 4u);
}

TEST_F(ContextHooks, AHandleThatComesBackIsAnotherContext) {
  Start();
  CUcontext context = nullptr;
  driver_.next = 0xc000;
  Call("cuCtxCreate_v2", &context, 0u, CUdevice{0});
  Call("cuCtxDestroy_v2", context);
  driver_.next = 0xc000;
  Call("cuCtxCreate_v2", &context, 0u, CUdevice{0});
  const testing::Log log = Finish();
  EXPECT_EQ(log.contexts.size(), 2u);
  EXPECT_NE(log.events[0].context, log.events[2].context);
}

TEST_F(ContextHooks, AForeignDestroyIsNoEvent) {
  Start();
  Answer(CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(Call("cuCtxDestroy_v2", ContextAt(0x1234)), CUDA_ERROR_INVALID_CONTEXT);
  EXPECT_THAT(Finish().events, IsEmpty());
}

TEST_F(ContextHooks, ThePrimaryContextBeginsOnceAndEndsWithItsLastRelease) {
  Start();
  CUcontext context = nullptr;
  Call("cuDevicePrimaryCtxRetain", &context, CUdevice{1});
  Call("cuDevicePrimaryCtxRetain", &context, CUdevice{1});
  EXPECT_EQ(context, driver_.primary[1]);
  Call("cuDevicePrimaryCtxRelease_v2", CUdevice{1});  // the driver says it is still active
  EXPECT_EQ(Events().size(), 1u);
  driver_.primary_active = false;
  Call("cuDevicePrimaryCtxRelease", CUdevice{1});
  Call("cuDevicePrimaryCtxRelease_v2", CUdevice{1});  // nothing is left
  const testing::Log log = Finish();
  EXPECT_THAT(Ops(log), ElementsAre(log::OP_CONTEXT_CREATE, log::OP_CONTEXT_DESTROY));
  EXPECT_EQ(log.events[0].device, 1);
  EXPECT_EQ(log.events[1].device, 1);
  EXPECT_TRUE(log.contexts.at(log.events[1].context).primary());
}

TEST_F(ContextHooks, AResetEndsWhatIsOnTheDevice) {
  Start();
  CUcontext context = nullptr;
  CUdeviceptr pointer = 0;
  Call("cuDevicePrimaryCtxRetain", &context, CUdevice{0});
  Call("cuMemAlloc_v2", &pointer, std::size_t{100});
  Call("cuMemAllocAsync", &pointer, std::size_t{10}, CUstream{});
  EXPECT_EQ(Stats().live_bytes, 110u);
  Call("cuDevicePrimaryCtxReset_v2", CUdevice{1});
  EXPECT_EQ(Stats().live_bytes, 110u) << "another device";
  Call("cuDevicePrimaryCtxReset", CUdevice{0});
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Stats().peak_bytes, 110u);
  EXPECT_EQ(Finish().WithOp(log::OP_DEVICE_RESET).size(), 2u);
}

TEST_F(ContextHooks, ThreadsNoticeThatTheirContextIsAnother) {
  Start();
  CUdeviceptr pointer = 0;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  driver_.current = ContextAt(0xd1);
  driver_.device = 1;
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});
  Call("cuCtxDestroy_v2", ContextAt(0xd1));
  Call("cuMemAlloc_v2", &pointer, std::size_t{1});  // a new context has the same handle
  const testing::Log log = Finish();
  const std::vector<Event> allocations = log.WithOp(log::OP_ALLOC);
  EXPECT_EQ(allocations[0].device, 0);
  EXPECT_EQ(allocations[1].device, 1);
  EXPECT_EQ(log.contexts.at(allocations[1].context).handle(), 0xd1u);
  EXPECT_NE(allocations[2].context, allocations[1].context);
  EXPECT_TRUE(log.contexts.at(allocations[0].context).primary()) << "the device's first, active";
}

}  // namespace
}  // namespace memprof::recorder
