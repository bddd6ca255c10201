// Attributes of every kind of pointer, as a table; flags of pinned and registered memory; copies in
// every direction and pitched fills against a bytewise model.
#include <algorithm>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "driver_fixture.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=0,devices=2");

constexpr size_t kBytes = 10000;

constexpr char kPointerPtx[] = R"(
.version 8.0
.target sm_90
.address_size 64
.visible .global .align 4 .b8 table[10000];
)";

// One memory of each kind, all of device 0.
class PointerTest : public DriverTest {
 protected:
  void SetUp() override {
    DriverTest::SetUp();
    CHECK_CU(cuMemAlloc(&linear_, kBytes));
    CHECK_CU(cuMemAllocManaged(&managed_, kBytes, CU_MEM_ATTACH_GLOBAL));
    CHECK_CU(cuMemHostAlloc(&pinned_, kBytes, CU_MEMHOSTALLOC_PORTABLE));
    CHECK_CU(cuMemHostRegister(registered_.data(), kBytes, 0));
    CHECK_CU(cuMemAllocAsync(&ordered_, kBytes, nullptr));
    CUmodule module = nullptr;
    CHECK_CU(cuModuleLoadData(&module, kPointerPtx));
    size_t size = 0;
    CHECK_CU(cuModuleGetGlobal(&global_, &size, module, "table"));
    ASSERT_EQ(size, kBytes);
    CUmemAllocationProp properties = {};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
    CHECK_CU(cuMemCreate(&handle_, 2 * kMiB, &properties, 0));
    CHECK_CU(cuMemAddressReserve(&mapped_, 2 * kMiB, 0, 0, 0));
    CHECK_CU(cuMemMap(mapped_, 2 * kMiB, 0, handle_, 0));
    const CUmemAccessDesc access = {properties.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CHECK_CU(cuMemSetAccess(mapped_, 2 * kMiB, &access, 1));
  }
  void TearDown() override {
    CHECK_CU(cuMemUnmap(mapped_, 2 * kMiB));
    CHECK_CU(cuMemAddressFree(mapped_, 2 * kMiB));
    CHECK_CU(cuMemRelease(handle_));
    DriverTest::TearDown();
  }
  std::vector<CUdeviceptr> All() const {
    return {linear_,  managed_, Address(pinned_), Address(registered_.data()),
            ordered_, global_,  mapped_,          Address(plain_.data())};
  }
  static CUdeviceptr Address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }
  CUdeviceptr linear_ = 0;
  CUdeviceptr managed_ = 0;
  CUdeviceptr ordered_ = 0;
  CUdeviceptr global_ = 0;
  CUdeviceptr mapped_ = 0;
  void* pinned_ = nullptr;
  std::vector<unsigned char> registered_ = std::vector<unsigned char>(kBytes);
  std::vector<unsigned char> plain_ = std::vector<unsigned char>(kBytes);
  CUmemGenericAllocationHandle handle_ = 0;
};

template <class Value>
Value Get(CUpointer_attribute attribute, CUdeviceptr pointer, CUresult* result) {
  Value value = {};
  *result = cuPointerGetAttribute(&value, attribute, pointer);
  return value;
}

