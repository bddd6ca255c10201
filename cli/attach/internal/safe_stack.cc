// Stacks of another process, unwound by libdw.
#include "cli/attach/internal/safe_stack.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "analysis/base/text.h"
#include "cli/attach/internal/elf_symbol.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

// Functions of the C library in which threads wait, holding none of its locks. Without the
// underscores that their other names begin with.
constexpr std::array kWaiting = {"pthread_cond_wait",
                                 "pthread_cond_timedwait",
                                 "pthread_cond_clockwait",
                                 "pthread_join",
                                 "pthread_clockjoin_np",
                                 "pthread_timedjoin_np",
                                 "pthread_barrier_wait",
                                 "sem_wait",
                                 "sem_timedwait",
                                 "sem_clockwait",
                                 "nanosleep",
                                 "clock_nanosleep",
                                 "usleep",
                                 "sleep",
                                 "poll",
                                 "ppoll",
                                 "select",
                                 "pselect",
                                 "read",
                                 "readv",
                                 "recv",
                                 "recvfrom",
                                 "recvmsg",
                                 "accept",
                                 "accept4",
                                 "wait",
                                 "wait4",
                                 "waitpid",
                                 "waitid",
                                 "epoll_wait",
                                 "epoll_pwait",
                                 "sigwait",
                                 "sigwaitinfo",
                                 "sigtimedwait",
                                 "pause",
                                 "sched_yield",
                                 "syscall",
                                 "write"};

bool Waits(const char* function) {
  if (function == nullptr) return false;
  while (*function == '_') ++function;
  if (std::strncmp(function, "libc_", 5) == 0) function += 5;
  return std::find_if(kWaiting.begin(), kWaiting.end(), [function](const char* known) {
           return std::strcmp(function, known) == 0;
         }) != kWaiting.end();
}

struct Finder {
  std::string root;  // of the process
};
thread_local const Finder* t_finder = nullptr;  // libdw passes nothing to find_elf

