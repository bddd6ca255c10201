// Guest of scripts/gpu-check: prints the device, and the cost of driver functions that memprof
// itself calls.
//
//   device
#include "driver.h"
#include "timing.h"

namespace memprof::gpu_check {
namespace {

std::string Attribute(const char* name, CUdevice_attribute attribute) {
  int value = -1;
  Find<decltype(&cuDeviceGetAttribute)>("cuDeviceGetAttribute")(&value, attribute, 0);
  return std::string("\"") + name + "\":" + std::to_string(value);
}

template <typename Body>
void AddCost(std::string* costs, const char* name, const Body& body) {
  long iterations = 0;
  const std::vector<double> ns = Measure(5, body, &iterations);
  *costs += std::string(costs->empty() ? "" : ",") + "\"" + name + "\":" + List(ns);
}

std::string Costs() {
  std::string costs;
  CUcontext context = nullptr;
  CUdevice device = 0;
  std::size_t free_bytes = 0, total = 0;
  int number = 0;
  CUdeviceptr block = 0, base = 0;
  unsigned long long id = 0;
  CALL(cuMemAlloc_v2, &block, 1 << 20);
  const auto current = Find<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent");
  const auto of_context = Find<decltype(&cuCtxGetDevice)>("cuCtxGetDevice");
  const auto info = Find<decltype(&cuMemGetInfo_v2)>("cuMemGetInfo_v2");
  const auto version = Find<decltype(&cuDriverGetVersion)>("cuDriverGetVersion");
  const auto range = Find<decltype(&cuMemGetAddressRange_v2)>("cuMemGetAddressRange_v2");
  const auto capturing = Find<decltype(&cuStreamIsCapturing)>("cuStreamIsCapturing");
  AddCost(&costs, "cuCtxGetCurrent", [&] { current(&context); });
  AddCost(&costs, "cuCtxGetDevice", [&] { of_context(&device); });
  AddCost(&costs, "cuDriverGetVersion", [&] { version(&number); });
  AddCost(&costs, "cuMemGetAddressRange_v2", [&] { range(&base, &total, block); });
  AddCost(&costs, "cuMemGetInfo_v2", [&] { info(&free_bytes, &total); });
  CUstreamCaptureStatus status{};
  AddCost(&costs, "cuStreamIsCapturing", [&] { capturing(nullptr, &status); });
#if CUDA_VERSION >= 12000
  if (void* found = dlsym(Library(), "cuCtxGetId")) {
    const auto get = reinterpret_cast<decltype(&cuCtxGetId)>(found);
    AddCost(&costs, "cuCtxGetId", [&] { get(context, &id); });
  }
#endif
  CALL(cuMemFree_v2, block);
  return costs;
}

std::string Describe() {
  int version = 0, count = 0;
  CALL(cuDriverGetVersion, &version);
  const std::int64_t begin = Now();
  const CUresult started = Find<decltype(&cuInit)>("cuInit")(0);
  if (started != CUDA_SUCCESS)
    throw Skipped("there is a driver, and no GPU that it can use: cuInit returned " +
                  std::to_string(started));
  const std::int64_t initialised = Now();
  CALL(cuDeviceGetCount, &count);
  if (count == 0) throw Skipped("there is a driver, and no GPU that this process may use");
  char name[128] = "";
  CALL(cuDeviceGetName, name, static_cast<int>(sizeof name), 0);
  UsePrimaryContext();
  const std::int64_t ready = Now();
  std::size_t free_bytes = 0, total = 0;
  CALL(cuMemGetInfo_v2, &free_bytes, &total);
  return "\"stand_in\":" + std::string(IsStandIn() ? "true" : "false") +
         ",\"driver_version\":" + std::to_string(version) +
         ",\"devices\":" + std::to_string(count) + ",\"name\":" + Quote(name) +
         ",\"total\":" + std::to_string(total) + ",\"free\":" + std::to_string(free_bytes) +
         ",\"init_ms\":" + std::to_string((initialised - begin) / 1e6) +
         ",\"context_ms\":" + std::to_string((ready - initialised) / 1e6) + "," +
         Attribute("capability_major", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) + "," +
         Attribute("capability_minor", CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) + "," +
         Attribute("compute_mode", CU_DEVICE_ATTRIBUTE_COMPUTE_MODE) + "," +
         Attribute("vmm", CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED) + "," +
         Attribute("pools", CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) + "," +
         Attribute("integrated", CU_DEVICE_ATTRIBUTE_INTEGRATED) + ",\"costs\":{" + Costs() + "}";
}

}  // namespace
}  // namespace memprof::gpu_check

int main() { return memprof::gpu_check::Answer(memprof::gpu_check::Describe); }
