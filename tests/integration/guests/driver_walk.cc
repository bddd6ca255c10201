// A guest that walks at random through all families of driver memory, each thread with a separate
// walk, and prints the expected events.
//
//   driver_walk THREADS STEPS SEED
#include "../../libmemprof/events/driver_walk.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <vector>

using memprof::testing::DriverWalk;
using memprof::testing::WalkEvent;

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return 4;
  const auto find = [library](const char* name) { return dlsym(library, name); };
  CUcontext context = nullptr;
  if (reinterpret_cast<CUresult (*)(unsigned)>(find("cuInit"))(0) != CUDA_SUCCESS ||
      reinterpret_cast<CUresult (*)(CUcontext*, CUdevice)>(find("cuDevicePrimaryCtxRetain"))(
          &context, 0) != CUDA_SUCCESS)
    return 3;
  const auto use = reinterpret_cast<CUresult (*)(CUcontext)>(find("cuCtxSetCurrent"));
  std::vector<std::unique_ptr<DriverWalk>> walks;
  std::vector<std::thread> threads;
  std::vector<int> failed(static_cast<std::size_t>(std::atoi(argv[1])));
  for (std::size_t t = 0; t < failed.size(); ++t)
    walks.push_back(std::make_unique<DriverWalk>(
        find, static_cast<unsigned>(std::atoi(argv[3])) * 100 + static_cast<unsigned>(t)));
  for (std::size_t t = 0; t < failed.size(); ++t)
    threads.emplace_back([&, t] {
      failed[t] = use(context) != CUDA_SUCCESS;
      for (int i = 0; i < std::atoi(argv[2]) && failed[t] == 0; ++i) failed[t] = !walks[t]->Step();
    });
  for (std::thread& thread : threads) thread.join();
  for (const int failure : failed)
    if (failure != 0) return 5;
  for (const auto& walk : walks)
    for (const WalkEvent& event : walk->events())
      std::printf("%s %s %llx %llu\n", event.op.c_str(), event.layer.c_str(),
                  static_cast<unsigned long long>(event.address),
                  static_cast<unsigned long long>(event.op == "free" ? 0 : event.bytes));
  return 0;
}
