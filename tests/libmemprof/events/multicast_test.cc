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

// As of CUDA 13.1, the calls name the device.
TEST_F(MulticastHooks, ABindMayNameItsDevice) {
  Start();
  const auto object = Multicast();
  const auto bound = CreateMemory(100), mapped = CreateMemory(200);
  Call("cuMemMap", CUdeviceptr{0x10000}, std::size_t{200}, std::size_t{0}, mapped, 0ull);
  Call("cuMulticastBindMem_v2", object, 0, std::size_t{0}, bound, std::size_t{0}, std::size_t{100},
       0ull);
  Call("cuMulticastBindAddr_v2", object, 1, std::size_t{100}, CUdeviceptr{0x10000},
       std::size_t{200}, 0ull);
  Call("cuMemRelease", bound);
  Call("cuMemRelease", mapped);
  Call("cuMemUnmap", CUdeviceptr{0x10000}, std::size_t{200});
  EXPECT_EQ(Stats().live_bytes, 300u);
  Call("cuMemRelease", object);
  EXPECT_EQ(Stats().live_bytes, 0u);
  std::vector<Event> binds;
  for (const Event& event : Finish().WithOp(log::OP_MAP))
    if (event.layer == log::LAYER_MULTICAST) binds.push_back(event);
  ASSERT_EQ(binds.size(), 2u);
  EXPECT_EQ(binds[0].aux0, bound);
  EXPECT_EQ(binds[1].aux0, 0x10000u);
  EXPECT_EQ(binds[1].aux1, 100u);
  EXPECT_EQ(binds[1].device, 1) << "not the current one";
}

// Numbers of endpoints may be those of handles of memory.
TEST_F(MulticastHooks, ALogicalEndpointHoldsWhatIsBoundToIt) {
  Start();
  driver_.next = 0x5000;
  const auto bound = CreateMemory(100), mapped = CreateMemory(200);
  const auto endpoint = static_cast<cuuint32_t>(bound);
  Call("cuLogicalEndpointCreate", endpoint, static_cast<const void*>(nullptr));
  Call("cuLogicalEndpointAddDevice", endpoint, 1);
  Call("cuMemMap", CUdeviceptr{0x10000}, std::size_t{200}, std::size_t{0}, mapped, 0ull);
  Call("cuLogicalEndpointBindMem", endpoint, 0, cuuint64_t{0}, bound, cuuint64_t{0},
       cuuint64_t{100}, 0ull);
  Call("cuLogicalEndpointBindAddr", endpoint, 1, cuuint64_t{100}, reinterpret_cast<void*>(0x10000),
       cuuint64_t{200}, 0ull);
  Call("cuMemRelease", bound);
  Call("cuMemRelease", mapped);
  Call("cuMemUnmap", CUdeviceptr{0x10000}, std::size_t{200});
  EXPECT_EQ(Stats().live_bytes, 300u);
  Call("cuLogicalEndpointUnbind", endpoint, 0, cuuint64_t{0}, cuuint64_t{100});
  EXPECT_EQ(Stats().live_bytes, 200u);
  Call("cuLogicalEndpointDestroy", endpoint);
  EXPECT_EQ(Stats().live_bytes, 0u) << "the endpoint held the rest";
  const testing::Log log = Finish();
  std::vector<Event> made, joined;
  for (const Event& event : log.WithOp(log::OP_ALLOC))
    if (event.layer == log::LAYER_MULTICAST) made.push_back(event);
  for (const Event& event : log.WithOp(log::OP_MAP))
    if (event.layer == log::LAYER_MULTICAST) joined.push_back(event);
  ASSERT_EQ(made.size(), 1u);
  ASSERT_EQ(joined.size(), 3u);
  EXPECT_EQ(joined[0].address, made[0].address);
  EXPECT_EQ(joined[0].device, 1);
  EXPECT_EQ(joined[1].aux0, bound);
}

TEST_F(MulticastHooks, AnEndpointOfAnotherProcessIsOneToo) {
  Start();
  Call("cuLogicalEndpointImport", cuuint32_t{7}, static_cast<const void*>(nullptr), 1);
  const auto bound = CreateMemory(100);
  Call("cuLogicalEndpointBindMem", cuuint32_t{7}, 0, cuuint64_t{0}, bound, cuuint64_t{0},
       cuuint64_t{100}, 0ull);
  Call("cuMemRelease", bound);
  EXPECT_EQ(Stats().live_bytes, 100u);
  Call("cuLogicalEndpointDestroy", cuuint32_t{7});
  EXPECT_EQ(Stats().live_bytes, 0u);
}

}  // namespace
}  // namespace memprof::recorder
