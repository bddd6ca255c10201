// Guest of scripts/gpu-check: makes each allocating call of the CUDA runtime once, and prints which
// driver functions CUPTI reported during it. Built with the shared and with the static runtime.
//
//   runtime_calls             leaves CUPTI alone
//   runtime_calls trace       subscribes to CUPTI before the first call
//   runtime_calls trace-late  subscribes after the first call
//   runtime_calls finalize    calls cuptiFinalize during the calls, as a profiler does at its end,
//                             and rests for a few seconds
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <time.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "cupti_client.h"

// All runtimes since 11.2 export these; the headers declare them under the names without the
// suffix, and only for whole files.
extern "C" cudaError_t cudaMallocAsync_ptsz(void**, std::size_t, cudaStream_t);
extern "C" cudaError_t cudaFreeAsync_ptsz(void*, cudaStream_t);

namespace {

using memprof::gpu_check::FindIn;
using memprof::gpu_check::OpenCupti;
using memprof::gpu_check::Subscribe;

// What CUPTI saw
// -----------------------------------------------------------------------------------

std::vector<std::string> g_seen;
bool g_watching = false;

void CUPTIAPI Callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId, const void* data) {
  const auto* call = static_cast<const CUpti_CallbackData*>(data);
  if (g_watching && domain == CUPTI_CB_DOMAIN_DRIVER_API && call->callbackSite == CUPTI_API_ENTER)
    g_seen.emplace_back(call->functionName);
}

// Opens CUPTI and subscribes; returns the reason if it cannot.
std::string StartTrace() {
  return OpenCupti([](void* library) -> std::string {
    decltype(&cuptiEnableDomain) enable = nullptr;
    CUpti_SubscriberHandle subscriber = nullptr;
    if (!FindIn(library, "cuptiEnableDomain", &enable)) return "libcupti lacks its callbacks";
    std::string why = Subscribe(library, &Callback, &subscriber);
    if (!why.empty()) return why;
    const CUptiResult enabled = enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API);
    return enabled == CUPTI_SUCCESS ? "" : "cuptiEnableDomain returned " + std::to_string(enabled);
  });
}

// Uses the copy that is in use: another copy would not know the subscribers.
std::string Finalize() {
  const std::string why = OpenCupti([](void* library) -> std::string {
    decltype(&cuptiFinalize) finalize = nullptr;
    if (!FindIn(library, "cuptiFinalize", &finalize)) return "libcupti lacks cuptiFinalize";
    const CUptiResult result = finalize();
    return result == CUPTI_SUCCESS ? "" : "cuptiFinalize returned " + std::to_string(result);
  });
  const timespec time{4, 0};
  nanosleep(&time, nullptr);
  return why;
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
  void* per_thread = nullptr;
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
    {"cudaMallocAsync_ptsz",
     [](Things* t) { return cudaMallocAsync_ptsz(&t->per_thread, kBytes, nullptr); }},
    {"cudaFreeAsync_ptsz", [](Things* t) { return cudaFreeAsync_ptsz(t->per_thread, nullptr); }},
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

// A separate function, so that it appears in call stacks.
[[gnu::noinline]] cudaError_t RunAction(const Action& action, Things* things) {
  volatile cudaError_t result = action.run(things);  // not a tail call
  return result;
}

// The error of a runtime that is newer than the driver.
constexpr const char kTooNew[] =
    "the CUDA runtime that this program was built with is newer than the driver (error 35)";

std::string Json(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' || c < ' ' ? '\'' : c;
  return quoted + "\"";
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  std::string refused = mode == "trace" ? StartTrace() : "off";
  const auto snapshot =
      reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "memprof_snapshot"));
  Things things;
  std::string actions;
  for (const Action& action : kActions) {
    if (snapshot != nullptr) snapshot(action.name);
    g_seen.clear();
    g_watching = true;
    const cudaError_t result = RunAction(action, &things);
    g_watching = false;
    if (actions.empty() && result == cudaErrorInsufficientDriver) {
      std::printf("{\"skipped\":\"%s\"}\n", kTooNew);
      return 0;
    }
    if (actions.empty() && mode == "trace-late") refused = StartTrace();
    if (std::strcmp(action.name, "cudaMallocManaged") == 0 && mode == "finalize")
      refused = Finalize();
    actions += std::string(actions.empty() ? "" : ",") + "\n{\"runtime\":\"" + action.name +
               "\",\"result\":" + std::to_string(result) + ",\"driver\":[";
    for (std::size_t i = 0; i < g_seen.size(); ++i)
      actions += (i == 0 ? "\"" : ",\"") + g_seen[i] + "\"";
    actions += "]}";
  }
  std::printf("{\"trace\":%s,\"actions\":[%s]}\n", Json(refused).c_str(), actions.c_str());
  return 0;
}
