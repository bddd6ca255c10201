// A guest that loses pointers to device memory and keeps others in every kind of memory, and prints
// which. "scan exit" leaves the scan to the recorder; "scan now" requests it twice. Prints
// "lost|kept|hidden <address>".
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <vector>

// Visible to other code, so that stores are not optimised away.
CUdeviceptr g_global;
CUdeviceptr g_page_of_its_own[512];
struct Holder;
Holder* g_holder;

namespace {

constexpr unsigned long long kMask = 0x5a5a5a5a5a5a5a5aull;
constexpr std::size_t kBytes = 3 << 20;

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::_Exit(3);
}

// Returns the address, without a long-lived copy of it below the caller's frame.
__attribute__((noinline)) CUdeviceptr Allocate(const char* fate) {
  CUdeviceptr address = 0;
  Check(cuMemAlloc(&address, kBytes), "allocate");
  std::printf("%s %llx\n", fate, static_cast<unsigned long long>(address));
  return address;
}

__attribute__((noinline)) void OverwriteDeadFrames() {
  volatile char room[1 << 16];
  for (volatile char& byte : room) byte = 0;
}

__attribute__((noinline)) void Lose(int count) {
  for (int i = 0; i < count; ++i) Allocate("lost");
  OverwriteDeadFrames();
}

}  // namespace

struct Holder {
  CUdeviceptr in_heap;
  std::map<int, CUdeviceptr> in_tree;
  std::vector<CUdeviceptr> interior;
  unsigned long long hidden;
};

using ScanFunction = int (*)();

int main(int argc, char** argv) {
  const bool now = argc > 1 && std::strcmp(argv[1], "now") == 0;
  Check(cuInit(0), "init");
  CUcontext context = nullptr;
  Check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
  Check(cuCtxSetCurrent(context), "current");
  auto* holder = new Holder;
  g_holder = holder;
  volatile CUdeviceptr on_stack = Allocate("kept");
  g_global = Allocate("kept");
  g_page_of_its_own[100] = Allocate("kept");
  holder->in_heap = Allocate("kept");
  for (int i = 0; i < 8; ++i) holder->in_tree[i] = Allocate("kept");
  for (int i = 0; i < 8; ++i) holder->interior.push_back(Allocate("kept") + kBytes - 1);
  Lose(12);
  holder->hidden = Allocate("hidden") ^ kMask;
  OverwriteDeadFrames();
  int status = 0;
  if (now) {
    const auto scan = reinterpret_cast<ScanFunction>(dlsym(RTLD_DEFAULT, "memprof_scan"));
    status = scan == nullptr ? 4 : scan();
    if (status == 0) status = scan();
  }
  if (on_stack == 0) return 5;
  return status;
}
