// Reads the relocations of loaded modules, as the loader left them in memory.
#include "libmemprof/src/loader/relocations.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libmemprof/src/loader/elf_symbols.h"

extern "C" const char __ehdr_start __attribute__((visibility("hidden")));

namespace memprof::recorder {
namespace {

#if defined(__aarch64__)
constexpr std::uint32_t kJumpSlot = R_AARCH64_JUMP_SLOT, kGlobalData = R_AARCH64_GLOB_DAT;
#else
constexpr std::uint32_t kJumpSlot = R_X86_64_JUMP_SLOT, kGlobalData = R_X86_64_GLOB_DAT;
#endif

struct Search {
  const char* name;
  std::uint32_t name_hash;
  void* to;
  CallSlot* slots;
  std::size_t room;
  std::size_t* count;
};

struct Table {
  const ElfW(Rela) * first = nullptr;
  std::size_t bytes = 0;
};

// The tables of a module: of calls, and of data.
struct Tables {
  Table calls, data;

  explicit Tables(const ElfW(Dyn) * section) {
    const auto first = [&section] {
      return reinterpret_cast<const ElfW(Rela)*>(section->d_un.d_ptr);
    };
    for (; section->d_tag != DT_NULL; ++section) {
      if (section->d_tag == DT_JMPREL) calls.first = first();
      if (section->d_tag == DT_PLTRELSZ) calls.bytes = section->d_un.d_val;
      if (section->d_tag == DT_RELA) data.first = first();
      if (section->d_tag == DT_RELASZ) data.bytes = section->d_un.d_val;
    }
  }
};

// Whether the loader has made the page read-only after it had filled it in.
bool IsReadOnly(const dl_phdr_info& info, ElfW(Addr) place) {
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_GNU_RELRO &&
        IsProtected(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr, info.dlpi_phdr[i].p_memsz, place,
                    static_cast<std::size_t>(getpagesize())))
      return true;
  return false;
}

bool Store(void** place, void* value, bool read_only) {
  const auto page = static_cast<std::size_t>(getpagesize());
  auto* const start =
      reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(place) & ~(page - 1));
  if (read_only && mprotect(start, page, PROT_READ | PROT_WRITE) != 0) return false;
  __atomic_store_n(place, value, __ATOMIC_RELEASE);
  if (read_only) mprotect(start, page, PROT_READ);
  return true;
}

void RedirectIn(const Search& search, const dl_phdr_info& info, const ElfSymbols& symbols,
                const Table& table) {
  const std::size_t entries = table.first == nullptr ? 0 : table.bytes / sizeof *table.first;
  for (std::size_t i = 0; i < entries; ++i) {
    const ElfW(Rela)& entry = table.first[i];
    const std::uint32_t type = ELF64_R_TYPE(entry.r_info);
    if (type != kJumpSlot && type != kGlobalData) continue;
    const ElfW(Sym)& symbol = symbols.symbols[ELF64_R_SYM(entry.r_info)];
    if (symbol.st_shndx != SHN_UNDEF || strcmp(symbols.names + symbol.st_name, search.name) != 0)
      continue;
    auto** const place = reinterpret_cast<void**>(info.dlpi_addr + entry.r_offset);
    void* const before = __atomic_load_n(place, __ATOMIC_ACQUIRE);
    if (before == search.to || *search.count == search.room) continue;
    CallSlot* const slot = &search.slots[*search.count];
    *slot = {place, before};
    if (Store(place, search.to, IsReadOnly(info, reinterpret_cast<ElfW(Addr)>(place))))
      ++*search.count;
  }
}

// The relocations of data are millions in large libraries, most without a name. Only calls by
// -fno-plt are among them, which PyTorch's own allocator may be compiled with.
bool MayCallByData(const char* path) { return path != nullptr && strstr(path, "c10") != nullptr; }

int RedirectInModule(dl_phdr_info* info, std::size_t, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  const auto ours = reinterpret_cast<ElfW(Addr)>(&__ehdr_start);
  const ElfW(Dyn)* section = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && ours - begin < segment.p_memsz) return 0;
    if (segment.p_type == PT_DYNAMIC) section = reinterpret_cast<const ElfW(Dyn)*>(begin);
  }
  if (section == nullptr) return 0;
  ElfSymbols symbols;
  if (!ReadElfSymbols(info->dlpi_addr, section, &symbols) ||
      FindSymbol(symbols, search.name, search.name_hash) != nullptr)
    return 0;
  const Tables tables(section);
  RedirectIn(search, *info, symbols, tables.calls);
  if (MayCallByData(info->dlpi_name)) RedirectIn(search, *info, symbols, tables.data);
  return 0;
}

struct Restore {
  void* to;
  CallSlot* slots;
  std::size_t count;
};

// The rights of a slot's page are those that its module asks for: the list of slots has no
// pointers into modules that were unloaded meanwhile, because only what is loaded is visited.
int RestoreInModule(dl_phdr_info* info, std::size_t, void* data) {
  const Restore& restore = *static_cast<const Restore*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    const ElfW(Addr) begin = info->dlpi_addr + segment.p_vaddr;
    for (CallSlot* slot = restore.slots; slot != restore.slots + restore.count; ++slot) {
      const auto place = reinterpret_cast<ElfW(Addr)>(slot->place);
      if (place - begin >= segment.p_memsz) continue;
      if (__atomic_load_n(slot->place, __ATOMIC_ACQUIRE) == restore.to)
        Store(slot->place, slot->before, IsReadOnly(*info, place));
    }
  }
  return 0;
}

}  // namespace

bool IsProtected(std::uintptr_t relro, std::size_t bytes, std::uintptr_t place, std::size_t page) {
  const auto page_of = [page](std::uintptr_t at) { return at & ~(page - 1); };
  return place >= page_of(relro) && place < page_of(relro + bytes);
}

void RedirectCalls(const char* name, void* to, CallSlot* slots, std::size_t room,
                   std::size_t* count) {
  Search search{name, GnuHash(name), to, slots, room, count};
  dl_iterate_phdr(RedirectInModule, &search);
}

void RestoreCalls(void* to, CallSlot* slots, std::size_t* count) {
  Restore restore{to, slots, *count};
  dl_iterate_phdr(RestoreInModule, &restore);
  *count = 0;
}

}  // namespace memprof::recorder