TEST_F(PointerTest, EveryKindReportsWhatItIs) {
  struct Row {
    const char* name;
    CUdeviceptr address;
    size_t size;
    unsigned type;
    bool managed;
    bool host;
    bool pool;
    bool ipc;
  };
  const Row rows[] = {
      {"linear", linear_, kBytes, CU_MEMORYTYPE_DEVICE, false, false, false, true},
      {"managed", managed_, kBytes, CU_MEMORYTYPE_DEVICE, true, true, false, false},
      {"pinned", Address(pinned_), kBytes, CU_MEMORYTYPE_HOST, false, true, false, false},
      {"registered", Address(registered_.data()), kBytes, CU_MEMORYTYPE_HOST, false, true, false,
       false},
      {"ordered", ordered_, kBytes, CU_MEMORYTYPE_DEVICE, false, false, true, false},
      {"global", global_, kBytes, CU_MEMORYTYPE_DEVICE, false, false, false, false},
      {"mapped", mapped_, 2 * kMiB, CU_MEMORYTYPE_DEVICE, false, false, false, false}};
  for (const Row& row : rows) {
    for (const size_t inside : {size_t{0}, size_t{1}, row.size / 2, row.size - 1}) {
      SCOPED_TRACE(std::string(row.name) + " at " + std::to_string(inside));
      const CUdeviceptr at = row.address + inside;
      CUresult result = CUDA_SUCCESS;
      EXPECT_EQ(Get<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, at, &result), row.type);
      EXPECT_EQ(Get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, at, &result), at);
      EXPECT_EQ(Get<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, at, &result) != 0, row.managed);
      EXPECT_EQ(Get<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, at, &result), 0);
      EXPECT_EQ(Get<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, at, &result), row.address);
      EXPECT_EQ(Get<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, at, &result), row.size);
      EXPECT_EQ(Get<unsigned>(CU_POINTER_ATTRIBUTE_MAPPED, at, &result), 1u);
      EXPECT_EQ(Get<unsigned>(CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, at, &result) != 0,
                row.ipc);
      EXPECT_EQ(Get<void*>(CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, at, &result) != nullptr, row.pool);
      EXPECT_EQ(Get<unsigned>(CU_POINTER_ATTRIBUTE_ACCESS_FLAGS, at, &result),
                unsigned{CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE});
      EXPECT_EQ(result, CUDA_SUCCESS);
      const void* host = Get<void*>(CU_POINTER_ATTRIBUTE_HOST_POINTER, at, &result);
      EXPECT_EQ(result, row.host ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE);
      EXPECT_EQ(host, row.host ? reinterpret_cast<void*>(at) : nullptr);
    }
    CUdeviceptr base = 0;
    size_t size = 0;
    CHECK_CU(cuMemGetAddressRange(&base, &size, row.address + 5));
    EXPECT_EQ(base, row.address) << row.name;
    EXPECT_EQ(size, row.size) << row.name;
  }
}

TEST_F(PointerTest, EveryBufferHasANumberOfItsOwn) {
  std::vector<unsigned long long> ids;
  for (const CUdeviceptr address : All()) {
    if (address == Address(plain_.data())) continue;
    CUresult result = CUDA_SUCCESS;
    const auto id = Get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, address, &result);
    EXPECT_EQ(Get<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, address + 9, &result), id);
    EXPECT_EQ(std::find(ids.begin(), ids.end(), id), ids.end());
    ids.push_back(id);
  }
}

TEST_F(PointerTest, PlainHostMemoryIsNoMemoryOfCuda) {
  unsigned type = 7;
  int device = 7;
  size_t size = 7;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, Address(plain_.data())));
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                 CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL,
                                 CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  void* answers[] = {&type, &device, &size};
  CHECK_CU(cuPointerGetAttributes(3, asked, answers, Address(plain_.data())));
  EXPECT_EQ(type, 0u);
  EXPECT_EQ(device, -2);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(0, asked, answers, linear_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(1, nullptr, answers, linear_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(1, asked, nullptr, linear_));
  answers[1] = nullptr;
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes(2, asked, answers, linear_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE,
            cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, linear_));
  EXPECT_EQ(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(nullptr, nullptr, Address(plain_.data())));
}

TEST_F(PointerTest, EndsAreExact) {
  for (const CUdeviceptr address : {linear_, ordered_, global_}) {
    CHECK_CU(cuMemsetD8(address, 0, kBytes));
    CHECK_CU(cuMemsetD8(address + kBytes - 1, 0, 1));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(address, 0, kBytes + 512));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(address, 0, ~size_t{0}));
  }
}

