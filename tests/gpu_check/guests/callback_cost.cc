// Guest of scripts/gpu-check: the cost of CUPTI's callbacks. The same loops without CUPTI, with a
// subscription without enabled callbacks, and with the callbacks that memprof enables.
//
//   callback_cost
#include <atomic>

#include "cupti_client.h"
#include "driver.h"
#include "table_names.h"
#include "timing.h"

namespace memprof::gpu_check {
namespace {

std::atomic<long> g_callbacks{0};

void CUPTIAPI Callback(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
  g_callbacks.fetch_add(1, std::memory_order_relaxed);
}

constexpr CUpti_CallbackId kMaxIds = 2000;

// Enables the callbacks that memprof's source enables, and cuDriverGetVersion, by which the source
// checks that its subscription is alive. Returns their number, or -1 if this libcupti lacks the
// functions.
int EnableOurs(void* library, CUpti_SubscriberHandle subscriber) {
  decltype(&cuptiEnableCallback) enable = nullptr;
  decltype(&cuptiGetCallbackName) name_of = nullptr;
  if (!FindIn(library, "cuptiEnableCallback", &enable) ||
      !FindIn(library, "cuptiGetCallbackName", &name_of))
    return -1;
  int enabled = 0;
  for (CUpti_CallbackId id = 1; id < kMaxIds; ++id) {
    const char* name = nullptr;
    if (name_of(CUPTI_CB_DOMAIN_DRIVER_API, id, &name) != CUPTI_SUCCESS || name == nullptr)
      continue;
    if (TableNames().count(name) == 0 && std::string(name) != "cuDriverGetVersion") continue;
    if (enable(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, id) == CUPTI_SUCCESS) ++enabled;
  }
  return enabled;
}

template <typename Body>
void AddLoop(std::string* loops, const char* variant, const char* name, const Body& body) {
  long iterations = 0;
  const long before = g_callbacks.load();
  const std::vector<double> ns = Measure(5, body, &iterations);
  const double callbacks = static_cast<double>(g_callbacks.load() - before);
  *loops += std::string(loops->empty() ? "" : ",") + "\n{\"variant\":\"" + variant +
            "\",\"loop\":\"" + name + "\",\"ns\":" + List(ns) +
            ",\"callbacks\":" + std::to_string(callbacks / static_cast<double>(iterations)) + "}";
}

void AddLoops(std::string* loops, const char* variant) {
  const auto version = Find<decltype(&cuDriverGetVersion)>("cuDriverGetVersion");
  const auto current = Find<decltype(&cuCtxGetCurrent)>("cuCtxGetCurrent");
  const auto allocate = Find<decltype(&cuMemAlloc_v2)>("cuMemAlloc_v2");
  const auto release = Find<decltype(&cuMemFree_v2)>("cuMemFree_v2");
  int number = 0;
  CUcontext context = nullptr;
  CUdeviceptr block = 0;
  CUdeviceptr keep = 0;  // so that the small blocks do not need new device memory each time
  Check(allocate(&keep, 4096), "cuMemAlloc_v2");
  AddLoop(loops, variant, "cuCtxGetCurrent", [&] { current(&context); });
  AddLoop(loops, variant, "cuDriverGetVersion", [&] { version(&number); });
  AddLoop(loops, variant, "cuMemAlloc, cuMemFree", [&] {
    if (allocate(&block, 4096) == CUDA_SUCCESS) release(block);
  });
  Check(release(keep), "cuMemFree_v2");
  const auto ordered = Find<decltype(&cuMemAllocAsync)>("cuMemAllocAsync");
  const auto release_ordered = Find<decltype(&cuMemFreeAsync)>("cuMemFreeAsync");
  if (ordered(&block, 4096, nullptr) != CUDA_SUCCESS) return;
  release_ordered(block, nullptr);
  AddLoop(loops, variant, "cuMemAllocAsync, cuMemFreeAsync", [&] {
    if (ordered(&block, 4096, nullptr) == CUDA_SUCCESS) release_ordered(block, nullptr);
  });
  CALL(cuCtxSynchronize);
}

std::string Describe() {
  UsePrimaryContext();
  std::string loops;
  AddLoops(&loops, "without CUPTI");
  int enabled = 0;
  std::string failure;
  const std::string why = OpenCupti([&](void* library) -> std::string {
    CUpti_SubscriberHandle subscriber = nullptr;
    std::string refused = Subscribe(library, &Callback, &subscriber);
    if (!refused.empty()) return refused;
    AddLoops(&loops, "subscribed");
    enabled = EnableOurs(library, subscriber);
    if (enabled <= 0) failure = "no callback could be enabled";
    AddLoops(&loops, "enabled");
    decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
    if (FindIn(library, "cuptiUnsubscribe", &unsubscribe)) unsubscribe(subscriber);
    return "";
  });
  if (!why.empty()) throw Skipped("CUPTI could not be used: " + why);
  if (!failure.empty()) throw std::runtime_error(failure);
  AddLoops(&loops, "unsubscribed");
  return "\"enabled\":" + std::to_string(enabled) + ",\"loops\":[" + loops + "]";
}

}  // namespace
}  // namespace memprof::gpu_check

int main() { return memprof::gpu_check::Answer(memprof::gpu_check::Describe); }
