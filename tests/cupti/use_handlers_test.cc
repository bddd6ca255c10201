// What the source reports of launches, copies, memsets and synchronisations.
#include "cupti_hooks/src/use_handlers.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/cupti/callback_driver.h"

namespace memprof::cupti {
namespace {

using cupti_test::DriverCall;
using cupti_test::FakeRecorder;
using cupti_test::kContext;
using cupti_test::Succeed;

constexpr std::uint64_t kDevice = 0x7f1000000000;
constexpr std::uint64_t kOther = 0x7f1040000000;
constexpr std::uint64_t kHost = 0x7e1000000000;
constexpr std::uint64_t kUnknownMemory = 0x55aa00000000;
const auto kStream = reinterpret_cast<CUstream>(0x57);

class UseHandlers : public cupti_test::HandlerTest {
 protected:
  void SetUp() override {
    HandlerTest::SetUp();
    SetListening(Listening::kUses);  // everything in this file is reported in either mode
    MarkAddresses(MemorySide::kDevice, kDevice, 4096);
    MarkAddresses(MemorySide::kDevice, kOther, 4096);
    MarkAddresses(MemorySide::kHost, kHost, 4096);
  }

  template <typename Params>
  void ExpectCopy(const char* name, const Params& params, std::uint32_t kind,
                  std::uint64_t destination, std::uint64_t source, std::uint64_t bytes,
                  std::uint64_t stream) {
    SCOPED_TRACE(name);
    recorder_.Reset();
    Succeed(name, &params);
    const SourceEvent event = Only(kOpMemcpy);
    EXPECT_EQ(event.aux1, kind);
    EXPECT_EQ(event.address, destination);
    EXPECT_EQ(event.aux0, source);
    EXPECT_EQ(event.bytes, bytes);
    EXPECT_EQ(event.stream, stream);
    EXPECT_EQ(event.context, kContext);
    EXPECT_EQ(event.with_stack, 0u);
    EXPECT_EQ(recorder_.Text(event.api), name);
  }

