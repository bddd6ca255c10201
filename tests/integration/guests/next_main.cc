// Asks three libraries with the same function, each of which calls the next one by
// dlsym(RTLD_NEXT): the chain is whole only if dlsym knows who really asked.
#include <cstdio>

extern "C" int Chain();

int main() {
  std::printf("%d\n", Chain());
  return 0;
}
