// Reads the loader's list of modules.
#include "libmemprof/src/recording/internal/module_data.h"

#include <limits.h>
#include <string.h>

#include <algorithm>

#include "libmemprof/src/stacks/modules.h"

namespace memprof::recorder {
namespace {

// Static thread-local data lies this far below the thread pointer at most (x86-64, where all of it
// does); what was loaded later lies elsewhere.
constexpr std::uint64_t kMostStatic = std::uint64_t{1} << 20;

bool BeginsWith(const char* text, const char* prefix) {
  return strncmp(text, prefix, strlen(prefix)) == 0;
}

}  // namespace

ModuleData::Owner OwnerOfFile(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* driver : {"libcuda.so", "libnvidia-"})
    if (BeginsWith(name, driver)) return ModuleData::Owner::kDriver;
  for (const char* folder : {"/dev/nvidia", "/memfd:simcuda"})
    if (BeginsWith(path, folder)) return ModuleData::Owner::kDriver;
  for (const char* other : {"libmemprof", "libc.so.", "libc-2.", "ld-linux", "ld-2.", "libpthread"})
    if (BeginsWith(name, other)) return ModuleData::Owner::kNobody;
  return ModuleData::Owner::kProgram;
}

// Within the loader's callback, where neither locks of ours nor the loader's functions may be used.
int ModuleData::Collect(dl_phdr_info* info, std::size_t, void* self) {
  auto* data = static_cast<ModuleData*>(self);
  Module module{info->dlpi_addr, reinterpret_cast<std::uint64_t>(info->dlpi_tls_data), 0,
                static_cast<std::uint32_t>(data->paths_.size()), Owner::kProgram};
  const auto index = static_cast<std::uint32_t>(data->modules_.size());
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_TLS) module.tls_bytes = segment.p_memsz;
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_W) != 0)
      data->ranges_.Append({begin, begin + segment.p_memsz, index});
  }
  const char* name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  data->paths_.Append(name, strlen(name) + 1);
  data->modules_.Append(module);
  return 0;
}

bool ModuleData::Read() {
  dl_iterate_phdr(&ModuleData::Collect, this);
  if (modules_.failed() || ranges_.failed() || paths_.failed()) return false;
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.begin < b.begin; });
  char path[PATH_MAX];
  for (Module& module : modules_) {
    AbsolutePath(PathOf(module), path);
    module.path = static_cast<std::uint32_t>(paths_.size());
    module.owner = OwnerOfFile(path);
    if (!paths_.Append(path, strlen(path) + 1)) return false;
  }
  return true;
}

ModuleData::Spot ModuleData::Find(std::uint64_t address) const {
  const Range* after =
      std::upper_bound(ranges_.begin(), ranges_.end(), address,
                       [](std::uint64_t value, const Range& range) { return value < range.begin; });
  if (after != ranges_.begin() && address < (after - 1)->end) {
    const Module& module = modules_[(after - 1)->module];
    return {&module, address - module.bias};
  }
  return {};
}

ModuleData::Spot ModuleData::FindThreadLocal(std::uint64_t address, std::uint64_t thread,
                                             std::uint64_t here) const {
  for (const Module& module : modules_) {
    if (module.tls_here == 0 || (thread != here && here - module.tls_here > kMostStatic)) continue;
    const std::uint64_t offset = address - (module.tls_here + (thread - here));
    if (offset < module.tls_bytes) return {&module, offset};
  }
  return {};
}

std::uint64_t ModuleData::StaticBytes(std::uint64_t here) const {
  std::uint64_t most = 0;
  for (const Module& module : modules_)
    if (module.tls_here != 0 && here - module.tls_here <= kMostStatic)
      most = std::max(most, here - module.tls_here);
  return most;
}

}  // namespace memprof::recorder
