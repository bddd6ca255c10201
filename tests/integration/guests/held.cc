// A guest that keeps device memory in every way that C++ programs do, and scans. It prints
// "<case> <address>" of each allocation. Each case is a function of its own, so that it is a site
// of its own in the log.
#include <cuda.h>
#include <dlfcn.h>
#include <semaphore.h>
#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <list>
#include <map>
#include <memory>
#include <thread>
#include <vector>

extern "C" void held_library_keep(unsigned long long address);

namespace app {

struct Layer {
  char name[200];
  CUdeviceptr weights;
};
class Trainer {
 public:
  static std::unique_ptr<Trainer> instance;
  std::unique_ptr<Layer> layer;
  char settings[1000];
};
std::unique_ptr<Trainer> Trainer::instance;

struct Node {
  Node* next;
  CUdeviceptr buffer;
  char padding[32];
};
Node* g_list;

}  // namespace app

std::vector<CUdeviceptr> g_vector;
CUdeviceptr g_table[64];
struct State {
  int numbers[16];
  CUdeviceptr buffer;
} g_state;
thread_local CUdeviceptr t_cache;
CUdeviceptr** g_handle;
static CUcontext g_context;

namespace {

constexpr std::size_t kBytes = 1 << 20;

void Check(CUresult result) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "CUDA error %d\n", static_cast<int>(result));
  std::_Exit(3);
}

template <typename Keep>
__attribute__((noinline)) void Allocate(const char* name, Keep keep) {
  CUdeviceptr address = 0;
  Check(cuMemAlloc(&address, kBytes));
  std::printf("%s %llx\n", name, static_cast<unsigned long long>(address));
  keep(address);
}

std::map<int, CUdeviceptr>& Registry() {
  static std::map<int, CUdeviceptr> registry;
  return registry;
}

__attribute__((noinline)) void InVector() {
  for (int i = 0; i < 50; ++i) Allocate("vector", [](CUdeviceptr p) { g_vector.push_back(p); });
}
__attribute__((noinline)) void InTable() {
  for (int i = 0; i < 60; ++i) Allocate("table", [i](CUdeviceptr p) { g_table[i] = p; });
}
__attribute__((noinline)) void InState() {
  Allocate("state", [](CUdeviceptr p) { g_state.buffer = p; });
}
__attribute__((noinline)) void InStaticMap() {
  for (int i = 0; i < 1000; ++i) Allocate("map", [i](CUdeviceptr p) { Registry()[i] = p; });
}
__attribute__((noinline)) void InSingleton() {
  app::Trainer::instance = std::make_unique<app::Trainer>();
  app::Trainer::instance->layer = std::make_unique<app::Layer>();
  Allocate("singleton", [](CUdeviceptr p) { app::Trainer::instance->layer->weights = p; });
}
__attribute__((noinline)) void InList() {
  for (int i = 0; i < 5; ++i)
    Allocate("list", [](CUdeviceptr p) { app::g_list = new app::Node{app::g_list, p, {}}; });
}
__attribute__((noinline)) void InLibrary() {
  Allocate("library", [](CUdeviceptr p) { held_library_keep(p); });
}
__attribute__((noinline)) void InThreadLocal() {
  Allocate("thread_local", [](CUdeviceptr p) { t_cache = p; });
}
__attribute__((noinline)) void InMapping() {
  void* pages = mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Allocate("mapping", [pages](CUdeviceptr p) { static_cast<CUdeviceptr*>(pages)[1000] = p; });
}
// A block that malloc maps on its own.
__attribute__((noinline)) void InLargeBlock() {
  constexpr std::size_t kLarge = std::size_t{4} << 20;
  g_handle = static_cast<CUdeviceptr**>(std::calloc(1, sizeof(CUdeviceptr*)));
  *g_handle = static_cast<CUdeviceptr*>(std::calloc(1, kLarge));
  Allocate("large", [](CUdeviceptr p) { (*g_handle)[300'000] = p; });
}
// Pointers in memory that is free again: for one in a thread's cache, in a larger free block, and
// at the end of the heap.
__attribute__((noinline)) void InFreed() {
  for (const std::size_t bytes : {64u, 3000u, 100'000u}) {
    auto* block = static_cast<CUdeviceptr*>(std::malloc(bytes));
    void* neighbour = std::malloc(bytes);
    void* const volatile kept = neighbour;
    Allocate("freed", [block](CUdeviceptr p) { block[5] = p; });
    std::free(block);
    if (kept == nullptr) std::free(neighbour);
  }
}

sem_t g_ready, g_done;

// Holds memory on its stack and in a block of its own arena.
__attribute__((noinline)) void Worker() {
  Check(cuCtxSetCurrent(g_context));
  volatile CUdeviceptr local = 0;
  Allocate("stack", [&](CUdeviceptr p) { local = p; });
  auto owned = std::make_unique<app::Layer>();
  app::Layer* volatile layer = owned.get();
  Allocate("stack_block", [&](CUdeviceptr p) { layer->weights = p; });
  Allocate("worker_local", [](CUdeviceptr p) { t_cache = p; });
  sem_post(&g_ready);
  sem_wait(&g_done);
  if (local == 0 || layer->weights == 0) std::_Exit(4);
}

__attribute__((noinline)) void OverwriteDeadFrames() {
  volatile char room[1 << 16];
  for (volatile char& byte : room) byte = 0;
}

}  // namespace

using ScanFunction = int (*)();
using StepFunction = int (*)(unsigned long long number);

int main() {
  Check(cuInit(0));
  Check(cuDevicePrimaryCtxRetain(&g_context, 0));
  Check(cuCtxSetCurrent(g_context));
  std::setvbuf(stdout, nullptr, _IONBF, 0);  // keeps no block of its own
  InVector();
  InTable();
  InState();
  InStaticMap();
  InSingleton();
  InLibrary();
  InThreadLocal();
  InMapping();
  InLargeBlock();
  InFreed();
  sem_init(&g_ready, 0, 0);
  sem_init(&g_done, 0, 0);
  std::thread worker(Worker);
  sem_wait(&g_ready);
  // Grows with every step: a leak.
  const auto step = reinterpret_cast<StepFunction>(dlsym(RTLD_DEFAULT, "memprof_step"));
  for (unsigned long long i = 0; i < 40 && step != nullptr; ++i) {
    step(i);
    InList();
  }
  volatile CUdeviceptr also = g_state.buffer;  // a stack beside a variable
  OverwriteDeadFrames();
  const auto scan = reinterpret_cast<ScanFunction>(dlsym(RTLD_DEFAULT, "memprof_scan"));
  const int status = scan == nullptr ? 5 : scan();
  sem_post(&g_done);
  worker.join();
  return also == 0 ? 6 : status;
}
