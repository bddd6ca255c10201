// Shared by the guests of scripts/gpu-check: the driver; marks in memprof's log if there is one;
// and results as one JSON object.
#pragma once

#include "tests/families/driver.h"

namespace memprof::gpu_check {

// A function of the driver, for loops of calls.
template <typename Function>
Function Find(const char* name) {
  return reinterpret_cast<Function>(Exported(name));
}

inline void Mark(const char* label) {
  static const auto snapshot =
      reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "memprof_snapshot"));
  if (snapshot != nullptr) snapshot(label);
}

inline CUcontext UsePrimaryContext() {
  g_silent = true;
  CALL(cuInit, 0);
  return UsePrimary();
}

inline std::uint64_t FreeBytes() {
  std::size_t free_bytes = 0, total = 0;
  CALL(cuCtxSynchronize);
  CALL(cuMemGetInfo_v2, &free_bytes, &total);
  return free_bytes;
}

// Texts that need no escaping: names and numbers.
inline std::string Quote(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' || c == '\\' || c < ' ' ? '\'' : c;
  return quoted + "\"";
}

// Prints the result of `describe` as a JSON object, or the reason why there is none.
template <typename Describe>
int Answer(const Describe& describe) {
  try {
    std::printf("{%s}\n", std::string(describe()).c_str());
  } catch (const Skipped& reason) {
    std::printf("{\"skipped\":%s}\n", Quote(reason.what()).c_str());
  } catch (const std::exception& error) {
    std::printf("{\"failed\":%s}\n", Quote(error.what()).c_str());
  }
  return 0;
}

}  // namespace memprof::gpu_check
