// Searches the loaded libraries for the real functions.
#include "libmemprof/src/torch/forward.h"

#include <dlfcn.h>
#include <link.h>

#include <atomic>

#include "libmemprof/src/loader/next_symbol.h"
#include "libmemprof/src/loader/real_dlsym.h"
#include "libmemprof/src/loader/relocations.h"
#include "libmemprof/src/recording/thread.h"

namespace memprof::recorder {
namespace {

std::atomic<bool> g_loaded_late{false};
void* const* g_ours = nullptr;
// Libraries that call one of the functions: libc10, libc10_cuda, libtorch_cpu, ...
constexpr std::size_t kSlotsEach = 16;
CallSlot g_slots[static_cast<int>(TorchFunction::kCount) * kSlotsEach];
std::size_t g_slot_counts[static_cast<int>(TorchFunction::kCount)] = {};

constexpr const char* kNames[] = {
#define MEMPROF_TORCH_NAME(identifier, name) #name,
    MEMPROF_TORCH_FUNCTIONS(MEMPROF_TORCH_NAME)
#undef MEMPROF_TORCH_NAME
};

struct Search {
  const char* name;
  const void* caller;
  const void* ours;
  bool ours_seen = false;
  int behind = 0;  // definitions in libraries that were loaded after ours
  void* first_behind = nullptr;
  void* first_before = nullptr;  // in another library than the caller's
};

bool Contains(const dl_phdr_info& info, const void* address) {
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && at - (info.dlpi_addr + segment.p_vaddr) < segment.p_memsz)
      return true;
  }
  return false;
}

int FindInModule(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  if (Contains(*info, search->ours)) {
    search->ours_seen = true;
    return 0;
  }
  void* found = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      found =
          DefinitionIn(info->dlpi_addr,
                       reinterpret_cast<const void*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr),
                       search->name);
  if (found == nullptr) return 0;
  // An interposer in front of us that calls us wants the next definition after its own: it must not
  // get itself.
  if (search->ours_seen) {
    if (search->behind++ == 0) search->first_behind = found;
  } else if (search->first_before == nullptr && !Contains(*info, search->caller)) {
    search->first_before = found;
  }
  return 0;
}

// In the loader's order: the global scope first, then the dependencies of the caller's library.
void* FindByLoader(const Search& search) {
  void* found = RealDlsym(RTLD_NEXT, search.name);
  if (found != nullptr && found != search.ours) return found;
  Dl_info info;
  if (dladdr(search.caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
  void* library = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  found = RealDlsym(library, search.name);
  dlclose(library);
  // The caller's own definition is not the one it wants.
  Dl_info own;
  const bool usable = found != nullptr && found != search.ours && dladdr(found, &own) != 0 &&
                      own.dli_fbase != info.dli_fbase;
  return usable ? found : nullptr;
}

__attribute__((noinline, cold)) void* FindReal(TorchFunction function, const void* caller,
                                               const void* ours) {
  SystemSection section;
  LoaderSection loader(LoaderFlagHere());
  Search search{.name = kNames[static_cast<int>(function)], .caller = caller, .ours = ours};
  dl_iterate_phdr(FindInModule, &search);
  if (search.behind == 1) return search.first_behind;
  // Loaded after PyTorch, and called by changed slots only (lifecycle/attach.h).
  if (search.behind == 0) return g_loaded_late.load() ? search.first_before : nullptr;
  void* found = FindByLoader(search);
  return found != nullptr ? found : search.first_behind;
}

// There are only few call sites. An entry never changes once its caller is set.
struct Site {
  std::atomic<std::uintptr_t> caller{0};  // 1 = being filled in
  std::atomic<void*> real{nullptr};
};
constexpr int kSites = 16;
Site g_sites[static_cast<int>(TorchFunction::kCount)][kSites];

}  // namespace

void SetTorchFunctions(void* const* ours) { g_ours = ours; }

void RedirectTorch() {
  SystemSection section;
  g_loaded_late.store(true);
  CallSlot* slots = g_slots;
  for (int i = 0; g_ours != nullptr && i < static_cast<int>(TorchFunction::kCount); ++i) {
    RedirectCalls(kNames[i], g_ours[i], slots, kSlotsEach, &g_slot_counts[i]);
    slots += kSlotsEach;
  }
}

void RestoreTorch() {
  SystemSection section;
  CallSlot* slots = g_slots;
  for (int i = 0; g_ours != nullptr && i < static_cast<int>(TorchFunction::kCount); ++i) {
    RestoreCalls(g_ours[i], slots, &g_slot_counts[i]);
    slots += kSlotsEach;
  }
}

void* RealTorchFunction(TorchFunction function, const void* caller, const void* ours) {
  const auto site = reinterpret_cast<std::uintptr_t>(caller);
  Site* sites = g_sites[static_cast<int>(function)];
  int i = 0;
  for (; i < kSites; ++i) {
    const std::uintptr_t known = sites[i].caller.load(std::memory_order_acquire);
    if (known == site) return sites[i].real.load(std::memory_order_relaxed);
    if (known == 0) break;
  }
  void* real = FindReal(function, caller, ours);
  for (; i < kSites; ++i) {
    std::uintptr_t expected = 0;
    if (!sites[i].caller.compare_exchange_strong(expected, 1)) continue;
    sites[i].real.store(real, std::memory_order_relaxed);
    sites[i].caller.store(site, std::memory_order_release);
    break;
  }
  return real;
}

}  // namespace memprof::recorder
