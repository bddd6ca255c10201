// A frame of assembly whose personality routine tells the unwinder that the exception is caught
// here. That routine, and the functions of the C++ runtime that end a caught exception, are looked
// up in the process when they are needed.
#include "libmemprof/src/loader/foreign_call.h"

#include <dlfcn.h>
#include <unwind.h>

#include <atomic>

#include "libmemprof/src/arch/catching_call.h"
#include "libmemprof/src/loader/real_dlsym.h"

namespace memprof::recorder {
namespace {

using SetIp = void (*)(_Unwind_Context*, _Unwind_Ptr);
using BeginCatch = void* (*)(void*);
using EndCatch = void (*)();

std::atomic<SetIp> g_set_ip{nullptr};
std::atomic<BeginCatch> g_begin_catch{nullptr};
std::atomic<EndCatch> g_end_catch{nullptr};
thread_local constinit void* t_caught __attribute__((tls_model("initial-exec"))) = nullptr;

template <typename Function>
bool Find(const char* library, const char* name, std::atomic<Function>* found) {
  if (found->load(std::memory_order_acquire) != nullptr) return true;
  void* handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
  if (handle == nullptr) return false;
  found->store(reinterpret_cast<Function>(RealDlsym(handle, name)), std::memory_order_release);
  return found->load(std::memory_order_relaxed) != nullptr;
}

}  // namespace

bool CanCatch() {
  return Find("libgcc_s.so.1", "_Unwind_SetIP", &g_set_ip) &&
         Find("libstdc++.so.6", "__cxa_begin_catch", &g_begin_catch) &&
         Find("libstdc++.so.6", "__cxa_end_catch", &g_end_catch);
}

}  // namespace memprof::recorder

extern "C" {

__attribute__((visibility("hidden"))) extern const char memprof_caught_here[];

// The cancellation of a thread is no exception: unwinding continues.
__attribute__((visibility("hidden"), used)) _Unwind_Reason_Code memprof_catching_personality(
    int version, _Unwind_Action actions, _Unwind_Exception_Class, _Unwind_Exception* exception,
    _Unwind_Context* context) {
  using namespace memprof::recorder;
  if (version != 1 || (actions & _UA_FORCE_UNWIND) != 0) return _URC_CONTINUE_UNWIND;
  if ((actions & _UA_SEARCH_PHASE) != 0) return _URC_HANDLER_FOUND;
  if ((actions & _UA_HANDLER_FRAME) == 0) return _URC_CONTINUE_UNWIND;
  t_caught = exception;
  g_set_ip.load(std::memory_order_relaxed)(context,
                                           reinterpret_cast<_Unwind_Ptr>(memprof_caught_here));
  return _URC_INSTALL_CONTEXT;
}

__attribute__((visibility("hidden"), used)) void memprof_end_exception() {
  using namespace memprof::recorder;
  g_begin_catch.load(std::memory_order_relaxed)(t_caught);
  g_end_catch.load(std::memory_order_relaxed)();
}
}
