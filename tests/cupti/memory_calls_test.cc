// Calls of memory and contexts. They are reported to the recorder only if this source reports
// allocations; the address map is always updated with their results. The recorder's tests check the
// meaning of the calls.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <vector>

#include "cupti_hooks/src/address_marks.h"
#include "tests/cupti/callback_driver.h"

namespace memprof::cupti {
namespace {

using cupti_test::DriverCall;
using cupti_test::kReportedEntry;
using cupti_test::kReportedExit;
using cupti_test::Succeed;

class MemoryCalls : public cupti_test::HandlerTest {
 protected:
  // Returns "cuMemFree_v2" for an entry and "cuMemFree_v2 answers 1" for an exit.
  std::vector<std::string> ReportedCalls() {
    std::vector<std::string> reported;
    for (const SourceEvent& event : recorder_.Events())
      if (event.op == kReportedEntry || event.op == kReportedExit)
        reported.push_back(
            recorder_.Text(event.api) +
            (event.op == kReportedExit ? " answers " + std::to_string(event.result) : ""));
    return reported;
  }
  using Words = std::vector<std::string>;
};

TEST_F(MemoryCalls, AreReportedAtEntryAndExit) {
  CUdeviceptr address = 0x7f0000000000;
  const cuMemAlloc_v2_params allocation = {&address, 4096};
  Succeed("cuMemAlloc_v2", &allocation);
  const cuMemFree_v2_params free = {address};
  DriverCall("cuMemFree_v2", &free).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(ReportedCalls(), (Words{"cuMemAlloc_v2", "cuMemAlloc_v2 answers 0", "cuMemFree_v2",
                                    "cuMemFree_v2 answers 1"}));
  EXPECT_EQ(recorder_.Events(kReportedExit)[1].aux0, 0x6b657074u) << "the recorder's data";
}

TEST_F(MemoryCalls, EveryRowOfMemoryAndContextsIsReported) {
  const std::uint64_t parameters[16] = {};
  unsigned rows = 0;
  for (const CallbackEntry& entry : Callbacks()) {
    if (entry.group != Group::kMemory && entry.group != Group::kContext) continue;
    recorder_.Reset();
    LookUpDriver();
    DriverCall(entry.name, parameters).Enter().Exit(CUDA_ERROR_UNKNOWN);
    EXPECT_EQ(ReportedCalls(), (Words{entry.name, entry.name + std::string(" answers 999")}));
    ++rows;
  }
  EXPECT_GT(rows, 80u);
}

TEST_F(MemoryCalls, AreNotReportedWhereHooksReportThem) {
  CUdeviceptr address = 0x7f0039000000;
  const cuMemAlloc_v2_params params = {&address, 4096};
  const cuMemFree_v2_params freed = {address};
  SetListening(Listening::kUses);
  Succeed("cuMemAlloc_v2", &params);
  Succeed("cuMemFree_v2", &freed);
  const cuMemMap_params map = {0x7d3000000000, 2 << 20, 0, 1, 0};
  Succeed("cuMemMap", &map);
  EXPECT_TRUE(recorder_.Events().empty());
  EXPECT_TRUE(IsMarked(address)) << "launches still need to know it";
  EXPECT_TRUE(IsMarked(0x7d3000000000));
  SetListening(Listening::kNothing);
  Succeed("cuMemAlloc_v2", &params);
  EXPECT_TRUE(recorder_.Events().empty());
}

TEST_F(MemoryCalls, ALaunchOfAGraphIsAUseToo) {
  const cuGraphLaunch_params launch{reinterpret_cast<CUgraphExec>(7), nullptr};
  Succeed("cuGraphLaunch", &launch);
  EXPECT_EQ(ReportedCalls(), (Words{"cuGraphLaunch", "cuGraphLaunch answers 0"}));
  EXPECT_EQ(recorder_.Events(kOpLaunch).size(), 1u);
}

TEST_F(MemoryCalls, MarkWhatTheyHandOut) {
  CUdeviceptr address = 0x7f0100000000;
  std::size_t pitch = 512;
  const cuMemAllocPitch_v2_params pitched = {&address, &pitch, 300, 20, 4};
  Succeed("cuMemAllocPitch_v2", &pitched);
  EXPECT_TRUE(IsMarked(MemorySide::kDevice, address));
  void* memory = reinterpret_cast<void*>(0x7e0000000000);
  const cuMemHostAlloc_params host = {&memory, 8192, 0};
  Succeed("cuMemHostAlloc", &host);
  EXPECT_TRUE(IsMarked(MemorySide::kHost, 0x7e0000000000));
  EXPECT_FALSE(IsMarked(MemorySide::kDevice, 0x7e0000000000));
  CUdeviceptr range = 0x7f0110000000;
  const cuMemAddressReserve_params reserve = {&range, 64 << 20, 0, 0, 0};
  Succeed("cuMemAddressReserve", &reserve);
  EXPECT_FALSE(IsMarked(range));
  CUDA_MEM_ALLOC_NODE_PARAMS node{};
  node.bytesize = 64;
  node.dptr = 0x7f0120000000;
  const cuGraphAddMemAllocNode_params add{nullptr, nullptr, nullptr, 0, &node};
  Succeed("cuGraphAddMemAllocNode", &add);
  EXPECT_TRUE(IsMarked(MemorySide::kDevice, 0x7f0120000000));
}

TEST_F(MemoryCalls, OfOthersMarkAsMuchAsTheDriverSays) {
  recorder_.SetDriverFunction(
      "cuMemGetAddressRange_v2",
      reinterpret_cast<void*>(+[](unsigned long long* base, std::size_t* bytes,
                                  unsigned long long) { return *base = 1, *bytes = 4 << 20, 0; }));
  LookUpDriver();
  CUdeviceptr address = 0x7f0138000000;
  const cuIpcOpenMemHandle_v2_params open = {&address, {}, 0};
  Succeed("cuIpcOpenMemHandle_v2", &open);
  EXPECT_TRUE(IsMarked(MemorySide::kDevice, address + (2 << 20)));
  EXPECT_FALSE(IsMarked(MemorySide::kDevice, address + (4 << 20)));
}

TEST_F(MemoryCalls, OfAPoolInTheHostsMemoryMarkTheHost) {
  recorder_.SetPoolOnHost(0x9003);
  for (const std::uint64_t pool : {0x9003, 0x9004}) {
    CUdeviceptr address = 0x7f0143000000 + pool * (2 << 20);
    const cuMemAllocFromPoolAsync_params params = {&address, 640,
                                                   reinterpret_cast<CUmemoryPool>(pool), nullptr};
    Succeed("cuMemAllocFromPoolAsync", &params);
    EXPECT_EQ(IsMarked(MemorySide::kHost, address), pool == 0x9003);
    EXPECT_EQ(IsMarked(MemorySide::kDevice, address), pool != 0x9003);
  }
}

TEST_F(MemoryCalls, AFailureMarksNothing) {
  CUdeviceptr untouched = 0x5dad00000000;
  const cuMemAlloc_v2_params params = {&untouched, 1 << 30};
  DriverCall("cuMemAlloc_v2", &params).Enter().Exit(CUDA_ERROR_OUT_OF_MEMORY);
  const cuMemAllocPitch_v2_params pitched = {nullptr, nullptr, 10, 4, 4};
  DriverCall("cuMemAllocPitch_v2", &pitched).Enter().Exit(CUDA_ERROR_INVALID_VALUE);
  EXPECT_FALSE(IsMarked(untouched));
}

TEST_F(MemoryCalls, WhatCuptiSaysOfContextsWithinACallIsLeftOut) {
  CUpti_ResourceData data{};
  data.context = reinterpret_cast<CUcontext>(0xc002);
  const auto created = [&data] {
    OnCallback(nullptr, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED, &data);
  };
  const cuCtxCreate_v2_params params{};
  DriverCall call("cuCtxCreate_v2", &params);
  call.Enter();
  created();
  call.Exit();
  EXPECT_TRUE(recorder_.Events(kOpContextCreate).empty());
  created();
  EXPECT_EQ(recorder_.Events(kOpContextCreate).size(), 1u) << "not made by a function call";
  SetListening(Listening::kUses);
  call.Enter();
  created();
  EXPECT_EQ(recorder_.Events(kOpContextCreate).size(), 2u);
}

TEST_F(MemoryCalls, TheProgramsErrnoStaysAsItWas) {
  recorder_.OnRecord([](const SourceEvent&) { errno = EBADF; });
  CUdeviceptr address = 0x7f0039000000;
  const cuMemAlloc_v2_params params = {&address, 4096};
  errno = ENOENT;
  Succeed("cuMemAlloc_v2", &params);
  EXPECT_EQ(errno, ENOENT);
}

// Driver calls made by the recorder also cause callbacks.
TEST_F(MemoryCalls, WhatTheRecorderItselfCallsIsNotReported) {
  static bool asked;
  asked = false;
  recorder_.OnRecord([](const SourceEvent&) {
    if (asked) return;
    asked = true;
    static CUdeviceptr address = 0x7f003a000000;
    const cuMemAlloc_v2_params params = {&address, 1};
    Succeed("cuMemAlloc_v2", &params);
  });
  const cuMemFree_v2_params params = {1 << 20};
  Succeed("cuMemFree_v2", &params);
  EXPECT_TRUE(asked);
  EXPECT_EQ(ReportedCalls(), (Words{"cuMemFree_v2", "cuMemFree_v2 answers 0"}));
}

}  // namespace
}  // namespace memprof::cupti
