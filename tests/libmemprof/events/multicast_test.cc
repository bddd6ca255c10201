// Multicast objects: their devices, and the memory bound to them.

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using testing::Event;

class MulticastHooks : public HooksTest {
 protected:
  CUmemGenericAllocationHandle Multicast() {
    CUmemGenericAllocationHandle handle = 0;
    Call("cuMulticastCreate", &handle, static_cast<const void*>(nullptr));
    return handle;
  }
};

// A device that joins is recorded as a bind of no memory.
TEST_F(MulticastHooks, DevicesJoin) {
  Start();
  const auto object = Multicast();
  EXPECT_EQ(Call("cuMulticastAddDevice", object, 1), CUDA_SUCCESS);
  const Event joined = Finish().WithOp(log::OP_MAP).at(0);
  EXPECT_EQ(joined.layer, log::LAYER_MULTICAST);
  EXPECT_EQ(joined.address, object);
  EXPECT_EQ(joined.device, 1);
  EXPECT_EQ(joined.bytes, 0u);
}

TEST_F(MulticastHooks, WhatIsBoundIsHeld) {
  Start();
  const auto object = Multicast();
  const auto bound = CreateMemory(100), mapped = CreateMemory(200);
  Call("cuMemMap", CUdeviceptr{0x10000}, std::size_t{200}, std::size_t{0}, mapped, 0ull);
  Call("cuMulticastBindMem", object, std::size_t{0}, bound, std::size_t{0}, std::size_t{100}, 0ull);
  Call("cuMulticastBindAddr", object, std::size_t{100}, CUdeviceptr{0x10000}, std::size_t{200},
       0ull);
  Call("cuMemRelease", bound);
  Call("cuMemRelease", mapped);
  Call("cuMemUnmap", CUdeviceptr{0x10000}, std::size_t{200});
  EXPECT_EQ(Stats().live_bytes, 300u);
  Call("cuMulticastUnbind", object, 0, std::size_t{0}, std::size_t{100});
  EXPECT_EQ(Stats().live_bytes, 200u);
  Call("cuMemRelease", object);
  EXPECT_EQ(Stats().live_bytes, 0u) << "the object held the rest";
  const testing::Log log = Finish();
  std::vector<Event> binds, unbinds;
  for (const Event& event : log.WithOp(log::OP_MAP))
    if (event.layer == log::LAYER_MULTICAST) binds.push_back(event);
  for (const Event& event : log.WithOp(log::OP_UNMAP))
    if (event.layer == log::LAYER_MULTICAST) unbinds.push_back(event);
  ASSERT_EQ(binds.size(), 2u);
  EXPECT_EQ(binds[0].address, object);
  EXPECT_EQ(binds[0].aux0, bound);
  EXPECT_EQ(binds[0].bytes, 100u);
  EXPECT_EQ(binds[1].aux0, 0x10000u);
  EXPECT_EQ(binds[1].aux1, 100u);
  ASSERT_EQ(unbinds.size(), 1u);
  EXPECT_EQ(unbinds[0].device, 0);
}

}  // namespace
}  // namespace memprof::recorder
