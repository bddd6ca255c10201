// Launches: their names, and the device pointers among their arguments.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <set>
#include <thread>
#include <vector>

#include "cupti_hooks/src/kernel_arguments.h"
#include "cupti_hooks/src/use_handlers.h"
#include "tests/cupti/callback_driver.h"

namespace memprof::cupti {
namespace {

using cupti_test::DriverCall;
using cupti_test::Succeed;

constexpr std::uint64_t kInput = 0x7f2000000000;
constexpr std::uint64_t kOutput = 0x7f2040001000;
void* const kFunction = reinterpret_cast<void*>(0xf001);
void* const kKernel = reinterpret_cast<void*>(0xf002);

// The driver's layouts of the two kernels: a function with parameters (pointer, int, struct of 24
// bytes) and a kernel with parameter (pointer). Each function answers only for its own kind of
// handle.
int g_layout_queries = 0;

int FunctionParameter(void* function, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  constexpr std::size_t kBytes[] = {8, 4, 24};
  ++g_layout_queries;
  if (function != kFunction || index >= 3) return CUDA_ERROR_INVALID_VALUE;
  *offset = index * 8;
  *bytes = kBytes[index];
  return 0;
}

int KernelParameter(void* kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  ++g_layout_queries;
  if (kernel != kKernel || index >= 1) return CUDA_ERROR_INVALID_VALUE;
  *offset = 0;
  *bytes = 8;
  return 0;
}

class Launches : public cupti_test::HandlerTest {
 protected:
  void SetUp() override {
    HandlerTest::SetUp();
    g_layout_queries = 0;
    SetListening(Listening::kUses);
    MarkAddresses(MemorySide::kDevice, kInput, 4096);
    MarkAddresses(MemorySide::kDevice, kOutput, 4096);
    recorder_.SetDriverFunction("cuFuncGetParamInfo", reinterpret_cast<void*>(&FunctionParameter));
    recorder_.SetDriverFunction("cuKernelGetParamInfo", reinterpret_cast<void*>(&KernelParameter));
    LookUpDriver();
  }

  void HandOutFunction() {
    CUfunction handle = static_cast<CUfunction>(kFunction);
    const cuModuleGetFunction_params params = {&handle, nullptr, "f"};
    Succeed("cuModuleGetFunction", &params);
  }
  void HandOutKernel() {
    void* handle = kKernel;
    const KernelHandleParams params = {&handle};
    Succeed("cuLibraryGetKernel", &params);
  }

  // A launch with kernelParams.
  void Launch(void* kernel, void** arguments, CUresult result = CUDA_SUCCESS) {
    cuLaunchKernel_params params{};
    params.f = static_cast<CUfunction>(kernel);
    params.hStream = reinterpret_cast<CUstream>(0x57);
    params.kernelParams = arguments;
    DriverCall("cuLaunchKernel", &params).Symbol("_Z4axpyPf").Enter().Exit(result);
  }

  std::vector<std::uint64_t> Touches() {
    std::vector<std::uint64_t> addresses;
    for (const SourceEvent& event : recorder_.Events(kOpTouch)) addresses.push_back(event.address);
    return addresses;
  }

