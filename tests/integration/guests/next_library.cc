// One link of the chain: its digit, and ten times what the next library says.
#include <dlfcn.h>

extern "C" int Chain() {
  const auto next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "Chain"));
  return NEXT_DIGIT + (next == nullptr ? 0 : 10 * next());
}
