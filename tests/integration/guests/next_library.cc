// One link of the chain: its digit plus ten times the result of the next library.
#include <dlfcn.h>

extern "C" int Chain() {
  const auto next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "Chain"));
  return NEXT_DIGIT + (next == nullptr ? 0 : 10 * next());
}
