// Searches for libcupti.
#include "cupti_hooks/src/cupti_library.h"

#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace memprof::cupti {
namespace {

// SONAMEs, newest first, with their major version of CUDA. Within a major version any driver works.
// Up to CUDA 11 the name contained the minor version.
struct Name {
  const char* file;
  int major;  // 0 = unknown
};
constexpr Name kNames[] = {{"libcupti.so.13", 13},   {"libcupti.so.12", 12},
                           {"libcupti.so.11.8", 11}, {"libcupti.so.11.7", 11},
                           {"libcupti.so.11.6", 11}, {"libcupti.so", 0}};

struct Mapped {
  char cupti[512];
  char cudart[512];
};

void CopyText(char* to, std::size_t size, const char* from) { std::snprintf(to, size, "%s", from); }

int NoteObject(dl_phdr_info* info, std::size_t, void* user) {
  auto* mapped = static_cast<Mapped*>(user);
  const char* path = info->dlpi_name;
  if (path == nullptr || path[0] == '\0') return 0;
  const char* slash = std::strrchr(path, '/');
  const char* base = slash == nullptr ? path : slash + 1;
  if (mapped->cupti[0] == '\0' && std::strncmp(base, "libcupti.so", 11) == 0) {
    CopyText(mapped->cupti, sizeof mapped->cupti, path);
  }
  if (mapped->cudart[0] == '\0' && std::strncmp(base, "libcudart.so", 12) == 0) {
    CopyText(mapped->cudart, sizeof mapped->cudart, path);
  }
  return 0;
}

// Directories relative to that of the CUDA runtime: in a toolkit, and in wheels that pip installed.
constexpr const char* kBesideRuntime[] = {".", "../extras/CUPTI/lib64", "../../cuda_cupti/lib",
                                          "../../../../extras/CUPTI/lib64"};
constexpr const char* kInToolkit[] = {"lib64",
                                      "extras/CUPTI/lib64",
                                      "lib",
                                      "extras/CUPTI/lib",
                                      "targets/x86_64-linux/lib",
                                      "targets/sbsa-linux/lib",
                                      "targets/aarch64-linux/lib"};
constexpr const char* kToolkitVariables[] = {"CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"};

class Search {
 public:
  Search(int driver_version, const Mapped& mapped)
      : driver_version_(driver_version), mapped_(mapped) {}

  void* Run() {
    if (mapped_.cupti[0] != '\0') {
      // By its path, so that this very copy is opened, whatever its name is.
      if (void* handle = dlopen(mapped_.cupti, RTLD_LAZY | RTLD_NOLOAD)) return handle;
    }
    for (const Name& name : kNames) {
      if (void* handle = dlopen(name.file, RTLD_LAZY | RTLD_NOLOAD)) return handle;
    }
    // The frameworks of the program bring the libcupti of the runtime that they use.
    const int runtime = RuntimeMajor();
    for (const Name& name : kNames) {
      if (runtime == 0 || name.major != runtime) continue;
      if (void* handle = Find(name)) return handle;
    }
    for (const Name& name : kNames) {
      if (runtime != 0 && name.major == runtime) continue;
      if (void* handle = Find(name)) return handle;
    }
    return nullptr;
  }

 private:
  void* Find(const Name& name) const {
    if (driver_version_ != 0 && name.major > driver_version_ / 1000) return nullptr;
    if (void* handle = Try(name.file)) return handle;
    if (void* handle = BesideRuntime(name.file)) return handle;
    return InToolkits(name.file);
  }

  // 12 for ".../libcudart.so.12"; 0 when no runtime is mapped (it may be linked statically).
  int RuntimeMajor() const {
    const char* version = std::strstr(mapped_.cudart, "libcudart.so.");
    return version == nullptr ? 0 : std::atoi(version + std::strlen("libcudart.so."));
  }

  static void* Try(const char* path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL); }

  static void* TryIn(const char* directory, const char* below, const char* file) {
    char path[1024];
    const int length = std::snprintf(path, sizeof path, "%s/%s/%s", directory, below, file);
    return length > 0 && static_cast<std::size_t>(length) < sizeof path ? Try(path) : nullptr;
  }

