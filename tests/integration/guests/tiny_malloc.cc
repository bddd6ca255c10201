// A preloaded allocator, like tcmalloc and jemalloc: it serves every malloc of the process. It
// never frees memory, and counts calls.
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>

namespace {

constexpr size_t kArena = size_t{1} << 30;
constexpr size_t kHeader = 16;

std::atomic<char*> g_arena{nullptr};
std::atomic<size_t> g_used{0};
std::atomic<unsigned long> g_calls{0};

void* Take(size_t bytes, size_t alignment) {
  g_calls.fetch_add(1);
  char* arena = g_arena.load();
  if (arena == nullptr) {
    void* fresh = mmap(nullptr, kArena, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (g_arena.compare_exchange_strong(arena, static_cast<char*>(fresh)))
      arena = static_cast<char*>(fresh);
    else
      munmap(fresh, kArena);
  }
  if (alignment < kHeader) alignment = kHeader;
  const size_t size = (bytes + kHeader + alignment + 15) & ~size_t{15};
  const size_t at = g_used.fetch_add(size);
  if (at + size > kArena) return nullptr;
  const auto base = reinterpret_cast<unsigned long>(arena + at + kHeader);
  char* memory = reinterpret_cast<char*>((base + alignment - 1) & ~(alignment - 1));
  memcpy(memory - sizeof bytes, &bytes, sizeof bytes);
  return memory;
}

}  // namespace

extern "C" {

void* malloc(size_t bytes) { return Take(bytes, kHeader); }
void free(void*) {}
void* calloc(size_t count, size_t bytes) { return Take(count * bytes, kHeader); }
void* realloc(void* old, size_t bytes) {
  void* memory = Take(bytes, kHeader);
  if (old == nullptr || memory == nullptr) return memory;
  size_t old_bytes;
  memcpy(&old_bytes, static_cast<char*>(old) - sizeof old_bytes, sizeof old_bytes);
  return memcpy(memory, old, old_bytes < bytes ? old_bytes : bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) { return Take(bytes, alignment); }
void* memalign(size_t alignment, size_t bytes) { return Take(bytes, alignment); }
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  *memory = Take(bytes, alignment);
  return *memory == nullptr ? 12 : 0;
}
unsigned long tiny_malloc_calls() { return g_calls.load(); }
}
