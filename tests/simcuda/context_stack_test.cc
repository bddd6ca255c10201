// Stacks of contexts against a simple model; flags and ids of contexts; peers.

#include <random>
#include <set>
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=16MiB,devices=3");

CUresult CreateContext(CUcontext* context, unsigned flags, int device) {
#if CUDA_VERSION >= 13000
  return cuCtxCreate(context, nullptr, flags, device);
#else
  return cuCtxCreate(context, flags, device);
#endif
}

class ContextStackTest : public DriverTest {};

// Random pushes, pops and sets on one thread, compared with a model of the stack.
void RunStack(const std::vector<CUcontext>& contexts, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<CUcontext> model;
  for (int step = 0; step < 500; ++step) {
    const CUcontext any = contexts[random() % contexts.size()];
    switch (random() % 4) {
      case 0:
        if (model.size() > 20) break;
        ASSERT_EQ(CUDA_SUCCESS, cuCtxPushCurrent(any));
        model.push_back(any);
        break;
      case 1: {
        CUcontext popped = nullptr;
        const CUresult expected = model.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS;
        ASSERT_EQ(expected, cuCtxPopCurrent(&popped));
        if (model.empty()) break;
        ASSERT_EQ(popped, model.back());
        model.pop_back();
        break;
      }
      case 2:
        // Replaces the top of the stack.
        ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(any));
        if (!model.empty()) model.pop_back();
        model.push_back(any);
        break;
      default:
        ASSERT_EQ(CUDA_SUCCESS, cuCtxSetCurrent(nullptr));
        if (!model.empty()) model.pop_back();
    }
    CUcontext current = nullptr;
    ASSERT_EQ(CUDA_SUCCESS, cuCtxGetCurrent(&current));
    ASSERT_EQ(current, model.empty() ? nullptr : model.back()) << "step " << step;
    CUdevice device = -1;
    ASSERT_EQ(model.empty() ? CUDA_ERROR_INVALID_CONTEXT : CUDA_SUCCESS, cuCtxGetDevice(&device));
  }
  while (cuCtxPopCurrent(nullptr) == CUDA_SUCCESS) continue;
}

TEST_F(ContextStackTest, StacksAgreeWithAPlainModelOnEveryThread) {
  std::vector<CUcontext> contexts = {context_};
  for (int device = 0; device < 3; ++device) {
    CHECK_CU(CreateContext(&contexts.emplace_back(), 0, device));
    CHECK_CU(cuCtxPopCurrent(nullptr));
  }
  std::vector<std::thread> threads;
  for (unsigned seed = 1; seed <= 4; ++seed) {
    threads.emplace_back([&contexts, seed] { RunStack(contexts, seed); });
  }
  for (std::thread& thread : threads) thread.join();
  // The stack of this thread is unchanged.
  CUcontext current = nullptr;
  CHECK_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  for (size_t i = 1; i < contexts.size(); ++i) CHECK_CU(cuCtxDestroy(contexts[i]));
  CHECK_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
}

TEST_F(ContextStackTest, ADestroyedContextLeavesTheTopAlone) {
  CUcontext made = nullptr;
  CHECK_CU(CreateContext(&made, 0, 1));
  CHECK_CU(cuCtxDestroy(made));
  CUcontext current = nullptr;
  CHECK_CU(cuCtxGetCurrent(&current));
  EXPECT_EQ(current, context_);
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(made));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent(made));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(made));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context_)) << "a primary context";
  // A context destroyed from another thread stays on the stack but cannot be used.
  CHECK_CU(CreateContext(&made, 0, 1));
  std::thread([made] { EXPECT_EQ(CUDA_SUCCESS, cuCtxDestroy(made)); }).join();
  CUdeviceptr address = 0;
  CUdevice device = 0;
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 16));
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize());
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxGetDevice(&device));
  CHECK_CU(cuCtxPopCurrent(&current));
  CHECK_CU(cuMemAlloc(&address, 16));
  CHECK_CU(cuMemFree(address));
}

