// Guest of scripts/gpu-check: makes each allocating call of the CUDA runtime once, and says which
// functions of the driver CUPTI saw meanwhile. Built with the shared and with the static runtime.
//
//   runtime_calls [trace]
//
// Without "trace" CUPTI is left alone.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti_callbacks.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace {

// What CUPTI saw
// -----------------------------------------------------------------------------------

std::vector<std::string> g_seen;
bool g_watching = false;

void CUPTIAPI Callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (g_watching && domain == CUPTI_CB_DOMAIN_DRIVER_API && call->callbackSite == CUPTI_API_ENTER)
    g_seen.emplace_back(call->functionName);
}

// Opens and subscribes; says why not otherwise.
std::string StartTrace() {
  const char* chosen = std::getenv("GPU_CHECK_CUPTI");
  void* library = chosen != nullptr ? dlopen(chosen, RTLD_NOW | RTLD_LOCAL) : nullptr;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"})
    if (library == nullptr) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return "no libcupti was found";
  const auto subscribe =
      reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"));
  const auto enable =
      reinterpret_cast<decltype(&cuptiEnableDomain)>(dlsym(library, "cuptiEnableDomain"));
  if (subscribe == nullptr || enable == nullptr) return "libcupti lacks its callbacks";
  CUpti_SubscriberHandle subscriber = nullptr;
  const CUptiResult result = subscribe(&subscriber, Callback, nullptr);
  if (result != CUPTI_SUCCESS) return "cuptiSubscribe returned " + std::to_string(result);
  const CUptiResult enabled = enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
  if (enabled != CUPTI_SUCCESS) return "cuptiEnableDomain returned " + std::to_string(enabled);
  return "";
}

// The calls
// ----------------------------------------------------------------------------------------

constexpr std::size_t kBytes = 1 << 20;

struct Things {
  void* linear = nullptr;
  void* pitched = nullptr;
  cudaPitchedPtr volume{};
  void* managed = nullptr;
  void* pinned = nullptr;
  void* host = nullptr;
  void* registered = nullptr;
  cudaArray_t array = nullptr;
  cudaArray_t deep_array = nullptr;
  cudaMipmappedArray_t mipmap = nullptr;
  cudaMemPool_t pool = nullptr;
  void* ordered = nullptr;
  void* pooled = nullptr;
  std::size_t pitch = 0;
};

struct Action {
  const char* name;
  std::function<cudaError_t(Things*)> run;
};

cudaError_t CreatePool(Things* things) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  return cudaMemPoolCreate(&things->pool, &properties);
}

const Action kActions[] = {
    {"first call", [](Things*) { return cudaFree(nullptr); }},
    {"cudaMalloc", [](Things* t) { return cudaMalloc(&t->linear, kBytes); }},
    {"cudaMallocPitch",
     [](Things* t) { return cudaMallocPitch(&t->pitched, &t->pitch, 1000, 100); }},
    {"cudaMalloc3D",
     [](Things* t) {
       return cudaMalloc3D(&t->volume, cudaExtent{1000, 10, 10});
     }},
    {"cudaMallocManaged",
     [](Things* t) { return cudaMallocManaged(&t->managed, kBytes, cudaMemAttachGlobal); }},
    {"cudaMallocHost", [](Things* t) { return cudaMallocHost(&t->pinned, kBytes); }},
    {"cudaHostAlloc",
     [](Things* t) { return cudaHostAlloc(&t->host, kBytes, cudaHostAllocDefault); }},
    {"cudaHostRegister",
     [](Things* t) {
       t->registered = std::aligned_alloc(4096, kBytes);
       return cudaHostRegister(t->registered, kBytes, cudaHostRegisterDefault);
     }},
    {"cudaMallocArray",
     [](Things* t) {
       const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
       return cudaMallocArray(&t->array, &format, 256, 256, 0);
     }},
    {"cudaMalloc3DArray",
     [](Things* t) {
       const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
       return cudaMalloc3DArray(&t->deep_array, &format, cudaExtent{64, 64, 16}, 0);
     }},
    {"cudaMallocMipmappedArray",
     [](Things* t) {
       const cudaChannelFormatDesc format{32, 0, 0, 0, cudaChannelFormatKindFloat};
       return cudaMallocMipmappedArray(&t->mipmap, &format, cudaExtent{64, 64, 0}, 3, 0);
     }},
    {"cudaMallocAsync", [](Things* t) { return cudaMallocAsync(&t->ordered, kBytes, nullptr); }},
    {"cudaMemPoolCreate", CreatePool},
    {"cudaMallocFromPoolAsync",
     [](Things* t) { return cudaMallocFromPoolAsync(&t->pooled, kBytes, t->pool, nullptr); }},
    {"cudaFreeAsync", [](Things* t) { return cudaFreeAsync(t->ordered, nullptr); }},
    {"cudaFreeAsync (pool)", [](Things* t) { return cudaFreeAsync(t->pooled, nullptr); }},
    {"cudaMemPoolTrimTo", [](Things* t) { return cudaMemPoolTrimTo(t->pool, 0); }},
    {"cudaMemPoolDestroy", [](Things* t) { return cudaMemPoolDestroy(t->pool); }},
    {"cudaFreeMipmappedArray", [](Things* t) { return cudaFreeMipmappedArray(t->mipmap); }},
    {"cudaFreeArray (3D)", [](Things* t) { return cudaFreeArray(t->deep_array); }},
    {"cudaFreeArray", [](Things* t) { return cudaFreeArray(t->array); }},
    {"cudaHostUnregister", [](Things* t) { return cudaHostUnregister(t->registered); }},
    {"cudaFreeHost (host)", [](Things* t) { return cudaFreeHost(t->host); }},
    {"cudaFreeHost", [](Things* t) { return cudaFreeHost(t->pinned); }},
    {"cudaFree (managed)", [](Things* t) { return cudaFree(t->managed); }},
    {"cudaFree (3D)", [](Things* t) { return cudaFree(t->volume.ptr); }},
    {"cudaFree (pitched)", [](Things* t) { return cudaFree(t->pitched); }},
    {"cudaFree", [](Things* t) { return cudaFree(t->linear); }},
    {"cudaDeviceReset", [](Things*) { return cudaDeviceReset(); }},
};

// Kept apart, so that call stacks show it.
[[gnu::noinline]] cudaError_t RunAction(const Action& action, Things* things) {
  volatile cudaError_t result = action.run(things);  // not a tail call
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string refused = argc > 1 && std::strcmp(argv[1], "trace") == 0 ? StartTrace() : "off";
  const auto snapshot =
      reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "memprof_snapshot"));
  Things things;
  std::printf("{\"trace\":\"%s\",\"actions\":[", refused.c_str());
  const char* separator = "";
  for (const Action& action : kActions) {
    if (snapshot != nullptr) snapshot(action.name);
    g_seen.clear();
    g_watching = true;
    const cudaError_t result = RunAction(action, &things);
    g_watching = false;
    std::printf("%s\n{\"runtime\":\"%s\",\"result\":%d,\"driver\":[", separator, action.name,
                static_cast<int>(result));
    separator = ",";
    for (std::size_t i = 0; i < g_seen.size(); ++i)
      std::printf("%s\"%s\"", i == 0 ? "" : ",", g_seen[i].c_str());
    std::printf("]}");
  }
  std::printf("]}\n");
  return 0;
}
