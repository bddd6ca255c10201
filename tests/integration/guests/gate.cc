// Preloaded into programs that are to be attached to before they begin: main waits until the file
// $GUEST_GATE exists. It waits outside the loader, where attaching is possible.
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

namespace {

using Main = int (*)(int, char**, char**);
Main g_main = nullptr;

int MainBehindGate(int argc, char** argv, char** variables) {
  const char* gate = getenv("GUEST_GATE");
  unsetenv("LD_PRELOAD");
  while (gate != nullptr && access(gate, F_OK) != 0) usleep(2000);
  return g_main(argc, argv, variables);
}

}  // namespace

extern "C" int __libc_start_main(Main main, int argc, char** argv, void (*begin)(), void (*end)(),
                                 void (*loader_end)(), void* stack) {
  g_main = main;
  const auto real =
      reinterpret_cast<decltype(&__libc_start_main)>(dlsym(RTLD_NEXT, "__libc_start_main"));
  return real(MainBehindGate, argc, argv, begin, end, loader_end, stack);
}
