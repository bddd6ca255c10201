// What the source reports of a program, against a list of what the program did.
#include <cupti_callbacks.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "libmemprof/src/log/vocabulary.h"
#include "libmemprof/src/source_api/source_api.h"
#include "simcuda/cupti/newer_cupti.h"
#include "tests/cupti/fake_recorder.h"
#include "tests/cupti/guest_calls.h"
#include "tests/cupti/process.h"
#include "tests/cupti/source_on_standin.h"

namespace memprof::cupti_test {
namespace {

using namespace vocabulary;  // NOLINT: the values of the log

std::string Describe(const SourceEvent& event) {
  if (event.op == kReportedEntry || event.op == kReportedExit)
    return Recorder().Text(event.api) +
           (event.op == kReportedExit ? " answers " + std::to_string(event.result) : "");
  std::string text = Recorder().Text(event.api) + " op=" + std::to_string(event.op) +
                     " layer=" + std::to_string(event.layer) +
                     " bytes=" + std::to_string(event.bytes);
  if (event.label != 0) text += " " + Recorder().Text(event.label);
  return text;
}

std::vector<std::string> DescribeAll() {
  std::vector<std::string> all;
  for (const SourceEvent& event : Recorder().Events()) all.push_back(Describe(event));
  return all;
}

// Calls some functions of every family, and returns the expected events. Calls that allocate are
// among them only with `allocations`.
std::vector<std::string> RunProgram(bool allocations) {
  std::vector<std::string> expected;
  const auto expect_call = [&](const std::string& function, int result = 0) {
    if (!allocations) return;
    expected.push_back(function);
    expected.push_back(function + " answers " + std::to_string(result));
  };
  const auto always = [&](const std::string& text) { expected.push_back(text); };
  const CUcontext context = NewContext(1);
  expect_call("cuCtxCreate_v2");
  if (!allocations) always("<none> op=16 layer=0 bytes=0");
  CUdeviceptr linear = 0, pitched = 0, managed = 0, ordered = 0;
  std::size_t pitch = 0;
  void* pinned = nullptr;
  EXPECT_CUDA(cuMemAlloc_v2(&linear, 10000));
  expect_call("cuMemAlloc_v2");
  EXPECT_CUDA(cuMemAllocPitch_v2(&pitched, &pitch, 100, 8, 4));
  expect_call("cuMemAllocPitch_v2");
  EXPECT_CUDA(cuMemAllocManaged(&managed, 4096, CU_MEM_ATTACH_GLOBAL));
  expect_call("cuMemAllocManaged");
  EXPECT_CUDA(cuMemHostAlloc(&pinned, 2048, 0));
  expect_call("cuMemHostAlloc");
  CUstream stream = nullptr;
  EXPECT_CUDA(cuStreamCreate(&stream, 0));
  EXPECT_CUDA(cuMemAllocAsync(&ordered, 777, stream));
  expect_call("cuMemAllocAsync");
  CUdeviceptr never = 0;
  EXPECT_EQ(cuMemAlloc_v2(&never, std::size_t{1} << 40), CUDA_ERROR_OUT_OF_MEMORY);
  expect_call("cuMemAlloc_v2", CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_CUDA(cuMemcpyHtoD_v2(linear, pinned, 1000));
  always("cuMemcpyHtoD_v2 op=24 layer=0 bytes=1000");
  EXPECT_CUDA(cuMemcpyDtoHAsync_v2(pinned, linear, 1001, stream));
  always("cuMemcpyDtoHAsync_v2 op=24 layer=0 bytes=1001");
  EXPECT_CUDA(cuMemsetD32_v2(linear, 7, 100));
  always("cuMemsetD32_v2 op=25 layer=0 bytes=400");
  CUmodule module = nullptr;
  CUfunction axpy = nullptr;
  EXPECT_CUDA(cuModuleLoadData(&module, kPtx));
  always("<none> op=19 layer=12 bytes=*");
  EXPECT_CUDA(cuModuleGetFunction(&axpy, module, "axpy"));
  int count = 3;
  CUdeviceptr inside = ordered + 16;
  void* arguments[] = {&linear, &count, &inside};
  EXPECT_CUDA(cuLaunchKernel(axpy, 1, 1, 1, 32, 1, 1, 0, stream, arguments, nullptr));
  always("cuLaunchKernel op=22 layer=0 bytes=0 axpy");
  always("cuLaunchKernel op=23 layer=0 bytes=0");
  always("cuLaunchKernel op=23 layer=0 bytes=0");
  EXPECT_CUDA(cuStreamSynchronize(stream));
  always("cuStreamSynchronize op=26 layer=0 bytes=0");
  EXPECT_CUDA(cuMemFreeAsync(ordered, stream));
  expect_call("cuMemFreeAsync");
  EXPECT_CUDA(cuMemFree_v2(linear));
  expect_call("cuMemFree_v2");
  EXPECT_NE(cuMemFree_v2(0x1000), CUDA_SUCCESS);
  expect_call("cuMemFree_v2", CUDA_ERROR_INVALID_VALUE);
  EXPECT_CUDA(cuMemFree_v2(pitched));
  expect_call("cuMemFree_v2");
  EXPECT_CUDA(cuMemFreeHost(pinned));
  expect_call("cuMemFreeHost");
  EXPECT_CUDA(cuCtxSynchronize());
  always("cuCtxSynchronize op=26 layer=0 bytes=0");
  EXPECT_CUDA(cuModuleUnload(module));
  always("<none> op=20 layer=12 bytes=*");
  EXPECT_CUDA(cuCtxDestroy_v2(context));
  expect_call("cuCtxDestroy_v2");
  if (!allocations) always("<none> op=17 layer=0 bytes=0");
  return expected;
}

// The events without the size of the module's image, which depends on the driver.
std::vector<std::string> Comparable(std::vector<std::string> events) {
  for (std::string& text : events) {
    if (text.starts_with(" op=")) text = "<none>" + text;
    if (text.find("layer=12") != std::string::npos) {
      text = text.substr(0, text.find("bytes=")) + "bytes=*";
    }
  }
  return events;
}

TEST(EndToEnd, EveryEventOfAProgramInItsOrder) {
  for (const SourceScope scope : {SourceScope::kUses, SourceScope::kEverything}) {
    WithSource([scope](const SourceApi* source) {
      ASSERT_EQ(source->start(scope), 0) << Recorder().States().back().detail;
      const auto expected = RunProgram(scope == SourceScope::kEverything);
      EXPECT_EQ(Comparable(DescribeAll()), expected);
      source->stop();
    });
  }
}

TEST(EndToEnd, ContextsNameTheirDevices) {
  WithSource([](const SourceApi* source) {
    ASSERT_EQ(source->start(SourceScope::kUses), 0);
    const CUcontext context = NewContext(1);
    NewContext(0);
    const auto contexts = Recorder().Events(kOpContextCreate);
    ASSERT_EQ(contexts.size(), 2u);
    EXPECT_EQ(contexts[0].device, 1);
    EXPECT_EQ(contexts[0].context, reinterpret_cast<std::uint64_t>(context));
    EXPECT_EQ(contexts[1].device, 0);
  });
}

TEST(EndToEnd, LaunchesTouchTheirPointers) {
  WithSource([](const SourceApi* source) {
    ASSERT_EQ(source->start(SourceScope::kUses), 0);
    NewContext(0);
    CUmodule module = nullptr;
    CUfunction axpy = nullptr;
    CUdeviceptr x = 0, y = 0;
    ASSERT_CUDA(cuMemAlloc_v2(&x, 1 << 20));
    ASSERT_CUDA(cuMemAlloc_v2(&y, 1 << 20));
    ASSERT_CUDA(cuModuleLoadData(&module, kPtx));
    ASSERT_CUDA(cuModuleGetFunction(&axpy, module, "axpy"));
    const CUdeviceptr middle = y + 4096;
    int count = 3;
    CUdeviceptr arguments_storage[] = {x, middle};
    void* arguments[] = {&arguments_storage[0], &count, &arguments_storage[1]};
    for (int i = 0; i < 3; ++i) {
      ASSERT_CUDA(cuLaunchKernel(axpy, 1, 1, 1, 1, 1, 1, 0, nullptr, arguments, nullptr));
    }
    const auto touches = Recorder().Events(kOpTouch);
    ASSERT_EQ(touches.size(), 6u);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(touches[i].address, i % 2 == 0 ? x : middle);
  });
}

}  // namespace
}  // namespace memprof::cupti_test
