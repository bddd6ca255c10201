// Every allocating and freeing function on the fake driver: what a success, a failure, and a free
// leave in the log.

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::DriverCall;
using testing::Event;
using ::testing::IsEmpty;

// One way to allocate memory: the call, and its expected event.
struct Way {
  const char* function;
  log::Layer layer;
  std::uint64_t bytes;         // recorded after a success
  std::uint64_t failed_bytes;  // requested bytes, recorded after a failure
  CUresult (*call)(void* wrapper);
  std::uint64_t stream = 0;
};

template <typename... Arguments>
CUresult Apply(void* function, Arguments... arguments) {
  return reinterpret_cast<CUresult (*)(Arguments...)>(function)(arguments...);
}

CUdeviceptr g_pointer;
void* g_host;

const CUDA_ARRAY_DESCRIPTOR kFlat{100, 10, CU_AD_FORMAT_FLOAT, 4};
const CUDA_ARRAY3D_DESCRIPTOR kDeep{64, 32, 8, CU_AD_FORMAT_HALF, 2, 0};
alignas(4096) char g_own[4096];

const Way kWays[] = {
    {"cuMemAlloc_v2", log::LAYER_LINEAR, 5ull << 32, 5ull << 32,
     [](void* f) { return Apply(f, &g_pointer, std::size_t{5} << 32); }},
    {"cuMemAllocPitch_v2", log::LAYER_PITCHED, 1024 * 9, 600 * 9,
     [](void* f) {
       std::size_t pitch = 0;
       return Apply(f, &g_pointer, &pitch, std::size_t{600}, std::size_t{9}, 4u);
     }},
    {"cuMemAllocManaged", log::LAYER_MANAGED, 77, 77,
     [](void* f) { return Apply(f, &g_pointer, std::size_t{77}, 1u); }},
    {"cuMemAllocHost_v2", log::LAYER_PINNED, 301, 301,
     [](void* f) { return Apply(f, &g_host, std::size_t{301}); }},
    {"cuMemHostAlloc", log::LAYER_PINNED, 302, 302,
     [](void* f) { return Apply(f, &g_host, std::size_t{302}, 0u); }},
    {"cuMemHostRegister", log::LAYER_REGISTERED, 4096, 4096,
     [](void* f) { return Apply(f, static_cast<void*>(g_own), std::size_t{4096}, 0u); }},
    {"cuMemHostRegister_v2", log::LAYER_REGISTERED, 4000, 4000,
     [](void* f) { return Apply(f, static_cast<void*>(g_own), std::size_t{4000}, 0u); }},
    {"cuMemAllocAsync", log::LAYER_STREAM_ORDERED, 11, 11,
     [](void* f) { return Apply(f, &g_pointer, std::size_t{11}, kStream); }, 0x57},
    {"cuMemAllocAsync_ptsz", log::LAYER_STREAM_ORDERED, 12, 12,
     [](void* f) { return Apply(f, &g_pointer, std::size_t{12}, kStream); }, 0x57},
    {"cuMemAllocFromPoolAsync", log::LAYER_STREAM_ORDERED, 13, 13,
     [](void* f) { return Apply(f, &g_pointer, std::size_t{13}, At(0xb99), kStream); }, 0x57},
    {"cuMemAllocFromPoolAsync_ptsz", log::LAYER_STREAM_ORDERED, 14, 14,
     [](void* f) { return Apply(f, &g_pointer, std::size_t{14}, At(0xb99), kStream); }, 0x57},
    {"cuArrayCreate_v2", log::LAYER_ARRAY, 100 * 10 * 4 * 4, 16000,
     [](void* f) { return Apply(f, &g_host, &kFlat); }},
    {"cuArray3DCreate_v2", log::LAYER_ARRAY, 64 * 32 * 8 * 2 * 2, 65536,
     [](void* f) { return Apply(f, &g_host, &kDeep); }},
    {"cuMipmappedArrayCreate", log::LAYER_ARRAY, 4 * (64 * 32 * 8 + 32 * 16 * 4), 73728,
     [](void* f) { return Apply(f, &g_host, &kDeep, 2u); }},
    {"cuIpcOpenMemHandle", log::LAYER_IMPORTED, 640, 0,
     [](void* f) { return Apply(f, &g_pointer, CUipcMemHandle{}, 0u); }},
    {"cuIpcOpenMemHandle_v2", log::LAYER_IMPORTED, 640, 0,
     [](void* f) { return Apply(f, &g_pointer, CUipcMemHandle{}, 0u); }},
};

class Allocating : public HooksTest, public ::testing::WithParamInterface<Way> {
 protected:
  static bool OnHost() {
    return GetParam().layer == log::LAYER_PINNED || GetParam().layer == log::LAYER_REGISTERED;
  }
};

