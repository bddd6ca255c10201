// Looks names up in modules' own symbol tables: the interpreter may be the executable, a library
// that it was linked with, or one that a program embeds, out of reach of dlsym.
#include "libmemprof/src/python/internal/runtime.h"

#include <elf.h>
#include <link.h>
#include <string.h>

namespace memprof::recorder {
namespace {

struct Tables {
  std::uint64_t bias = 0;
  const ElfW(Sym) * symbols = nullptr;
  const char* names = nullptr;
  const std::uint32_t* hash = nullptr;  // DT_GNU_HASH
};

// False for what has no tables or whose tables the loader has not relocated (the vdso).
bool ReadTables(const dl_phdr_info& info, Tables* tables) {
  const ElfW(Dyn)* entry = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  tables->bias = info.dlpi_addr;
  for (; entry != nullptr && entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_un.d_ptr < info.dlpi_addr) continue;
    if (entry->d_tag == DT_SYMTAB)
      tables->symbols = reinterpret_cast<const ElfW(Sym)*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_STRTAB) tables->names = reinterpret_cast<const char*>(entry->d_un.d_ptr);
    if (entry->d_tag == DT_GNU_HASH)
      tables->hash = reinterpret_cast<const std::uint32_t*>(entry->d_un.d_ptr);
  }
  return tables->symbols != nullptr && tables->names != nullptr && tables->hash != nullptr;
}

const ElfW(Sym) * Lookup(const Tables& tables, const char* name) {
  std::uint32_t name_hash = 5381;
  for (const char* at = name; *at != '\0'; ++at)
    name_hash = name_hash * 33 + static_cast<unsigned char>(*at);
  const std::uint32_t bucket_count = tables.hash[0];
  const std::uint32_t first_symbol = tables.hash[1];
  const std::uint32_t filter_words = tables.hash[2];
  const std::uint32_t* buckets = tables.hash + 4 + filter_words * (sizeof(ElfW(Addr)) / 4);
  const std::uint32_t* chains = buckets + bucket_count;
  if (bucket_count == 0) return nullptr;
  std::uint32_t index = buckets[name_hash % bucket_count];
  if (index < first_symbol) return nullptr;
  for (;; ++index) {
    const std::uint32_t chain = chains[index - first_symbol];
    const ElfW(Sym)& symbol = tables.symbols[index];
    if ((chain | 1) == (name_hash | 1) && symbol.st_shndx != SHN_UNDEF && symbol.st_value != 0 &&
        strcmp(tables.names + symbol.st_name, name) == 0)
      return &symbol;
    if ((chain & 1) != 0) return nullptr;
  }
}

class Finder {
 public:
  explicit Finder(const Tables& tables) : tables_(tables) {}
  bool all() const { return all_; }

  std::uint64_t Address(const char* name) {
    const ElfW(Sym)* symbol = Lookup(tables_, name);
    all_ = all_ && symbol != nullptr;
    return symbol == nullptr ? 0 : tables_.bias + symbol->st_value;
  }
  template <typename Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(Address(name));
  }
  bool Has(const char* name) const { return Lookup(tables_, name) != nullptr; }

 private:
  const Tables& tables_;
  bool all_ = true;
};

int LookInto(dl_phdr_info* info, std::size_t, void* out) {
  Tables tables;
  if (!ReadTables(*info, &tables) || Lookup(tables, "_PyRuntime") == nullptr) return 0;
  Finder finder(tables);
  PythonRuntime found;
  finder.Find("Py_GetVersion", &found.version);
  finder.Find("PyGILState_GetThisThreadState", &found.thread_state);
  finder.Find(finder.Has("Py_IsFinalizing") ? "Py_IsFinalizing" : "_Py_IsFinalizing",
              &found.finalizing);
  finder.Find("Py_AddPendingCall", &found.add_pending);
  finder.Find("PyEval_GetFrame", &found.frame);
  finder.Find("PyObject_GetAttrString", &found.attribute);
  finder.Find("PyUnicode_AsUTF8", &found.text);
  finder.Find("PyLong_AsLong", &found.number);
  finder.Find("Py_DecRef", &found.release);
  finder.Find("PyErr_Clear", &found.clear_error);
  found.code_type = finder.Address("PyCode_Type");
  found.text_type = finder.Address("PyUnicode_Type");
  found.bytes_type = finder.Address("PyBytes_Type");
  found.runtime = reinterpret_cast<const void*>(finder.Address("_PyRuntime"));
  if (!finder.all()) return 0;
  finder.Find("_PyThreadState_UncheckedGet", &found.holder);
  if (const ElfW(Sym)* symbol = Lookup(tables, "_PyEval_EvalFrameDefault")) {
    found.evaluation.begin = tables.bias + symbol->st_value;
    found.evaluation.end = found.evaluation.begin + symbol->st_size;
  }
  *static_cast<PythonRuntime*>(out) = found;
  return 1;
}

}  // namespace

PythonRuntime FindPythonRuntime() {
  PythonRuntime runtime;
  dl_iterate_phdr(LookInto, &runtime);
  return runtime;
}

int MinorVersion(const char* version) {
  if (version == nullptr || strncmp(version, "3.", 2) != 0) return -1;
  int minor = 0;
  const char* at = version + 2;
  for (; *at >= '0' && *at <= '9' && minor < 1000; ++at) minor = minor * 10 + (*at - '0');
  return at == version + 2 || *at != '.' ? -1 : minor;
}

}  // namespace memprof::recorder