  void* const host_ = reinterpret_cast<void*>(kHost);
};

TEST_F(UseHandlers, CopiesOfOneDirection) {
  const cuMemcpyHtoD_v2_params up = {kDevice, host_, 100};
  const cuMemcpyHtoDAsync_v2_params up_async = {kDevice, host_, 101, kStream};
  const cuMemcpyDtoH_v2_params down = {host_, kDevice, 102};
  const cuMemcpyDtoHAsync_v2_params down_async = {host_, kDevice, 103, kStream};
  const cuMemcpyDtoD_v2_params across = {kOther, kDevice, 104};
  const cuMemcpyDtoDAsync_v2_params across_async = {kOther, kDevice, 105, kStream};
  for (const char* name : {"cuMemcpyHtoD_v2", "cuMemcpyHtoD_v2_ptds"}) {
    ExpectCopy(name, up, kCopyHostToDevice, kDevice, kHost, 100, 0);
  }
  for (const char* name : {"cuMemcpyHtoDAsync_v2", "cuMemcpyHtoDAsync_v2_ptsz"}) {
    ExpectCopy(name, up_async, kCopyHostToDevice, kDevice, kHost, 101, 0x57);
  }
  for (const char* name : {"cuMemcpyDtoH_v2", "cuMemcpyDtoH_v2_ptds"}) {
    ExpectCopy(name, down, kCopyDeviceToHost, kHost, kDevice, 102, 0);
  }
  for (const char* name : {"cuMemcpyDtoHAsync_v2", "cuMemcpyDtoHAsync_v2_ptsz"}) {
    ExpectCopy(name, down_async, kCopyDeviceToHost, kHost, kDevice, 103, 0x57);
  }
  for (const char* name : {"cuMemcpyDtoD_v2", "cuMemcpyDtoD_v2_ptds"}) {
    ExpectCopy(name, across, kCopyDeviceToDevice, kOther, kDevice, 104, 0);
  }
  for (const char* name : {"cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync_v2_ptsz"}) {
    ExpectCopy(name, across_async, kCopyDeviceToDevice, kOther, kDevice, 105, 0x57);
  }
  const cuMemcpyHtoD_params old = {0x1000, host_, 106};
  ExpectCopy("cuMemcpyHtoD", old, kCopyHostToDevice, 0x1000, kHost, 106, 0);
}

TEST_F(UseHandlers, CopiesBetweenUnifiedAddressesAreDistinguishedByTheMap) {
  const auto copy = [&](std::uint64_t to, std::uint64_t from, std::uint32_t kind) {
    const cuMemcpyAsync_params async = {to, from, 64, kStream};
    ExpectCopy("cuMemcpyAsync", async, kind, to, from, 64, 0x57);
    const cuMemcpy_params plain = {to, from, 65};
    ExpectCopy("cuMemcpy_ptds", plain, kind, to, from, 65, 0);
  };
  copy(kDevice, kUnknownMemory, kCopyHostToDevice);
  copy(kUnknownMemory, kDevice, kCopyDeviceToHost);
  copy(kOther, kDevice, kCopyDeviceToDevice);
  copy(kHost, kHost + 64, kCopyHostToHost);
  copy(kUnknownMemory, kUnknownMemory + 64, kCopyUnknown);
}

TEST_F(UseHandlers, CopiesBetweenDevices) {
  const cuMemcpyPeer_params plain = {kDevice, nullptr, kOther, nullptr, 7};
  ExpectCopy("cuMemcpyPeer", plain, kCopyPeer, kDevice, kOther, 7, 0);
  const cuMemcpyPeerAsync_params async = {kDevice, nullptr, kOther, nullptr, 8, kStream};
  ExpectCopy("cuMemcpyPeerAsync_ptsz", async, kCopyPeer, kDevice, kOther, 8, 0x57);
  CUDA_MEMCPY3D_PEER box{};
  box.dstMemoryType = box.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  box.dstDevice = kDevice;
  box.srcDevice = kOther;
  box.WidthInBytes = 2, box.Height = 3, box.Depth = 4;
  const cuMemcpy3DPeerAsync_params box_params = {&box, kStream};
  ExpectCopy("cuMemcpy3DPeerAsync", box_params, kCopyPeer, kDevice, kOther, 24, 0x57);
}

TEST_F(UseHandlers, ShapedCopiesCountTheBytesThatMove) {
  CUDA_MEMCPY2D rows{};
  rows.srcMemoryType = CU_MEMORYTYPE_HOST;
  rows.srcHost = host_;
  rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.dstDevice = kDevice;
  rows.WidthInBytes = 100, rows.Height = 7, rows.dstPitch = 512;
  const cuMemcpy2DAsync_v2_params async = {&rows, kStream};
  ExpectCopy("cuMemcpy2DAsync_v2", async, kCopyHostToDevice, kDevice, kHost, 700, 0x57);
  const cuMemcpy2D_v2_params plain = {&rows};
  ExpectCopy("cuMemcpy2DUnaligned_v2", plain, kCopyHostToDevice, kDevice, kHost, 700, 0);
  CUDA_MEMCPY3D box{};
  box.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  box.srcArray = reinterpret_cast<CUarray>(0xa44a);
  box.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  box.dstDevice = kDevice;
  box.WidthInBytes = 10, box.Height = 3, box.Depth = 2;
  const cuMemcpy3D_v2_params box_params = {&box};
  ExpectCopy("cuMemcpy3D_v2", box_params, kCopyHostToDevice, kDevice, 0xa44a, 60, 0);
  box.dstMemoryType = CU_MEMORYTYPE_HOST;
  box.dstHost = host_;
  ExpectCopy("cuMemcpy3D_v2_ptds", box_params, kCopyDeviceToHost, kHost, 0xa44a, 60, 0);
}

TEST_F(UseHandlers, ABatchIsOneCopyPerEntry) {
  CUdeviceptr to[] = {kDevice, kOther};
  CUdeviceptr from[] = {kUnknownMemory, kDevice};
  std::size_t sizes[] = {11, 22};
  const MemcpyBatchParams first = {to, from, sizes, 2, nullptr, nullptr, 0, nullptr, kStream};
  const MemcpyBatchV2Params second = {to, from, sizes, 2, nullptr, nullptr, 0, kStream};
  Succeed("cuMemcpyBatchAsync", &first);
  Succeed("cuMemcpyBatchAsync_v2_ptsz", &second);
  const auto events = recorder_.Events(kOpMemcpy);
  ASSERT_EQ(events.size(), 4u);
  for (std::size_t i = 0; i < events.size(); ++i) {
    EXPECT_EQ(events[i].address, to[i % 2]);
    EXPECT_EQ(events[i].aux0, from[i % 2]);
    EXPECT_EQ(events[i].bytes, sizes[i % 2]);
    EXPECT_EQ(events[i].aux1, i % 2 == 0 ? kCopyHostToDevice : kCopyDeviceToDevice);
    EXPECT_EQ(events[i].stream, 0x57u);
  }
}

TEST_F(UseHandlers, WhatOnlyBecomesANodeIsMarked) {
  recorder_.SetDriverFunction("cuStreamIsCapturing",
                              reinterpret_cast<void*>(+[](void* stream, int* status) {
                                return *status = stream == kStream ? 1 : 0, 0;
                              }));
  LookUpDriver();
  const cuMemcpyHtoDAsync_v2_params copy = {kDevice, host_, 101, kStream};
  ExpectCopy("cuMemcpyHtoDAsync_v2", copy, kCopyHostToDevice + kCaptured, kDevice, kHost, 101,
             0x57);
  const cuMemcpyHtoD_v2_params plain = {kDevice, host_, 100};
  ExpectCopy("cuMemcpyHtoD_v2", plain, kCopyHostToDevice, kDevice, kHost, 100, 0);
  for (const CUstream stream : {kStream, reinterpret_cast<CUstream>(0x58)}) {
    recorder_.Reset();
    const cuMemsetD8Async_params fill = {kDevice, 1, 50, stream};
    Succeed("cuMemsetD8Async", &fill);
    EXPECT_EQ(Only(kOpMemset).aux1, stream == kStream ? kCaptured : 0);
  }
}

TEST_F(UseHandlers, MemsetsCountBytesOfTheirElements) {
  const auto expect = [&](const char* name, const void* params, std::uint64_t bytes,
                          std::uint64_t stream) {
    SCOPED_TRACE(name);
    recorder_.Reset();
    Succeed(name, params);
    const SourceEvent event = Only(kOpMemset);
    EXPECT_EQ(event.address, kDevice);
    EXPECT_EQ(event.bytes, bytes);
    EXPECT_EQ(event.stream, stream);
  };
  const cuMemsetD8_v2_params d8 = {kDevice, 1, 50};
  const cuMemsetD16_v2_params d16 = {kDevice, 1, 50};
  const cuMemsetD32_v2_params d32 = {kDevice, 1, 50};
  const cuMemsetD2D32_v2_params flat = {kDevice, 1024, 1, 10, 3};
  const cuMemsetD8Async_params d8_async = {kDevice, 1, 50, kStream};
  const cuMemsetD32Async_params d32_async = {kDevice, 1, 50, kStream};
  const cuMemsetD2D16Async_params flat_async = {kDevice, 1024, 1, 10, 3, kStream};
  expect("cuMemsetD8_v2", &d8, 50, 0);
  expect("cuMemsetD16_v2_ptds", &d16, 100, 0);
  expect("cuMemsetD32_v2", &d32, 200, 0);
  expect("cuMemsetD2D32_v2", &flat, 120, 0);
  expect("cuMemsetD8Async", &d8_async, 50, 0x57);
  expect("cuMemsetD32Async_ptsz", &d32_async, 200, 0x57);
  expect("cuMemsetD2D16Async", &flat_async, 60, 0x57);
}

TEST_F(UseHandlers, Synchronisations) {
  const cuStreamSynchronize_params stream = {kStream};
  Succeed("cuStreamSynchronize", &stream);
  Succeed("cuStreamSynchronize_ptsz", &stream);
  Succeed("cuCtxSynchronize", nullptr);
  const CtxSynchronizeV2Params given = {reinterpret_cast<CUcontext>(0xbeef)};
  Succeed("cuCtxSynchronize_v2", &given);
  const auto events = recorder_.Events(kOpSync);
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].stream, 0x57u);
  EXPECT_EQ(events[1].stream, 0x57u);
  EXPECT_EQ(events[2].stream, 0u);
  EXPECT_EQ(events[2].context, kContext);
  EXPECT_EQ(events[3].context, 0xbeefu);
}

