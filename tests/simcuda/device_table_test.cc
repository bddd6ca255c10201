// cuGetProcAddress over the whole table, attributes of devices, names of errors.
#include <dlfcn.h>

#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <string>

#include "driver_fixture.h"
#include "tests/support/paths.h"

namespace memprof::simcuda {
namespace {

SIMCUDA_CONFIGURE("memory=1GiB,overhead=16MiB,devices=3");

// cuGetProcAddress returns every exported variant of a function from some version on, and never
// returns anything that is not exported.
TEST(ProcAddress, TheWholeTable) {
  CHECK_CU(cuInit(0));
  void* self = dlopen("libcuda.so.1", RTLD_NOW);
  ASSERT_NE(self, nullptr);
  std::ifstream in(std::string(paths::kSimcudaExports) + "/libcuda.txt");
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
        // A function that one version has is available in all later versions.
        EXPECT_TRUE(function != nullptr || !had) << base << " is missing at " << version;
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
        ASSERT_TRUE(names.contains(function)) << base << " returns a function that is not exported";
        const std::string& name = names[function];
        EXPECT_EQ(name.rfind(base, 0), 0u) << base << " gives " << name;
        const bool per_thread = name.ends_with("_ptsz") || name.ends_with("_ptds");
        EXPECT_TRUE(!per_thread || flags == 2) << name << " without its flag";
      }
    }
    found += had ? 1 : 0;
  }
  EXPECT_GT(found, 400);
  // The first version that has the function is enough.
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
    // All attributes of the devices are equal except the PCI bus id.
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
