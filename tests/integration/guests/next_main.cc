// Calls three libraries with the same function, each of which calls the next one by
// dlsym(RTLD_NEXT). The chain is complete only if dlsym knows the real caller.
#include <cstdio>

extern "C" int Chain();

int main() {
  std::printf("%d\n", Chain());
  return 0;
}