TEST_F(UseHandlers, WhatFailedMovedNothing) {
  const cuMemcpyHtoD_v2_params copy = {kDevice, host_, 100};
  DriverCall("cuMemcpyHtoD_v2", &copy).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  const cuMemsetD8_v2_params fill = {kDevice, 1, 50};
  DriverCall("cuMemsetD8_v2", &fill).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  DriverCall("cuCtxSynchronize", nullptr).Enter().Exit(CUDA_ERROR_LAUNCH_FAILED);
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(UseHandlers, WhatAProgramCallsWithNullIsSafe) {
  const cuMemcpy2D_v2_params rows = {nullptr};
  Succeed("cuMemcpy2D_v2", &rows);
  const MemcpyBatchParams batch{};
  Succeed("cuMemcpyBatchAsync", &batch);
  Succeed("cuMemcpyHtoD_v2", nullptr);  // a CUPTI that passes no parameters
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(UseHandlers, AStoppedSourceSaysNothing) {
  SetListening(Listening::kNothing);
  const cuMemcpyHtoD_v2_params copy = {kDevice, host_, 100};
  Succeed("cuMemcpyHtoD_v2", &copy);
  EXPECT_TRUE(recorder_.Events().empty());
}

}  // namespace
}  // namespace memprof::cupti
