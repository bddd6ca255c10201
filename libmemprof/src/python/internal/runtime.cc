// Searches the symbol tables of the loaded modules: the interpreter may be the executable, a
// library that it was linked with, or one that a program embeds, where dlsym does not find it.
#include "libmemprof/src/python/internal/runtime.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "libmemprof/src/loader/elf_symbols.h"

namespace memprof::recorder {
namespace {

bool ReadTables(const dl_phdr_info& info, ElfSymbols* symbols) {
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info.dlpi_phnum; ++i)
    if (info.dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
  return ReadElfSymbols(info.dlpi_addr, dynamic, symbols);
}

// A library of CPython, or its own program; not a program that contains it.
bool IsInterpretersOwn(const dl_phdr_info& info) {
  char program[PATH_MAX];
  const char* path = info.dlpi_name;
  if (path == nullptr || path[0] == '\0') {
    const ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    program[size < 0 ? 0 : size] = '\0';
    path = program;
  }
  const char* slash = strrchr(path, '/');
  const char* name = slash == nullptr ? path : slash + 1;
  return strncmp(name, "libpython", 9) == 0 || strncmp(name, "python", 6) == 0;
}

CodeRange CodeOf(const dl_phdr_info& info) {
  CodeRange range;
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = info.dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    range.begin = info.dlpi_addr + part.p_vaddr;
    range.end = range.begin + part.p_memsz;
  }
  return range;
}

class Finder {
 public:
  explicit Finder(const ElfSymbols& tables) : tables_(tables) {}
  bool all() const { return all_; }

  std::uint64_t Address(const char* name) {
    const ElfW(Sym)* symbol = FindSymbol(tables_, name);
    all_ = all_ && symbol != nullptr;
    return symbol == nullptr ? 0 : tables_.bias + symbol->st_value;
  }
  template <typename Function>
  void Find(const char* name, Function* function) {
    *function = reinterpret_cast<Function>(Address(name));
  }
  bool Has(const char* name) const { return FindSymbol(tables_, name) != nullptr; }

 private:
  const ElfSymbols& tables_;
  bool all_ = true;
};

int InspectModule(dl_phdr_info* info, std::size_t, void* out) {
  ElfSymbols tables;
  if (!ReadTables(*info, &tables) || FindSymbol(tables, "_PyRuntime") == nullptr) return 0;
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
  if (const ElfW(Sym)* symbol = FindSymbol(tables, "_PyEval_EvalFrameDefault")) {
    found.code.evaluation.begin = tables.bias + symbol->st_value;
    found.code.evaluation.end = found.code.evaluation.begin + symbol->st_size;
  }
  if (IsInterpretersOwn(*info)) found.code.all = CodeOf(*info);
  *static_cast<PythonRuntime*>(out) = found;
  return 1;
}

}  // namespace

PythonRuntime FindPythonRuntime() {
  PythonRuntime runtime;
  dl_iterate_phdr(InspectModule, &runtime);
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