// As the process would: a link leads nowhere out of its root. Only a regular file: opening a pipe
// may wait, and reading it takes what is in it.
int OpenAsProcess(const Finder& finder, const char* path) {
  const int root = open(finder.root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (root < 0) return -1;
  open_how how{};
  how.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;
  how.resolve = RESOLVE_IN_ROOT;
  const int fd = static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
  close(root);
  struct stat found;
  if (fd < 0 || (fstat(fd, &found) == 0 && S_ISREG(found.st_mode))) return fd;
  close(fd);
  return -1;
}

int FindElf(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr base, char** file,
            Elf** elf) {
  if (t_finder != nullptr && name[0] == '/') {
    if (const int fd = OpenAsProcess(*t_finder, name); fd >= 0) {
      *file = strdup(name);
      return fd;
    }
  }
  return dwfl_linux_proc_find_elf(module, data, name, base, file, elf);
}

// Symbols of separate files are not needed.
int FindDebugInfo(Dwfl_Module*, void**, const char*, Dwarf_Addr, const char*, const char*,
                  GElf_Word, char**) {
  return -1;
}

bool StartsWith(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

enum class ModuleKind { kProgram, kC, kForbidden };

ModuleKind KindOf(std::string_view module) {
  if (StartsWith(module, "ld-") || StartsWith(module, "ld.so")) return ModuleKind::kForbidden;
  for (const char* allocator : {"jemalloc", "tcmalloc", "mimalloc", "libmemprof.so"})
    if (module.find(allocator) != std::string_view::npos) return ModuleKind::kForbidden;
  if (StartsWith(module, "libc.so") || StartsWith(module, "libc-2.") ||
      StartsWith(module, "libpthread"))
    return ModuleKind::kC;
  return ModuleKind::kProgram;
}

// Reads what walks need of a module, and keeps its kind as the module's own data. A program, or a
// library, that has an allocator in it is as one: which of its functions hold the allocator's lock
// cannot be told.
int Load(Dwfl_Module* module, void** data, const char* name, Dwarf_Addr, void*) {
  GElf_Addr bias = 0;
  ModuleKind kind = KindOf(analysis::BaseName(name));
  Elf* elf = dwfl_module_getelf(module, &bias);
  if (kind == ModuleKind::kProgram && elf != nullptr && DefinesSymbol(elf, "malloc"))
    kind = ModuleKind::kForbidden;
  if (kind == ModuleKind::kC) dwfl_module_getsymtab(module);
  dwfl_module_eh_cfi(module, &bias);
  *data = reinterpret_cast<void*>(static_cast<std::uintptr_t>(kind));
  return DWARF_CB_OK;
}

// Walks from the innermost frame. Only the functions of the C library in which the program is right
// now may hold its locks: the last of them is the one that the program called. But a handler of a
// signal may have come at any place, so there must be none.
struct Walk {
  Dwfl* dwfl;
  int frames = 0;
  bool allowed = true;
  bool in_program = false;
  const char* called = nullptr;  // function of the C library at the last frame

  int Visit(Dwfl_Frame* frame) {
    Dwarf_Addr pc = 0;
    bool is_activation = false;
    if (!dwfl_frame_pc(frame, &pc, &is_activation)) return Stop();
    if (++frames > 1 && is_activation) return Stop();  // a signal came here
    if (!is_activation) --pc;
    Dwfl_Module* module = dwfl_addrmodule(dwfl, pc);
    void** data = nullptr;
    if (module != nullptr)
      dwfl_module_info(module, &data, nullptr, nullptr, nullptr, nullptr, nullptr, nullptr);
    const auto kind = data == nullptr
                          ? ModuleKind::kProgram
                          : static_cast<ModuleKind>(reinterpret_cast<std::uintptr_t>(*data));
    if (kind == ModuleKind::kForbidden) return Stop();
    if (in_program) return DWARF_CB_OK;
    if (kind == ModuleKind::kC) {
      GElf_Sym symbol;
      GElf_Off offset = 0;
      called = dwfl_module_addrinfo(module, pc, &offset, &symbol, nullptr, nullptr, nullptr);
      if (called != nullptr && offset >= symbol.st_size) called = nullptr;
      return DWARF_CB_OK;
    }
    in_program = true;
    return frames > 1 && !Waits(called) ? Stop() : DWARF_CB_OK;
  }

  int Stop() {
    allowed = false;
    return DWARF_CB_ABORT;
  }
};

}  // namespace

struct SafeStacks::Process {
  Finder finder;
  Dwfl_Callbacks callbacks{};
  Dwfl* dwfl = nullptr;
};

SafeStacks::SafeStacks(pid_t pid) : process_(std::make_unique<Process>()) {
  process_->finder.root = Cat("/proc/", pid, "/root");
  process_->callbacks.find_elf = FindElf;
  process_->callbacks.find_debuginfo = FindDebugInfo;
  Dwfl* dwfl = dwfl_begin(&process_->callbacks);
  if (dwfl == nullptr) return;
  process_->dwfl = dwfl;
  const bool ok = dwfl_linux_proc_report(dwfl, pid) == 0 &&
                  dwfl_report_end(dwfl, nullptr, nullptr) == 0 &&
                  dwfl_linux_proc_attach(dwfl, pid, true) == 0;
  t_finder = &process_->finder;
  if (ok) dwfl_getmodules(dwfl, Load, nullptr, 0);
  t_finder = nullptr;
  if (ok) return;
  dwfl_end(dwfl);
  process_->dwfl = nullptr;
}

SafeStacks::~SafeStacks() {
  if (process_->dwfl != nullptr) dwfl_end(process_->dwfl);
}

bool SafeStacks::MayInterrupt(pid_t thread, bool whole) {
  if (process_->dwfl == nullptr) return false;
  t_finder = &process_->finder;
  Walk walk{process_->dwfl};
  const int result = dwfl_getthread_frames(
      process_->dwfl, thread,
      [](Dwfl_Frame* frame, void* data) { return static_cast<Walk*>(data)->Visit(frame); }, &walk);
  t_finder = nullptr;
  return walk.allowed && walk.in_program && (result == 0 || !whole);
}

}  // namespace memprof::cli