TEST_F(ContextStackTest, FlagsOfContexts) {
  for (const unsigned flags : {0u, 1u, 2u, 4u, 8u, 16u, 0x1fu}) {
    CUcontext made = nullptr;
    CHECK_CU(CreateContext(&made, flags, 0));
    unsigned got = 99;
    CHECK_CU(cuCtxGetFlags(&got));
    EXPECT_EQ(got, flags);
    CHECK_CU(cuCtxDestroy(made));
    CHECK_CU(cuDevicePrimaryCtxSetFlags(2, flags));
    int active = 7;
    CHECK_CU(cuDevicePrimaryCtxGetState(2, &got, &active));
    EXPECT_EQ(got, flags);
    EXPECT_EQ(active, 0);
  }
  CUcontext made = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, CreateContext(&made, ~0u, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, CreateContext(&made, 0, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, CreateContext(&made, 0, -1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, CreateContext(nullptr, 0, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags(2, ~0u));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxSetFlags(3, 0));
  EXPECT_EQ(made, nullptr);
  CHECK_CU(cuDevicePrimaryCtxSetFlags(2, 0));
}

TEST_F(ContextStackTest, ResetEndsThePrimaryContextForAllItsUsers) {
  CUcontext first = nullptr;
  CUcontext second = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&first, 2));
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 2));
  EXPECT_EQ(first, second);
  EXPECT_EQ(Memory(2).context_bytes, 16 * kMiB);
  CHECK_CU(cuCtxPushCurrent(first));
  CUdeviceptr address = 0;
  CHECK_CU(cuMemAlloc(&address, 5 * kMiB));
  CHECK_CU(cuDevicePrimaryCtxReset(2));
  EXPECT_EQ(Memory(2).free_bytes, kGiB);
  EXPECT_EQ(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&address, 1));
  CHECK_CU(cuCtxPopCurrent(nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(2));
  // A new primary context can be created.
  CHECK_CU(cuDevicePrimaryCtxRetain(&second, 2));
  CHECK_CU(cuDevicePrimaryCtxRelease(2));
  EXPECT_EQ(Memory(2).free_bytes, kGiB);
  CHECK_CU(cuDevicePrimaryCtxReset(2));
}

TEST_F(ContextStackTest, IdsAreNeverGivenTwice) {
  std::set<unsigned long long> ids;
  for (int i = 0; i < 20; ++i) {
    CUcontext made = nullptr;
    CHECK_CU(CreateContext(&made, 0, i % 3));
    unsigned long long id = 0;
    CHECK_CU(cuCtxGetId(made, &id));
    EXPECT_TRUE(ids.insert(id).second);
    unsigned version = 0;
    CHECK_CU(cuCtxGetApiVersion(made, &version));
    EXPECT_GE(version, 3010u);
    CHECK_CU(cuCtxDestroy(made));
    EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetId(made, &id));
    EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion(made, &version));
  }
}

TEST_F(ContextStackTest, PeersAreEnabledOnceAndOneWay) {
  CUcontext other = nullptr;
  CHECK_CU(cuDevicePrimaryCtxRetain(&other, 1));
  for (int one = 0; one < 3; ++one) {
    for (int two = 0; two < 3; ++two) {
      int can = 7;
      CHECK_CU(cuDeviceCanAccessPeer(&can, one, two));
      EXPECT_EQ(can, one != two ? 1 : 0);
      int value = 7;
      EXPECT_EQ(
          one == two ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS,
          cuDeviceGetP2PAttribute(&value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, one, two));
    }
  }
  int can = 7;
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, 0, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer(&can, -1, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceCanAccessPeer(nullptr, 0, 1));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess(other, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(context_, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess(nullptr, 0));
  CHECK_CU(cuCtxEnablePeerAccess(other, 0));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess(other, 0));
  // Access in the other direction is separate.
  CHECK_CU(cuCtxPushCurrent(other));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(context_));
  CHECK_CU(cuCtxEnablePeerAccess(context_, 0));
  CHECK_CU(cuCtxPopCurrent(nullptr));
  CHECK_CU(cuCtxDisablePeerAccess(other));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
}

TEST_F(ContextStackTest, PoolsReportWhoMayAccessThem) {
  CUmemPoolProps properties = {};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {1}};
  CUmemoryPool pool = nullptr;
  CHECK_CU(cuMemPoolCreate(&pool, &properties));
  const auto access = [&](int device) {
    CUmemLocation location = {CU_MEM_LOCATION_TYPE_DEVICE, {device}};
    CUmemAccess_flags flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    EXPECT_EQ(CUDA_SUCCESS, cuMemPoolGetAccess(&flags, pool, &location));
    return flags;
  };
  EXPECT_EQ(access(0), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  EXPECT_EQ(access(1), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  CUmemAccessDesc wanted[] = {
      {{CU_MEM_LOCATION_TYPE_DEVICE, {0}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE},
      {{CU_MEM_LOCATION_TYPE_DEVICE, {9}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE}};
  // The call sets all entries or none.
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuMemPoolSetAccess(pool, wanted, 2));
  EXPECT_EQ(access(0), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  CHECK_CU(cuMemPoolSetAccess(pool, wanted, 1));
  EXPECT_EQ(access(0), CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
  EXPECT_EQ(access(2), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  wanted[0].flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
  CHECK_CU(cuMemPoolSetAccess(pool, wanted, 1));
  EXPECT_EQ(access(0), CU_MEM_ACCESS_FLAGS_PROT_NONE);
  wanted[0].location.type = CU_MEM_LOCATION_TYPE_HOST;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, wanted, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(pool, nullptr, 1));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess(nullptr, wanted, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, pool)) << "on another device";
  CHECK_CU(cuMemPoolDestroy(pool));
}

}  // namespace
}  // namespace memprof::simcuda
