// CPython's stable functions, looked up in the global scope.
#include "libmemprof/src/lifecycle/internal/program_python.h"

#include <dlfcn.h>

#include "libmemprof/src/loader/real_dlsym.h"

namespace memprof::recorder {
namespace {

template <typename Function>
bool Find(const char* name, Function** function) {
  *function = reinterpret_cast<Function*>(RealDlsym(RTLD_DEFAULT, name));
  return *function != nullptr;
}

}  // namespace

void RunInPython(const char* code) {
  int (*is_initialized)();
  int (*ensure)();
  void (*release)(int);
  int (*run)(const char*);
  if (code == nullptr || *code == '\0' || !Find("Py_IsInitialized", &is_initialized) ||
      !Find("PyGILState_Ensure", &ensure) || !Find("PyGILState_Release", &release) ||
      !Find("PyRun_SimpleString", &run) || is_initialized() == 0)
    return;
  const int state = ensure();
  run(code);
  release(state);
}

}  // namespace memprof::recorder