TEST_P(Allocating, IsRecordedAfterTheRealCallSucceeded) {
  Start();
  const Way& way = GetParam();
  const std::uint64_t next = driver_.next;
  std::size_t recorded_during = 99;
  driver_.decide = [&](const DriverCall&) {
    recorded_during = Events().size();
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(way.call(Wrapper(way.function)), CUDA_SUCCESS);
  EXPECT_EQ(recorded_during, 0u);
  const testing::Log log = Finish();
  const std::vector<Event> allocations = log.WithOp(log::OP_ALLOC);
  ASSERT_EQ(allocations.size(), 1u);
  const Event& event = allocations[0];
  EXPECT_EQ(event.layer, way.layer);
  EXPECT_EQ(event.bytes, way.bytes);
  const bool registered = way.layer == log::LAYER_REGISTERED;
  EXPECT_EQ(event.address, registered ? reinterpret_cast<std::uint64_t>(g_own) : next);
  EXPECT_EQ(event.device, OnHost() ? -1 : 0);
  EXPECT_EQ(event.stream, way.stream);
  EXPECT_EQ(event.result, 0u);
  EXPECT_EQ(log.Text(event.api), way.function);
  EXPECT_EQ(event.stack != 0, kTestStacks);
  EXPECT_EQ(log.contexts.at(event.context).handle(), 0xa0u);
  EXPECT_EQ(log.contexts.at(event.context).device(), 0u);
}

TEST_P(Allocating, ThatFailsIsRecordedWithRequestedAndFreeBytes) {
  Start();
  const Way& way = GetParam();
  Answer(CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(way.call(Wrapper(way.function)), CUDA_ERROR_OUT_OF_MEMORY);
  const testing::Log log = Finish();
  EXPECT_THAT(log.WithOp(log::OP_ALLOC), IsEmpty());
  const std::vector<Event> failed = log.WithOp(log::OP_ALLOC_FAILED);
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed[0].layer, way.layer);
  EXPECT_EQ(failed[0].bytes, way.failed_bytes);
  EXPECT_EQ(failed[0].result, static_cast<std::uint32_t>(CUDA_ERROR_OUT_OF_MEMORY));
  EXPECT_EQ(failed[0].address, 0u);
  EXPECT_EQ(failed[0].device, OnHost() ? -1 : 0);
  EXPECT_EQ(failed[0].aux0, driver_.free_bytes);
  EXPECT_EQ(failed[0].aux1, driver_.total_bytes);
  EXPECT_EQ(failed[0].stack != 0, kTestStacks);
}

TEST_P(Allocating, WhilePausedReachesTheDriverAlone) {
  Start();
  memprof_stop();
  EXPECT_EQ(GetParam().call(Wrapper(GetParam().function)), CUDA_SUCCESS);
  ASSERT_EQ(driver_.calls.size(), 1u);
  EXPECT_EQ(driver_.calls[0].name, GetParam().function);
  EXPECT_THAT(Finish().WithOp(log::OP_ALLOC), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Hooks, Allocating, ::testing::ValuesIn(kWays),
                         [](const auto& way) { return std::string(way.param.function); });

// One way to free memory.
struct Return {
  const char* function;
  log::Layer layer;
  bool has_stream = false;
};

const Return kReturns[] = {
    {"cuMemFree_v2", log::LAYER_LINEAR},
    {"cuMemFreeHost", log::LAYER_PINNED},
    {"cuMemHostUnregister", log::LAYER_REGISTERED},
    {"cuMemFreeAsync", log::LAYER_STREAM_ORDERED, true},
    {"cuMemFreeAsync_ptsz", log::LAYER_STREAM_ORDERED, true},
    {"cuArrayDestroy", log::LAYER_ARRAY},
    {"cuMipmappedArrayDestroy", log::LAYER_ARRAY},
    {"cuIpcCloseMemHandle", log::LAYER_IMPORTED},
};

class Freeing : public HooksTest, public ::testing::WithParamInterface<Return> {
 protected:
  static constexpr std::uint64_t kAddress = 0x7e0000001000;
  CUresult Free(std::uint64_t address) {
    return GetParam().has_stream ? Call(GetParam().function, address, kStream)
                                 : Call(GetParam().function, address);
  }
};

TEST_P(Freeing, IsRecordedBeforeTheRealCall) {
  Start();
  std::vector<Event> during;
  driver_.decide = [&](const DriverCall&) {
    during = Events();
    return CUDA_SUCCESS;
  };
  EXPECT_EQ(Free(kAddress), CUDA_SUCCESS);
  ASSERT_EQ(during.size(), 1u);
  EXPECT_EQ(during[0].op, log::OP_FREE);
  EXPECT_EQ(during[0].layer, GetParam().layer);
  EXPECT_EQ(during[0].address, kAddress);
  EXPECT_EQ(during[0].stream, GetParam().has_stream ? 0x57u : 0u);
  EXPECT_EQ(Finish().events.size(), 1u) << "and nothing after it";
}

TEST_P(Freeing, ThatFailsIsTakenBack) {
  Start();
  Answer(CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(Free(kAddress), CUDA_ERROR_INVALID_VALUE);
  const testing::Log log = Finish();
  ASSERT_EQ(log.events.size(), 2u);
  const Event& failed = log.events[1];
  EXPECT_EQ(failed.op, log::OP_FREE_FAILED);
  EXPECT_EQ(failed.layer, GetParam().layer);
  EXPECT_EQ(failed.address, kAddress);
  EXPECT_EQ(failed.device, log.events[0].device);
  EXPECT_EQ(failed.result, static_cast<std::uint32_t>(CUDA_ERROR_INVALID_VALUE));
}

TEST_P(Freeing, OfNothingIsNoEvent) {
  Start();
  EXPECT_EQ(Free(0), CUDA_SUCCESS);
  Answer(CUDA_ERROR_INVALID_VALUE);
  Free(0);
  EXPECT_EQ(driver_.calls.size(), 2u) << "the driver is called nevertheless";
  EXPECT_THAT(Finish().events, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Hooks, Freeing, ::testing::ValuesIn(kReturns),
                         [](const auto& way) { return std::string(way.param.function); });

}  // namespace
}  // namespace memprof::recorder
