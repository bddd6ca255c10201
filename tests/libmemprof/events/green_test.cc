// Hooks of green contexts, of contexts for graphics, and of contexts converted from them.
#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::Event;

class GreenHooks : public HooksTest {
 protected:
  void* Green(int device = 0) {
    void* green = nullptr;
    EXPECT_EQ(Call("cuGreenCtxCreate", &green, At(0xde5c), device, 1u), CUDA_SUCCESS);
    return green;
  }
  CUcontext Convert(void* green) {
    CUcontext context = nullptr;
    EXPECT_EQ(Call("cuCtxFromGreenCtx", &context, green), CUDA_SUCCESS);
    return context;
  }
  CUdeviceptr AllocateIn(CUcontext context, std::size_t bytes) {
    driver_.current = context;
    CUdeviceptr pointer = 0;
    EXPECT_EQ(Call("cuMemAlloc_v2", &pointer, bytes), CUDA_SUCCESS);
    return pointer;
  }
};

TEST_F(GreenHooks, MemoryStaysAsLongAsThePrimaryContext) {
  Start();
  CUcontext primary = nullptr;
  Call("cuDevicePrimaryCtxRetain", &primary, 0);
  void* green = Green();
  const CUcontext context = Convert(green);
  EXPECT_NE(context, primary);
  AllocateIn(context, 100);
  AllocateIn(primary, 10);
  driver_.current = nullptr;
  Call("cuGreenCtxDestroy", green);
  EXPECT_EQ(Stats().live_bytes, 110u) << "the primary context still exists";
  driver_.primary_active = false;
  Call("cuDevicePrimaryCtxRelease_v2", 0);
  EXPECT_EQ(Stats().live_bytes, 0u);
  const testing::Log log = Finish();
  EXPECT_EQ(log.WithOp(log::OP_CONTEXT_CREATE).size(), 2u);
  EXPECT_EQ(log.WithOp(log::OP_CONTEXT_DESTROY).size(), 2u);
  const std::vector<Event> allocations = log.WithOp(log::OP_ALLOC);
  EXPECT_NE(allocations.at(0).context, allocations.at(1).context);
  for (const Event& event : allocations) EXPECT_TRUE(log.contexts.at(event.context).primary());
}

TEST_F(GreenHooks, TheLastToHoldThePrimaryContextEndsIt) {
  Start();
  void* green = Green(1);
  driver_.device = 1;
  AllocateIn(Convert(green), 100);
  Answer(CUDA_ERROR_INVALID_CONTEXT);
  driver_.primary_active = false;
  Call("cuGreenCtxDestroy", green);
  EXPECT_EQ(Stats().live_bytes, 100u) << "that call failed";
  Answer(CUDA_SUCCESS);
  driver_.current = nullptr;
  Call("cuGreenCtxDestroy", green);
  EXPECT_EQ(Stats().live_bytes, 0u);
  const Event end = Finish().WithOp(log::OP_CONTEXT_DESTROY).at(0);
  EXPECT_EQ(end.device, 1);
}

TEST_F(GreenHooks, AResetEndsWhatIsUnderGreenContextsToo) {
  Start();
  const CUcontext context = Convert(Green());
  AllocateIn(context, 100);
  AllocateIn(driver_.primary[0], 10);
  Call("cuDevicePrimaryCtxReset_v2", 0);
  EXPECT_EQ(Stats().live_bytes, 0u);
}

// The handle may be reused for another context while the memory is still live.
TEST_F(GreenHooks, ADestroyedOnesHandleMayComeBack) {
  Start();
  void* green = Green();
  const CUcontext context = Convert(green);
  AllocateIn(context, 100);
  Call("cuGreenCtxDestroy", green);
  const std::uint64_t next = driver_.next;
  driver_.next = reinterpret_cast<std::uint64_t>(context);
  CUcontext created = nullptr;
  Call("cuCtxCreate_v2", &created, 0u, 0);
  ASSERT_EQ(created, context);
  driver_.next = next;
  AllocateIn(created, 10);
  driver_.current = nullptr;
  Call("cuCtxDestroy_v2", created);
  EXPECT_EQ(Stats().live_bytes, 100u);
  driver_.primary_active = false;
  Call("cuDevicePrimaryCtxRelease_v2", 0);
  EXPECT_EQ(Stats().live_bytes, 0u) << "and ends with the primary context";
}

TEST_F(GreenHooks, ConvertedTwiceItIsOneContext) {
  Start();
  void* green = Green();
  const CUcontext context = Convert(green);
  driver_.next = reinterpret_cast<std::uint64_t>(context);
  EXPECT_EQ(Convert(green), context);
  Convert(At(0x123456));  // made before recording began
  Call("cuGreenCtxDestroy", At(0x123456));
  EXPECT_EQ(Finish().WithOp(log::OP_CONTEXT_CREATE).size(), 1u);
}

TEST_F(GreenHooks, AnAttachedContextTakesOneMoreDetach) {
  Start();
  CUcontext context = nullptr, attached = nullptr;
  Call("cuCtxCreate_v2", &context, 0u, 0);
  driver_.next = reinterpret_cast<std::uint64_t>(context);
  Call("cuCtxAttach", &attached, 0u);
  ASSERT_EQ(attached, context);
  AllocateIn(context, 100);
  Call("cuCtxDetach", context);
  EXPECT_EQ(Stats().live_bytes, 100u);
  Call("cuCtxDetach", context);
  EXPECT_EQ(Stats().live_bytes, 0u);
  EXPECT_EQ(Finish().WithOp(log::OP_CONTEXT_DESTROY).size(), 1u);
}

TEST_F(GreenHooks, ADestroyedContextIsAttachedToNoMore) {
  Start();
  CUcontext context = nullptr, attached = nullptr;
  Call("cuCtxCreate_v2", &context, 0u, 0);
  const auto handle = reinterpret_cast<std::uint64_t>(context);
  for (int i = 0; i < 2; ++i) {
    driver_.next = handle;
    Call("cuCtxAttach", &attached, 0u);
  }
  Call("cuCtxDestroy_v2", context);
  driver_.next = handle;
  Call("cuCtxCreate_v2", &context, 0u, 0);
  Call("cuCtxDetach", context);
  EXPECT_EQ(Finish().WithOp(log::OP_CONTEXT_DESTROY).size(), 2u);
}

}  // namespace
}  // namespace memprof::recorder