TEST_F(PointerTest, FlagsOfHostMemory) {
  for (unsigned flags = 0; flags <= 8; ++flags) {
    void* made = nullptr;
    const CUresult result = cuMemHostAlloc(&made, 100, flags);
    EXPECT_EQ(result, flags < 8 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << flags;
    if (result != CUDA_SUCCESS) continue;
    unsigned got = 99;
    CHECK_CU(cuMemHostGetFlags(&got, made));
    // With unified addresses all pinned memory is mapped.
    EXPECT_EQ(got, flags | CU_MEMHOSTALLOC_DEVICEMAP);
    CUdeviceptr device = 0;
    CHECK_CU(cuMemHostGetDevicePointer(&device, made, 0));
    EXPECT_EQ(device, Address(made));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer(&device, made, 1));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(static_cast<char*>(made) + 1));
    CHECK_CU(cuMemFreeHost(made));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(made));
    EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags(&got, made));
  }
  for (unsigned flags = 0; flags <= 16; ++flags) {
    const CUresult result = cuMemHostRegister(plain_.data(), kBytes, flags);
    EXPECT_EQ(result, flags < 16 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE) << flags;
    if (result != CUDA_SUCCESS) continue;
    EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
              cuMemHostRegister(plain_.data() + 100, 8, flags));
    CHECK_CU(cuMemHostUnregister(plain_.data()));
    EXPECT_EQ(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister(plain_.data()));
  }
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost(plain_.data()));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(Address(pinned_)));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(global_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(mapped_));
  EXPECT_EQ(CUDA_ERROR_INVALID_VALUE, cuMemFree(linear_ + 512));
}

TEST_F(PointerTest, CopiesInEveryDirectionAgreeWithABytewiseModel) {
  const std::vector<CUdeviceptr> places = All();
  std::vector<std::vector<unsigned char>> model;
  std::mt19937 random(11);
  for (const CUdeviceptr place : places) {
    std::vector<unsigned char>& bytes = model.emplace_back(kBytes);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random());
    CHECK_CU(cuMemcpy(place, Address(bytes.data()), kBytes));
  }
  for (int round = 0; round < 1500; ++round) {
    const size_t from = random() % places.size();
    const size_t to = random() % places.size();
    const size_t bytes = 1 + random() % 800;
    const size_t from_at = random() % (kBytes - bytes);
    const size_t to_at = random() % (kBytes - bytes);
    if (round % 3 == 0) {
      // A fill of two rows with a pitch instead of a copy.
      const size_t width = 1 + bytes / 4;
      const size_t pitch = width + random() % 100;
      const size_t start = random() % (kBytes - pitch - width);
      const auto value = static_cast<unsigned char>(random());
      const bool plain = places[to] == Address(plain_.data());
      ASSERT_EQ(plain ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS,
                cuMemsetD2D8(places[to] + start, pitch, value, width, 2));
      if (plain) continue;
      std::memset(model[to].data() + start, value, width);
      std::memset(model[to].data() + start + pitch, value, width);
      continue;
    }
    const CUdeviceptr source = places[from] + from_at;
    const CUdeviceptr target = places[to] + to_at;
    // Peer copies accept only memory that CUDA allocated.
    const bool known = from + 1 < places.size() && to + 1 < places.size();
    switch (random() % (known ? 3 : 2)) {
      case 0:
        CHECK_CU(cuMemcpy(target, source, bytes));
        break;
      case 1:
        CHECK_CU(cuMemcpyAsync(target, source, bytes, nullptr));
        break;
      default:
        CHECK_CU(cuMemcpyPeer(target, context_, source, context_, bytes));
    }
    std::memmove(model[to].data() + to_at, model[from].data() + from_at, bytes);
  }
  CHECK_CU(cuCtxSynchronize());
  for (size_t i = 0; i < places.size(); ++i) {
    std::vector<unsigned char> got(kBytes);
    CHECK_CU(cuMemcpy(Address(got.data()), places[i], kBytes));
    EXPECT_EQ(got, model[i]) << i;
  }
}

}  // namespace
}  // namespace memprof::simcuda
