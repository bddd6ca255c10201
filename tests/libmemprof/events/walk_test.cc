// A random walk through all families of memory, on the fake driver or the stand-in
// (recorded_driver.h). After every step the result of memprof_get_stats agrees with the model, and
// at the end the log does, event by event.
#include <dlfcn.h>
#include <gmock/gmock.h>

#include "libmemprof/include/memprof/memprof.h"
#include "tests/libmemprof/events/driver_walk.h"
#include "tests/libmemprof/events/recorded_driver.h"
#include "tests/libmemprof/events/recorded_walk.h"

namespace memprof::recorder {
namespace {

// The wrapper, or the driver's own function if there is no wrapper.
void* Wrapper(const char* name) {
  for (int i = 0; i < kFunctionCount; ++i)
    if (strcmp(FunctionName(static_cast<FunctionId>(i)), name) == 0)
      return WrapperFunction(static_cast<FunctionId>(i));
  return RealDriverSymbol(name);
}

// Makes the driver this process's libcuda, and a new context current. Memory that an earlier walk
// in this process left, such as host memory that no longer exists, ends with the old context.
bool PrepareDriver() {
  setenv("SIMCUDA", "memory=8GiB", 1);
  void* library = dlopen(testing::DriverLibrary(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return false;
  using Decide = void (*)(std::uint64_t too_much, std::uint64_t nowhere);
  if (auto decide = reinterpret_cast<Decide>(dlsym(library, "fake_driver_behave")))
    decide(testing::DriverWalk::kTooMuch, testing::DriverWalk::kNowhere);
  const auto init = reinterpret_cast<CUresult (*)(unsigned)>(dlsym(library, "cuInit"));
  const auto retain = reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(
      dlsym(library, "cuDevicePrimaryCtxRetain"));
  const auto use = reinterpret_cast<CUresult (*)(CUcontext)>(dlsym(library, "cuCtxSetCurrent"));
  const auto reset =
      reinterpret_cast<CUresult (*)(CUdevice)>(dlsym(library, "cuDevicePrimaryCtxReset_v2"));
  CUcontext context = nullptr;
  return init(0) == CUDA_SUCCESS && (reset == nullptr || reset(0) == CUDA_SUCCESS) &&
         retain(&context, 0) == CUDA_SUCCESS && use(context) == CUDA_SUCCESS;
}

class Walk : public RecordingTest, public ::testing::WithParamInterface<unsigned> {};

TEST_P(Walk, EveryStepAndTheWholeLogAgreeWithTheModel) {
  ASSERT_TRUE(PrepareDriver()) << dlerror();
  ASSERT_EQ(memprof_start(), MEMPROF_OK);
  testing::DriverWalk walk(Wrapper, GetParam());
  for (int i = 0; i < 700; ++i) {
    ASSERT_TRUE(walk.Step()) << "step " << i << ": " << walk.events().back().op << " "
                             << walk.events().back().layer;
    struct memprof_stats stats {};
    stats.size = sizeof stats;
    ASSERT_EQ(memprof_get_stats(&stats), MEMPROF_OK);
    ASSERT_EQ(stats.allocations, walk.totals().allocations) << "step " << i;
    ASSERT_EQ(stats.frees, walk.totals().frees) << "step " << i;
    ASSERT_EQ(stats.live_bytes, walk.totals().live_bytes) << "step " << i;
    ASSERT_EQ(stats.peak_bytes, walk.totals().peak_bytes) << "step " << i;
  }
  const testing::Log log = Finish();
  EXPECT_EQ(log.error, "");
  EXPECT_THAT(testing::RecordedWalk(log.events), ::testing::ElementsAreArray(walk.events()));
  for (const testing::Event& event : log.events) {
    if (event.op == log::OP_ALLOC && kTestStacks) {
      ASSERT_NE(event.stack, 0u);
    }
    const bool nowhere = event.layer == log::LAYER_PINNED || event.layer == log::LAYER_REGISTERED ||
                         event.layer == log::LAYER_MULTICAST;
    if (event.op == log::OP_ALLOC || event.op == log::OP_FREE) {
      ASSERT_EQ(event.device, nowhere ? -1 : 0) << testing::WalkWords(event);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Hooks, Walk, ::testing::Values(1, 2, 3));

}  // namespace
}  // namespace memprof::recorder
