// A program with its allocator in the executable, as jemalloc and tcmalloc are when they are linked
// as archives. Its only thread waits within it until the standard input ends.
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace {

constexpr std::size_t kAlign = 64;
alignas(kAlign) char g_heap[16 << 20];
std::size_t g_used = 0;
bool g_waits = false;

void* Take(std::size_t bytes) {
  while (g_waits) {
    pollfd input{0, POLLIN, 0};
    if (write(1, "within malloc\n", 14) != 14 || poll(&input, 1, 20) != 0) g_waits = false;
  }
  void* block = g_heap + g_used;
  g_used += (bytes + kAlign - 1) / kAlign * kAlign;
  return g_used <= sizeof g_heap ? block : nullptr;
}

}  // namespace

extern "C" {
void* malloc(std::size_t bytes) { return Take(bytes); }
void free(void*) {}
void* calloc(std::size_t count, std::size_t bytes) { return Take(count * bytes); }
void* realloc(void* old, std::size_t bytes) {
  void* block = Take(bytes);
  return old == nullptr || block == nullptr ? block : std::memmove(block, old, bytes);
}
}

int main() {
  g_waits = true;
  void* volatile block = malloc(8);
  return block == nullptr;
}
