// Finds libcuda and its functions, and maps them to our wrappers.
#include "libmemprof/src/driver/api.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/loader/real_dlsym.h"

namespace memprof::recorder {

std::atomic<void*> g_real_functions[kFunctionCount];
std::atomic<const CalledFunctions*> g_called_functions{nullptr};

namespace {

enum class Streams { kAny, kLegacy, kPerThread };

struct TableRow {
  const char* name;
  const char* base;
  Streams streams;
};
constexpr TableRow kRows[] = {
#define MEMPROF_TABLE_ROW(name, base, since, streams, ...) {#name, #base, Streams::streams},
    MEMPROF_DRIVER_FUNCTIONS(MEMPROF_TABLE_ROW)
#undef MEMPROF_TABLE_ROW
};

std::atomic<void*> g_library{nullptr};
std::atomic<bool> g_all_resolved{false};
std::atomic<std::uint64_t> g_unknown_versions{0};
void* const* g_wrappers = nullptr;
const CalledFunctions kNoFunctions{};

// The program's libcuda, or else the one that the loader finds.
void* Library() {
  void* library = g_library.load(std::memory_order_acquire);
  if (library != nullptr) return library;
  SystemSection section;
  const SignalsOff signals_off;  // the loader has a lock
  library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library != nullptr) g_library.store(library, std::memory_order_release);
  return library;
}

// Whether code at `address` belongs to libcuda, however it was loaded. Stores the library.
bool LiesInLibcuda(void* address) {
  SystemSection section;
  const SignalsOff signals_off;
  Dl_info info;
  if (address == nullptr || dladdr(address, &info) == 0 || info.dli_fname == nullptr) return false;
  const char* slash = strrchr(info.dli_fname, '/');
  const char* file = slash == nullptr ? info.dli_fname : slash + 1;
  if (strncmp(file, "libcuda.so", strlen("libcuda.so")) != 0) return false;
  if (g_library.load(std::memory_order_acquire) == nullptr) {
    void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    void* none = nullptr;
    if (library != nullptr) g_library.compare_exchange_strong(none, library);
  }
  return true;
}

void ResolveAll() {
  if (g_all_resolved.load(std::memory_order_acquire)) return;
  for (int i = 0; i < kFunctionCount; ++i) RealFunction(static_cast<FunctionId>(i));
  g_all_resolved.store(true, std::memory_order_release);
}

// Whether the table has a function with this base name, in any version.
bool IsBaseName(const char* base) {
  for (const TableRow& row : kRows)
    if (strcmp(row.base, base) == 0) return true;
  return false;
}

}  // namespace

const char* FunctionName(FunctionId id) { return kRows[static_cast<int>(id)].name; }

bool UsesThreadStream(FunctionId id) {
  return kRows[static_cast<int>(id)].streams == Streams::kPerThread;
}

void* FindRealFunction(FunctionId id) {
  std::atomic<void*>& real = g_real_functions[static_cast<int>(id)];
  void* library = Library();
  if (library == nullptr) return nullptr;
  const SignalsOff signals_off;
  void* function = RealDlsym(library, FunctionName(id));
  if (function != nullptr) real.store(function, std::memory_order_release);
  return function;
}

void* RealDriverSymbol(const char* name) {
  void* library = Library();
  const SignalsOff signals_off;
  return library == nullptr ? nullptr : RealDlsym(library, name);
}

bool DriverIsLoaded() { return g_library.load(std::memory_order_acquire) != nullptr; }

bool NoticeLoadedDriver() {
  if (DriverIsLoaded()) return true;
  const SignalsOff signals_off;
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  if (library != nullptr) g_library.store(library, std::memory_order_release);
  return library != nullptr;
}

CUresult WithoutDriver() {
  return g_library.load(std::memory_order_acquire) == nullptr ? CUDA_ERROR_NOT_INITIALIZED
                                                              : CUDA_ERROR_NOT_SUPPORTED;
}

void SetWrappers(void* const* wrappers) { g_wrappers = wrappers; }

void* WrapperFunction(FunctionId id) {
  return g_wrappers == nullptr ? nullptr : g_wrappers[static_cast<int>(id)];
}

void* SwapByName(const char* name, void* address) {
  if (address == nullptr || g_wrappers == nullptr) return address;
  for (int i = 0; i < kFunctionCount; ++i) {
    if (strcmp(kRows[i].name, name) != 0) continue;
    if (!LiesInLibcuda(address)) return address;
    return RealFunction(static_cast<FunctionId>(i)) == address ? g_wrappers[i] : address;
  }
  return address;
}

void* SwapByAddress(const char* base, void* address) {
  if (address == nullptr || g_wrappers == nullptr) return address;
  ResolveAll();
  for (int i = 0; i < kFunctionCount; ++i)
    if (g_real_functions[i].load(std::memory_order_relaxed) == address) return g_wrappers[i];
  if (base != nullptr && IsBaseName(base) && LiesInLibcuda(address))
    g_unknown_versions.fetch_add(1, std::memory_order_relaxed);
  return address;
}

std::uint64_t UnknownVersions() { return g_unknown_versions.load(std::memory_order_relaxed); }

const CalledFunctions& FindCalledFunctions() {
  const CalledFunctions* ready = nullptr;
  if (!DriverIsLoaded()) return kNoFunctions;
  // Several threads may get here at once: each looks up all functions, and the first table is kept.
  auto* table = static_cast<CalledFunctions*>(
      MapMemory(sizeof(CalledFunctions), Need::kWriter, InChild::kKept));
  if (table == nullptr) return kNoFunctions;
#define MEMPROF_LOOK_UP(name, parameters) \
  table->name = reinterpret_cast<CUresult(*) parameters>(RealDriverSymbol(#name));
  MEMPROF_CALLED_FUNCTIONS(MEMPROF_LOOK_UP)
#undef MEMPROF_LOOK_UP
  if (g_called_functions.compare_exchange_strong(ready, table, std::memory_order_acq_rel))
    return *table;
  UnmapMemory(table, sizeof(CalledFunctions), Need::kWriter, InChild::kKept);
  return *ready;
}

}  // namespace memprof::recorder
