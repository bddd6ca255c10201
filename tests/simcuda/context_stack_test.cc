// Stacks of contexts against a plain model, primary contexts' flags, peers, cuGetProcAddress over
// the whole table, devices' attributes, and error names.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

const Configure kConfigure("memory=1GiB,overhead=16MiB,devices=3");

CUresult CreateContext(CUcontext* context, unsigned flags, int device) {
#if CUDA_VERSION >= 13000
  return cuCtxCreate(context, nullptr, flags, device);
#else
  return cuCtxCreate(context, flags, device);
#endif
}

class ContextStackTest : public DriverTest {};

// Random pushes, pops and sets on one thread, with the stack that they make kept by hand.
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
        // Takes the place of the top.
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
  // This thread's stack is as it was.
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
  // Destroyed from another thread it stays on the stack, dead.
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
  // And one may be had again.
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
  // The other way is another matter.
  CHECK_CU(cuCtxPushCurrent(other));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(context_));
  CHECK_CU(cuCtxEnablePeerAccess(context_, 0));
  CHECK_CU(cuCtxPopCurrent(nullptr));
  CHECK_CU(cuCtxDisablePeerAccess(other));
  EXPECT_EQ(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess(other));
  CHECK_CU(cuDevicePrimaryCtxRelease(1));
}

TEST_F(ContextStackTest, PoolsTellWhoMayReachThem) {
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
  // All or nothing.
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
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool(0, pool)) << "of another device";
  CHECK_CU(cuMemPoolDestroy(pool));
}

// Every exported name that is a variant of a function is what cuGetProcAddress gives from some
// version on, and no version gives anything that is not exported.
TEST(ProcAddress, TheWholeTable) {
  CHECK_CU(cuInit(0));
  void* self = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(self, nullptr);
  std::ifstream in(std::string(SIMCUDA_EXPORTS) + "/libcuda.txt");
  std::map<void*, std::string> names;
  std::set<std::string> bases;
  for (std::string name; std::getline(in, name);) {
    names[dlsym(self, name.c_str())] = name;
    for (const char* suffix : {"_ptsz", "_ptds"}) {
      if (name.ends_with(suffix)) name.resize(name.size() - std::strlen(suffix));
    }
    if (name.size() > 3 && name[name.size() - 3] == '_' && name[name.size() - 2] == 'v') {
      name.resize(name.size() - 3);
    }
    bases.insert(name);
  }
  int found = 0;
  for (const std::string& base : bases) {
    bool had = false;
    for (const int version : {2000, 3020, 4000, 6050, 8000, 10000, 11010, 12000, 12050, 13000}) {
      for (const cuuint64_t flags : {0, 1, 2}) {
        void* function = nullptr;
        CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SUCCESS;
        ASSERT_EQ(CUDA_SUCCESS,
                  cuGetProcAddress_v2(base.c_str(), &function, version, flags, &status));
        ASSERT_EQ(function != nullptr, status == CU_GET_PROC_ADDRESS_SUCCESS) << base;
        // Once there, always there.
        EXPECT_TRUE(function != nullptr || !had) << base << " lost at " << version;
        had = had || function != nullptr;
        void* old = nullptr;
        const auto old_lookup =
            reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t)>(
                dlsym(self, "cuGetProcAddress"));
        EXPECT_EQ(old_lookup(base.c_str(), &old, version, flags),
                  function == nullptr ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS)
            << base;
        EXPECT_EQ(old, function);
        if (function == nullptr) continue;
        ASSERT_TRUE(names.contains(function)) << base << " gives what is not exported";
        const std::string& name = names[function];
        EXPECT_EQ(name.rfind(base, 0), 0u) << base << " gives " << name;
        const bool per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
        EXPECT_TRUE(!per_thread || flags == 2) << name << " without its flag";
      }
    }
    found += had ? 1 : 0;
  }
  EXPECT_GT(found, 400);
  // From the very version on that brought it.
  void* first = nullptr;
  CHECK_CU(cuGetProcAddress_v2("cuInit", &first, 2000, 0, nullptr));
  EXPECT_EQ(first, dlsym(self, "cuInit"));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2(nullptr, &self, 12000, 0, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2("cuInit", nullptr, 12000, 0, nullptr));
}

