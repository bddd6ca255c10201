// Opens a CUPTI of the machine as a profiler does: the newest one that supports this driver.
#pragma once

#include <cupti_callbacks.h>
#include <dlfcn.h>

#include <cstdlib>
#include <functional>
#include <string>

namespace memprof::gpu_check {

// Tries the copies of libcupti that can be found, until `attempt` returns "". Returns "", or the
// last reason why not. GPU_CHECK_CUPTI names the only copy to try.
inline std::string OpenCupti(const std::function<std::string(void*)>& attempt) {
  const char* chosen = std::getenv("GPU_CHECK_CUPTI");
  std::string why = "no libcupti was found";
  for (const char* name :
       {chosen, "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8", "libcupti.so"}) {
    if (name == nullptr || (chosen != nullptr && name != chosen)) continue;
    void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) continue;
    why = attempt(library);
    if (why.empty()) return why;
    // Another tool holds it: an older copy would not get it either.
    if (why.find("returned 39") != std::string::npos) return why;
  }
  return why;
}

template <typename Function>
bool FindIn(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
  return *function != nullptr;
}

inline std::string Subscribe(void* library, CUpti_CallbackFunc callback,
                             CUpti_SubscriberHandle* subscriber) {
  decltype(&cuptiSubscribe) subscribe = nullptr;
  if (!FindIn(library, "cuptiSubscribe", &subscribe)) return "libcupti lacks cuptiSubscribe";
  const CUptiResult result = subscribe(subscriber, callback, nullptr);
  return result == CUPTI_SUCCESS ? "" : "cuptiSubscribe returned " + std::to_string(result);
}

}  // namespace memprof::gpu_check
