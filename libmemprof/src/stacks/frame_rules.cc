// Finds the call-frame table of the module that covers an address.
#include "libmemprof/src/stacks/frame_rules.h"

#include <dlfcn.h>
#include <link.h>

#include "libmemprof/src/base/sys.h"
#include "libmemprof/src/stacks/internal/cfi.h"

namespace memprof::recorder {
namespace {

struct Search {
  std::uint64_t address;
  CallFrameTable table;
};

int FindTable(dl_phdr_info* info, std::size_t, void* data) {
  auto* search = static_cast<Search*>(data);
  std::uint64_t begin = ~std::uint64_t{0}, end = 0, header = 0;
  bool covers = false;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const std::uint64_t first = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) header = first;
    if (segment.p_type != PT_LOAD) continue;
    if (first < begin) begin = first;
    if (first + segment.p_memsz > end) end = first + segment.p_memsz;
    covers |= search->address - first < segment.p_memsz;
  }
  if (!covers) return 0;
  if (header != 0)
    search->table = {reinterpret_cast<const unsigned char*>(header),
                     reinterpret_cast<const unsigned char*>(begin),
                     reinterpret_cast<const unsigned char*>(end)};
  return 1;
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE
// Looked up by name, so that the library also loads with an older C library.
using FindObject = int (*)(void*, dl_find_object*);
FindObject g_find_object = nullptr;
#endif

// Uses the lock-free search of glibc 2.35; older versions have only dl_iterate_phdr. False when that
// is needed.
bool FindWithoutLock(std::uint64_t address, CallFrameTable* table) {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  if (g_find_object == nullptr) return false;
  dl_find_object found;
  if (g_find_object(reinterpret_cast<void*>(address), &found) != 0) return true;
  *table = {static_cast<const unsigned char*>(found.dlfo_eh_frame),
            static_cast<const unsigned char*>(found.dlfo_map_start),
            static_cast<const unsigned char*>(found.dlfo_map_end)};
  // Of a program whose segments have holes between them, only the segment of the code is reported.
  return table->header >= table->begin && table->header < table->end;
#else
  static_cast<void>(address);
  static_cast<void>(table);
  return false;
#endif
}

}  // namespace

bool FrameRules::Create() {
#ifdef DLFO_STRUCT_HAS_EH_DBASE
  g_find_object = reinterpret_cast<FindObject>(dlsym(RTLD_DEFAULT, "_dl_find_object"));
#endif
  if (words_ == nullptr)
    words_ = static_cast<std::atomic<std::uint64_t>*>(
        MapMemory(kWords * sizeof(*words_), Need::kWriter, InChild::kKept));
  return words_ != nullptr;
}

FrameRule FrameRules::Learn(std::uint64_t address, std::uint64_t mixed) {
  if (address > kAddressMask) return {};
  Search search{address, {}};
  if (!FindWithoutLock(address, &search.table)) dl_iterate_phdr(FindTable, &search);
  FrameRule rule;
  if (search.table.header != nullptr) rule = ReadFrameRule(search.table, address);
  words_[mixed >> kTagBits].store((mixed & kTagMask) << kTagBits | kFilled | rule.Pack(),
                                  std::memory_order_relaxed);
  return rule;
}

void FrameRules::Clear() {
  for (std::size_t i = 0; i < kWords; ++i) words_[i].store(0, std::memory_order_relaxed);
}

}  // namespace memprof::recorder