TEST(DeviceTable, AttributesAreThereForEveryDevice) {
  CHECK_CU(cuInit(0));
  for (int number = 1; number < CU_DEVICE_ATTRIBUTE_MAX; ++number) {
    const auto attribute = static_cast<CUdevice_attribute>(number);
    int values[2] = {-77, -77};
    CHECK_CU(cuDeviceGetAttribute(&values[0], attribute, 0));
    CHECK_CU(cuDeviceGetAttribute(&values[1], attribute, 2));
    EXPECT_GE(values[0], 0) << number;
    // Devices are alike but for their place.
    EXPECT_EQ(values[0] == values[1], attribute != CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) << number;
  }
  int value = 0;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_MAX, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE,
            cuDeviceGetAttribute(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 3));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuDeviceGetAttribute(nullptr, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 0));
}

TEST(DeviceTable, BusIdsGoBothWays) {
  CHECK_CU(cuInit(0));
  for (int device = 0; device < 3; ++device) {
    char text[16] = {};
    CHECK_CU(cuDeviceGetPCIBusId(text, 13, device));
    int bus = 0;
    CHECK_CU(cuDeviceGetAttribute(&bus, CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, device));
    EXPECT_EQ(std::stoi(std::string(text).substr(5, 2), nullptr, 16), bus);
    CUdevice found = -1;
    CHECK_CU(cuDeviceGetByPCIBusId(&found, text));
    EXPECT_EQ(found, device);
  }
  char text[16] = {};
  CUdevice device = -1;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId(text, 12, 0));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId(&device, "nonsense"));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:00:00.0"));
  EXPECT_EQ(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId(&device, "0000:04:00.0"));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId(&device, nullptr));
}

TEST(ErrorTable, EveryNameIsItsEnumeratorAndNoTwoAreAlike) {
  std::set<std::string> seen;
  int known = 0;
  for (int number = -1; number <= 1000; ++number) {
    const auto error = static_cast<CUresult>(number);
    const char* name = "untouched";
    const char* text = "untouched";
    const CUresult result = cuGetErrorName(error, &name);
    EXPECT_EQ(result, cuGetErrorString(error, &text)) << number;
    if (result != CUDA_SUCCESS) {
      EXPECT_EQ(result, CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(name, nullptr);
      EXPECT_EQ(text, nullptr);
      continue;
    }
    ++known;
    EXPECT_EQ(std::string(name).rfind("CUDA_", 0), 0u) << name;
    EXPECT_TRUE(seen.insert(name).second) << name;
    EXPECT_NE(std::string(text), "") << name;
  }
  EXPECT_GT(known, 80);
#define ROW(error) \
  { error, #error }
  const struct {
    CUresult error;
    const char* name;
  } rows[] = {ROW(CUDA_SUCCESS),
              ROW(CUDA_ERROR_INVALID_VALUE),
              ROW(CUDA_ERROR_DEINITIALIZED),
              ROW(CUDA_ERROR_INVALID_CONTEXT),
              ROW(CUDA_ERROR_INVALID_HANDLE),
              ROW(CUDA_ERROR_NOT_READY),
              ROW(CUDA_ERROR_STREAM_CAPTURE_MERGE),
              ROW(CUDA_ERROR_CAPTURED_EVENT),
              ROW(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
              ROW(CUDA_ERROR_UNKNOWN)};
#undef ROW
  for (const auto& row : rows) {
    const char* name = nullptr;
    CHECK_CU(cuGetErrorName(row.error, &name));
    EXPECT_STREQ(name, row.name);
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(CUDA_SUCCESS, nullptr));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuGetErrorString(CUDA_SUCCESS, nullptr));
}

}  // namespace
}  // namespace memprof::simcuda
