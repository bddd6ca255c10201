// Guest of scripts/gpu-check: the addresses of driver functions from dlsym and from both versions
// of cuGetProcAddress, for every function that memprof intercepts.
//
//   pointers
#include <dlfcn.h>

#include <cstdint>
#include <cstdio>
#include <iterator>
#include <set>
#include <string>

#include "libmemprof/src/driver/table.h"

namespace {

struct Function {
  const char* name;
  const char* base;
  int since;
  const char* streams;
};
// Without cuda.h, whose macros would rename the listed names.
#define ENTRY(name, base, since, streams, parameters, arguments, handler) \
  {#name, #base, since, #streams},
constexpr Function kTable[] = {MEMPROF_DRIVER_FUNCTIONS(ENTRY)};
#undef ENTRY

constexpr int kVersions[] = {11080, 12000, 12040, 12080, 13000};

// The runtime versions for which a name is looked up: the usual ones, and those with which its
// meaning changed.
std::set<int> VersionsOf(const std::string& base, int driver_version) {
  std::set<int> versions(std::begin(kVersions), std::end(kVersions));
  for (const Function& function : kTable)
    if (function.base == base) versions.insert(function.since);
  versions.erase(versions.upper_bound(driver_version), versions.end());
  return versions;
}

constexpr std::uint64_t kFlags[] = {0, 1, 2};  // none, legacy stream, per-thread stream

std::string Address(const void* pointer) {
  char text[32];
  std::snprintf(text, sizeof text, "\"0x%llx\"",
                static_cast<unsigned long long>(reinterpret_cast<std::uintptr_t>(pointer)));
  return text;
}

std::string Object(const void* pointer) {
  Dl_info where{};
  if (pointer == nullptr || dladdr(pointer, &where) == 0 || where.dli_fname == nullptr)
    return "\"\"";
  const std::string path = where.dli_fname;
  return "\"" + path.substr(path.rfind('/') + 1) + "\"";
}

const char* g_separator = "";

void PrintAnswer(const Function& function, const char* through, int version, std::uint64_t flags,
                 int result, const void* pointer) {
  std::printf(
      "%s\n{\"base\":\"%s\",\"through\":\"%s\",\"version\":%d,\"flags\":%llu,\"result\":%d,"
      "\"address\":%s,\"object\":%s}",
      g_separator, function.base, through, version, static_cast<unsigned long long>(flags), result,
      Address(pointer).c_str(), Object(pointer).c_str());
  g_separator = ",";
}

}  // namespace

int main() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::printf("{\"skipped\":\"libcuda.so.1 cannot be loaded\"}\n");
    return 0;
  }
  int version = 0;
  if (void* ask = dlsym(library, "cuDriverGetVersion"))
    reinterpret_cast<int (*)(int*)>(ask)(&version);
  const auto old_way = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t)>(
      dlsym(library, "cuGetProcAddress"));
  const auto new_way = reinterpret_cast<int (*)(const char*, void**, int, std::uint64_t, void*)>(
      dlsym(library, "cuGetProcAddress_v2"));

  std::printf("{\"driver_version\":%d,\"symbols\":[", version);
  for (const Function& function : kTable) {
    const void* pointer = dlsym(library, function.name);
    std::printf(
        "%s\n{\"name\":\"%s\",\"base\":\"%s\",\"since\":%d,\"streams\":\"%s\",\"address\":%s,"
        "\"object\":%s}",
        g_separator, function.name, function.base, function.since, function.streams,
        Address(pointer).c_str(), Object(pointer).c_str());
    g_separator = ",";
  }
  std::printf("],\"answers\":[");
  g_separator = "";
  std::set<std::string> asked;
  for (const Function& function : kTable) {
    if (!asked.insert(function.base).second) continue;
    for (const int wanted : VersionsOf(function.base, version)) {
      for (const std::uint64_t flags : kFlags) {
        void* pointer = nullptr;
        if (old_way != nullptr) {
          const int result = old_way(function.base, &pointer, wanted, flags);
          PrintAnswer(function, "cuGetProcAddress", wanted, flags, result, pointer);
        }
        pointer = nullptr;
        int status = 0;
        if (new_way != nullptr) {
          const int result = new_way(function.base, &pointer, wanted, flags, &status);
          PrintAnswer(function, "cuGetProcAddress_v2", wanted, flags, result, pointer);
        }
      }
    }
  }
  std::printf("]}\n");
  return 0;
}