  void* BesideRuntime(const char* file) const {
    char directory[512];
    CopyText(directory, sizeof directory, mapped_.cudart);
    char* slash = std::strrchr(directory, '/');
    if (slash == nullptr) return nullptr;
    *slash = '\0';
    for (const char* below : kBesideRuntime) {
      if (void* handle = TryIn(directory, below, file)) return handle;
    }
    return nullptr;
  }

  static void* InToolkits(const char* file) {
    for (const char* variable : kToolkitVariables) {
      const char* root = std::getenv(variable);
      if (root == nullptr || root[0] == '\0') continue;
      for (const char* below : kInToolkit) {
        if (void* handle = TryIn(root, below, file)) return handle;
      }
    }
    // "libcupti.so.13" -> /usr/local/cuda-13, "libcupti.so" -> /usr/local/cuda.
    char root[64];
    const char* version = file + std::strlen("libcupti.so");
    std::snprintf(root, sizeof root, "/usr/local/cuda%s%s", version[0] == '.' ? "-" : "",
                  version[0] == '.' ? version + 1 : "");
    for (const char* directory : {static_cast<const char*>(root), "/usr/local/cuda"}) {
      for (const char* below : kInToolkit) {
        if (void* handle = TryIn(directory, below, file)) return handle;
      }
    }
    return nullptr;
  }

  int driver_version_;
  const Mapped& mapped_;
};

template <typename Function>
bool LookUp(void* handle, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(handle, name));
  return *function != nullptr;
}

bool LookUpAll(void* handle, CuptiLibrary* library, const char** missing) {
#define MEMPROF_CUPTI_NEEDED(member, name) \
  if (!LookUp(handle, name, &library->member)) return *missing = name, false;
  MEMPROF_CUPTI_NEEDED(subscribe, "cuptiSubscribe")
  MEMPROF_CUPTI_NEEDED(unsubscribe, "cuptiUnsubscribe")
  MEMPROF_CUPTI_NEEDED(enable_callback, "cuptiEnableCallback")
  MEMPROF_CUPTI_NEEDED(get_callback_name, "cuptiGetCallbackName")
  MEMPROF_CUPTI_NEEDED(get_version, "cuptiGetVersion")
  MEMPROF_CUPTI_NEEDED(get_result_string, "cuptiGetResultString")
  MEMPROF_CUPTI_NEEDED(get_device_id, "cuptiGetDeviceId")
#undef MEMPROF_CUPTI_NEEDED
  LookUp(handle, "cuptiSubscribe_v2", &library->subscribe_v2);
  return true;
}

}  // namespace

bool LoadCupti(int driver_version, CuptiLibrary* library, char* why, std::size_t why_size) {
  void* handle = nullptr;
  if (const char* file = std::getenv("MEMPROF_CUPTI_LIBRARY"); file != nullptr && file[0] != '\0') {
    handle = dlopen(file, RTLD_LAZY | RTLD_LOCAL);
    if (handle == nullptr) {
      const char* error = dlerror();
      std::snprintf(why, why_size, "MEMPROF_CUPTI_LIBRARY: %s", error == nullptr ? file : error);
      return false;
    }
  } else {
    Mapped mapped{};
    dl_iterate_phdr(&NoteObject, &mapped);
    handle = Search(driver_version, mapped).Run();
    dlerror();  // clears our error, which the program's next dlerror() would return
  }
  if (handle == nullptr) {
    std::snprintf(why, why_size,
                  "no libcupti found (tried the loader's path, beside libcudart, CUDA_HOME and "
                  "/usr/local/cuda; set MEMPROF_CUPTI_LIBRARY to its file)");
    return false;
  }
  const char* missing = nullptr;
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr) {
    CopyText(library->path, sizeof library->path, map->l_name);
  }
  if (!LookUpAll(handle, library, &missing)) {
    std::snprintf(why, why_size, "%s has no %s: too old, or not libcupti", library->path, missing);
    return false;
  }
  if (library->get_version(&library->version) != CUPTI_SUCCESS) library->version = 0;
  return true;
}

}  // namespace memprof::cupti
