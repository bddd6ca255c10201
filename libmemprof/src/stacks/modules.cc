// Follows the loader's list of modules.
#include "libmemprof/src/stacks/modules.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>
#include <new>

#include "libmemprof/src/base/hash.h"
#include "libmemprof/src/base/mapped_array.h"

namespace memprof::recorder {
namespace {

constexpr std::size_t kMaxBuildIdBytes = 64;

// The descriptor of the note NT_GNU_BUILD_ID within one PT_NOTE segment; null if absent.
const unsigned char* FindBuildId(const char* note, std::size_t bytes, std::size_t* length) {
  while (bytes >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) header;
    memcpy(&header, note, sizeof header);
    const std::size_t name = (std::size_t{header.n_namesz} + 3) & ~std::size_t{3};
    const std::size_t descriptor = (std::size_t{header.n_descsz} + 3) & ~std::size_t{3};
    const std::size_t total = sizeof header + name + descriptor;
    if (total > bytes) return nullptr;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        memcmp(note + sizeof header, "GNU", 4) == 0) {
      *length = header.n_descsz;
      return reinterpret_cast<const unsigned char*>(note + sizeof header + name);
    }
    note += total;
    bytes -= total;
  }
  return nullptr;
}

struct Counters {
  std::uint64_t adds = 0;
  std::uint64_t subs = 0;
};

int ReadCounters(dl_phdr_info* info, std::size_t, void* counters) {
  *static_cast<Counters*>(counters) = {info->dlpi_adds, info->dlpi_subs};
  return 1;
}

// Whether it is one of PyTorch's GPU libraries.
bool IsTorchs(const char* path) {
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  for (const char* known : {"libc10_cuda", "libtorch_cuda", "libc10_hip", "libtorch_hip"})
    if (strncmp(name, known, strlen(known)) == 0) return true;
  return false;
}

}  // namespace

void AbsolutePath(const char* name, char* path) {
  if (name == nullptr || name[0] == '\0') {
    const ssize_t length = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
  } else if (name[0] == '/' || strchr(name, '/') == nullptr || realpath(name, path) == nullptr) {
    strncpy(path, name, PATH_MAX - 1);
    path[PATH_MAX - 1] = '\0';
  }
}

// Filled inside the loader's callback, in which neither our locks nor the loader's functions may be
// used.
struct Modules::Collected {
  struct Item {
    std::uint64_t first = ~std::uint64_t{0};
    std::uint64_t end = 0;
    std::uint64_t bias = 0;
    std::size_t name_offset = 0;
    std::size_t build_id_bytes = 0;
    unsigned char build_id[kMaxBuildIdBytes];
  };
  Counters counters;
  MappedArray<Item> items;
  MappedArray<char> names;  // NUL-terminated
};

int Modules::Collect(dl_phdr_info* info, std::size_t, void* out) {
  auto* collected = static_cast<Collected*>(out);
  collected->counters = {info->dlpi_adds, info->dlpi_subs};
  Collected::Item item;
  item.bias = info->dlpi_addr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      if (begin < item.first) item.first = begin;
      if (begin + segment.p_memsz > item.end) item.end = begin + segment.p_memsz;
    } else if (segment.p_type == PT_NOTE && item.build_id_bytes == 0) {
      std::size_t length = 0;
      const unsigned char* id =
          FindBuildId(reinterpret_cast<const char*>(begin), segment.p_memsz, &length);
      if (id != nullptr && length <= kMaxBuildIdBytes) {
        memcpy(item.build_id, id, length);
        item.build_id_bytes = length;
      }
    }
  }
  if (item.end == 0) return 0;
  item.name_offset = collected->names.size();
  const char* name = info->dlpi_name == nullptr ? "" : info->dlpi_name;
  collected->names.Append(name, strlen(name) + 1);
  collected->items.Append(item);
  return 0;
}

Modules::~Modules() { UnmapMemory(mapped_, capacity_ * sizeof(Mapped) + 1); }

bool Modules::Changed() {
  Counters now;
  dl_iterate_phdr(ReadCounters, &now);
  return now.adds != seen_adds_.load(std::memory_order_relaxed) ||
         now.subs != seen_subs_.load(std::memory_order_relaxed);
}

void Modules::Refresh() {
  if (!Changed()) return;
  Collected collected;
  dl_iterate_phdr(&Modules::Collect, &collected);
  if (collected.items.failed() || collected.names.failed()) return;
  Merge(collected);
}

void Modules::Merge(const Collected& collected) {
  const std::size_t count = collected.items.size();
  auto* merged = static_cast<Mapped*>(MapMemory(count * sizeof(Mapped) + 1));
  if (merged == nullptr) return;
  LockGuard lock(mutex_);
  // Two threads may have read the list at the same time: the later state counts.
  if (collected.counters.adds + collected.counters.subs <
      seen_adds_.load(std::memory_order_relaxed) + seen_subs_.load(std::memory_order_relaxed)) {
    UnmapMemory(merged, count * sizeof(Mapped) + 1);
    return;
  }
  char path[PATH_MAX];
  for (std::size_t i = 0; i < count; ++i) {
    const Collected::Item& item = collected.items[i];
    const char* name = collected.names.data() + item.name_offset;
    Mapped& module = merged[i];
    module = {item.first, item.end, item.bias,     HashBytes(name, strlen(name)),
              0,          false,    IsTorchs(name)};
    if (module.of_torch) {
      if (!torch_loaded_.load(std::memory_order_relaxed)) AbsolutePath(name, torch_path_);
      torch_loaded_.store(true, std::memory_order_release);
    }
    for (std::size_t old = 0; old < count_ && module.id == 0; ++old) {
      Mapped& before = mapped_[old];
      if (before.id == 0 || before.first != module.first || before.end != module.end ||
          before.path_hash != module.path_hash)
        continue;
      module.id = before.id;
      module.used = before.used;
      before.id = 0;
    }
    if (module.id != 0) continue;
    module.id = ++last_id_;
    AbsolutePath(name, path);
    definitions_->AddModule(
        {module.id, path, item.build_id, item.build_id_bytes, item.bias, item.first, item.end});
  }
  for (std::size_t old = 0; old < count_; ++old) {
    if (mapped_[old].id == 0 || !mapped_[old].used) continue;
    generation_.fetch_add(1, std::memory_order_release);
    break;
  }
  UnmapMemory(mapped_, capacity_ * sizeof(Mapped) + 1);
  mapped_ = merged;
  count_ = capacity_ = count;
  seen_adds_.store(collected.counters.adds, std::memory_order_relaxed);
  seen_subs_.store(collected.counters.subs, std::memory_order_relaxed);
}

std::uint32_t Modules::Find(std::uint64_t address) {
  LockGuard lock(mutex_);
  for (std::size_t i = 0; i < count_; ++i) {
    if (address < mapped_[i].first || address >= mapped_[i].end) continue;
    mapped_[i].used = true;
    if (mapped_[i].of_torch) torch_used_.store(true, std::memory_order_relaxed);
    return mapped_[i].id;
  }
  return 0;
}

}  // namespace memprof::recorder