  struct Block {
    std::uint64_t words[3];
  };
  std::uint64_t input_ = kInput;
  int count_ = 5;
  Block block_ = {{17, kOutput, 0x7f9900000000}};
  void* arguments_[3] = {&input_, &count_, &block_};
};

TEST_F(Launches, NameStreamAndPointersByLayout) {
  HandOutFunction();
  Launch(kFunction, arguments_);
  const auto events = recorder_.Events();
  ASSERT_EQ(events.size(), 3u);
  EXPECT_EQ(events[0].op, kOpLaunch);
  EXPECT_EQ(recorder_.Text(events[0].label), "_Z4axpyPf");
  EXPECT_EQ(events[0].stream, 0x57u);
  EXPECT_EQ(events[0].result, 0u);
  EXPECT_EQ(Touches(), (std::vector<std::uint64_t>{kInput, kOutput}));
  EXPECT_EQ(events[1].stream, 0x57u);
}

TEST_F(Launches, ALayoutIsRequestedOnce) {
  HandOutFunction();
  Launch(kFunction, arguments_);
  const int queries = g_layout_queries;
  EXPECT_EQ(queries, 4);  // three parameters and the end
  for (int i = 0; i < 10; ++i) Launch(kFunction, arguments_);
  EXPECT_EQ(g_layout_queries, queries);
  EXPECT_EQ(Touches().size(), 22u);
  HandOutFunction();  // the address may belong to another kernel now
  Launch(kFunction, arguments_);
  EXPECT_EQ(g_layout_queries, 2 * queries);
}

TEST_F(Launches, AKernelHandleIsAskedAboutAsAKernel) {
  HandOutKernel();
  Launch(kKernel, arguments_);
  EXPECT_EQ(Touches(), std::vector<std::uint64_t>{kInput});
}

TEST_F(Launches, AHandleThatWasNeverSeenHasNoKnownLayout) {
  Launch(kFunction, arguments_);
  EXPECT_EQ(recorder_.Events(kOpLaunch).size(), 1u);
  EXPECT_TRUE(Touches().empty());
  EXPECT_EQ(g_layout_queries, 0);
}

TEST_F(Launches, AnOlderDriverKnowsNoLayouts) {
  recorder_.SetDriverFunction("cuFuncGetParamInfo", nullptr);
  LookUpDriver();
  HandOutFunction();
  Launch(kFunction, arguments_);
  EXPECT_EQ(recorder_.Events(kOpLaunch).size(), 1u);
  EXPECT_TRUE(Touches().empty());
}

// An unknown layout is not cached: the driver is asked again.
TEST_F(Launches, AnUnknownLayoutIsNotKept) {
  recorder_.SetDriverFunction(
      "cuFuncGetParamInfo",
      reinterpret_cast<void*>(+[](void*, std::size_t, std::size_t*, std::size_t*) {
        return static_cast<int>(CUDA_ERROR_NOT_SUPPORTED);
      }));
  LookUpDriver();
  HandOutFunction();
  Launch(kFunction, arguments_);
  EXPECT_TRUE(Touches().empty());
  recorder_.SetDriverFunction("cuFuncGetParamInfo", reinterpret_cast<void*>(&FunctionParameter));
  LookUpDriver();
  Launch(kFunction, arguments_);
  EXPECT_EQ(Touches().size(), 2u);
}

TEST_F(Launches, PackedArgumentsNeedNoLayout) {
  Block packed = {{kOutput, 1, kInput}};
  std::size_t size = sizeof packed;
  void* extra[] = {reinterpret_cast<void*>(1), &packed, reinterpret_cast<void*>(2), &size, nullptr};
  cuLaunchKernel_params params{};
  params.extra = extra;
  Succeed("cuLaunchKernel_ptsz", &params);
  EXPECT_EQ(Touches(), (std::vector<std::uint64_t>{kOutput, kInput}));
  size = 12;  // without the third word
  recorder_.Reset();
  Succeed("cuLaunchKernel", &params);
  EXPECT_EQ(Touches(), std::vector<std::uint64_t>{kOutput});
  size = ~std::size_t{0};  // not a valid size: nothing is read
  recorder_.Reset();
  Succeed("cuLaunchKernel", &params);
  EXPECT_TRUE(Touches().empty());
}

TEST_F(Launches, AnAddressIsTouchedOncePerLaunch) {
  std::vector<std::uint64_t> packed(400, kInput);
  for (std::size_t i = 0; i < 100; ++i) packed[i] = kOutput + i / 2;
  std::size_t size = packed.size() * 8;
  void* extra[] = {reinterpret_cast<void*>(1), packed.data(), reinterpret_cast<void*>(2), &size,
                   nullptr};
  cuLaunchKernel_params params{};
  params.extra = extra;
  Succeed("cuLaunchKernel", &params);
  const auto touches = Touches();
  EXPECT_EQ(touches.size(), 51u);
  EXPECT_EQ(std::set<std::uint64_t>(touches.begin(), touches.end()).size(), 51u);
  for (std::size_t i = 0; i < packed.size(); ++i) packed[i] = kOutput + i;
  recorder_.Reset();
  Succeed("cuLaunchKernel", &params);
  EXPECT_EQ(Touches().size(), kMaxTouches);
}

TEST_F(Launches, AFailedLaunchTouchesNothing) {
  HandOutFunction();
  Launch(kFunction, arguments_, CUDA_ERROR_INVALID_VALUE);
  const SourceEvent event = Only(kOpLaunch);
  EXPECT_EQ(event.result, 1u);
}

TEST_F(Launches, NullArgumentsAreSafe) {
  HandOutFunction();
  Launch(kFunction, nullptr);
  void* holes[3] = {nullptr, &count_, nullptr};
  Launch(kFunction, holes);
  EXPECT_EQ(recorder_.Events(kOpLaunch).size(), 2u);
  EXPECT_TRUE(Touches().empty());
}

TEST_F(Launches, OtherWaysToLaunch) {
  HandOutFunction();
  const auto function = static_cast<CUfunction>(kFunction);
  const auto stream = reinterpret_cast<CUstream>(0x58);
  CUlaunchConfig config{};
  config.hStream = stream;
  const cuLaunchKernelEx_params extended = {&config, function, arguments_, nullptr};
  Succeed("cuLaunchKernelEx", &extended);
  cuLaunchCooperativeKernel_params cooperative{};
  cooperative.f = function;
  cooperative.hStream = stream;
  cooperative.kernelParams = arguments_;
  Succeed("cuLaunchCooperativeKernel_ptsz", &cooperative);
  CUDA_LAUNCH_PARAMS each[2] = {};
  each[0].function = each[1].function = function;
  each[0].hStream = each[1].hStream = stream;
  each[1].kernelParams = arguments_;
  const cuLaunchCooperativeKernelMultiDevice_params multi = {each, 2, 0};
  Succeed("cuLaunchCooperativeKernelMultiDevice", &multi);
  const cuGraphLaunch_params graph = {nullptr, stream};
  Succeed("cuGraphLaunch", &graph);
  const cuLaunchGridAsync_params old = {function, 1, 1, stream};
  Succeed("cuLaunchGridAsync", &old);
  const auto launches = recorder_.Events(kOpLaunch);
  ASSERT_EQ(launches.size(), 6u);
  for (const SourceEvent& event : launches) EXPECT_EQ(event.stream, 0x58u);
  EXPECT_EQ(recorder_.Text(launches[4].api), "cuGraphLaunch");
  EXPECT_EQ(launches[4].label, 0u);
  EXPECT_EQ(Touches().size(), 6u);
  const cuLaunch_params oldest = {function};
  Succeed("cuLaunch", &oldest);
  EXPECT_EQ(recorder_.Events(kOpLaunch).back().stream, 0u);
}

// Some threads create and destroy handles while others launch with them. The layout used is always
// that of the handle's kind.
TEST_F(Launches, HandlesMayChangeUnderLaunches) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([] {
      for (int i = 0; i < 2000; ++i) {
        NoteKernelHandle(kFunction, KernelHandleKind::kFunction);
        NoteKernelHandle(reinterpret_cast<void*>(0x100000 + i * 16), KernelHandleKind::kKernel);
      }
    });
  }
  std::size_t wrong = 0;
  for (int i = 0; i < 5000; ++i) {
    TouchedAddresses touched;
    touched.Collect(kFunction, arguments_, nullptr);
    const bool complete = touched.size() == 2 && touched[0] == kInput && touched[1] == kOutput;
    if (touched.size() != 0 && !complete) ++wrong;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
}

TEST_F(Launches, MoreHandlesThanTheTableHoldsAreOnlyUnknown) {
  for (std::uintptr_t i = 1; i <= 40000; ++i) {
    NoteKernelHandle(reinterpret_cast<void*>(i * 16), KernelHandleKind::kKernel);
  }
  TouchedAddresses touched;
  touched.Collect(reinterpret_cast<void*>(40000 * 16), arguments_, nullptr);
  EXPECT_EQ(touched.size(), 0u);  // the driver of this test knows no such kernel
}

}  // namespace
}  // namespace memprof::cupti
