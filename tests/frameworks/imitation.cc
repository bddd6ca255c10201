// Imitates libraries and frameworks that are not available in every test, by the names of their
// files and functions. Compiled once for each file, with the part that belongs to it.
#include <cstddef>
#include <cstdio>

extern "C" int cudaMalloc(void** pointer, std::size_t bytes);

#define KEPT __attribute__((noinline, visibility("default")))
// Code after the call prevents a tail call, so the caller's frame stays on the stack.
#define TAKE(bytes)                     \
  void* pointer = nullptr;              \
  volatile int result = 0;              \
  result = cudaMalloc(&pointer, bytes); \
  return result

#if defined(PART_nccl)
extern "C" KEPT int ncclCommInitRank() { TAKE(64 << 20); }
#elif defined(PART_cublas)
static KEPT int Inner() { TAKE(8 << 20); }
extern "C" KEPT int cublasCreate_v2() {
  volatile int result = Inner();
  return result;
}
#elif defined(PART_xla)
namespace tsl {
struct BFCAllocator {
  KEPT int Extend(std::size_t bytes) { TAKE(bytes); }
};
}  // namespace tsl
extern "C" KEPT int xla_allocate() {
  tsl::BFCAllocator allocator;
  volatile int result = allocator.Extend(32 << 20);
  return result;
}
#else
extern "C" int ncclCommInitRank();
extern "C" int cublasCreate_v2();
extern "C" int xla_allocate();
KEPT int Own() { TAKE(1 << 20); }
int main() {
  volatile int result = ncclCommInitRank();
  result = result + cublasCreate_v2();
  result = result + xla_allocate();
  result = result + Own();
  std::printf("status %d\n", result);
  return result;
}
#endif
