// A guest of the runtime API: N threads allocate and free at random. Each remembers its calls
// exactly, and at the end all are printed as "op layer address bytes".
//
//   runtime_random THREADS OPERATIONS SEED [async]
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Call {
  const char* op;
  const char* layer;
  unsigned long long address, bytes;
};
struct Block {
  void* pointer;
  int kind;
};

void Check(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::exit(3);
}

void Add(std::vector<Call>* calls, const char* op, const char* layer, const void* pointer,
         unsigned long long bytes) {
  calls->push_back({op, layer, reinterpret_cast<unsigned long long>(pointer), bytes});
}

void Allocate(std::mt19937* random, int kinds, std::vector<Call>* calls, std::vector<Block>* live) {
  const std::size_t bytes = 1 + (*random)() % 100000;
  Block block{nullptr, static_cast<int>((*random)() % static_cast<unsigned>(kinds))};
  std::size_t pitch = 0;
  switch (block.kind) {
    case 0:
      Check(cudaMalloc(&block.pointer, bytes), "malloc");
      Add(calls, "alloc", "linear", block.pointer, bytes);
      break;
    case 1:
      Check(cudaMallocPitch(&block.pointer, &pitch, bytes % 3000 + 1, 17), "pitch");
      Add(calls, "alloc", "pitched", block.pointer, pitch * 17);
      break;
    case 2:
      Check(cudaMallocManaged(&block.pointer, bytes, cudaMemAttachGlobal), "managed");
      Add(calls, "alloc", "managed", block.pointer, bytes);
      break;
    case 3:
      Check(cudaMallocHost(&block.pointer, bytes), "host");
      Add(calls, "alloc", "pinned", block.pointer, bytes);
      break;
    default:
      Check(cudaMallocAsync(&block.pointer, bytes, nullptr), "async");
      Add(calls, "alloc", "stream_ordered", block.pointer, bytes);
      break;
  }
  live->push_back(block);
}

void Free(std::mt19937* random, std::vector<Call>* calls, std::vector<Block>* live) {
  const std::size_t which = (*random)() % live->size();
  const Block block = (*live)[which];
  (*live)[which] = live->back();
  live->pop_back();
  static constexpr const char* kLayers[] = {"linear", "pitched", "managed", "pinned",
                                            "stream_ordered"};
  const char* layer = kLayers[block.kind];
  Add(calls, "free", layer, block.pointer, 0);
  if (block.kind == 3)
    Check(cudaFreeHost(block.pointer), "free host");
  else if (block.kind == 4)
    Check(cudaFreeAsync(block.pointer, nullptr), "free async");
  else
    Check(cudaFree(block.pointer), "free");
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::atoi(argv[1]) : 1;
  const int operations = argc > 2 ? std::atoi(argv[2]) : 100;
  const unsigned seed = argc > 3 ? static_cast<unsigned>(std::atoi(argv[3])) : 1;
  const int kinds = argc > 4 ? 5 : 4;
  std::vector<std::vector<Call>> calls(static_cast<std::size_t>(threads));
  std::vector<std::thread> workers;
  for (int t = 0; t < threads; ++t)
    workers.emplace_back([=, &calls] {
      std::mt19937 random(seed * 1000 + static_cast<unsigned>(t));
      std::vector<Block> live;
      for (int i = 0; i < operations; ++i) {
        if (live.empty() || random() % 5 < 3)
          Allocate(&random, kinds, &calls[static_cast<std::size_t>(t)], &live);
        else
          Free(&random, &calls[static_cast<std::size_t>(t)], &live);
      }
    });
  for (std::thread& worker : workers) worker.join();
  for (const auto& of_thread : calls)
    for (const Call& call : of_thread)
      std::printf("%s %s %llx %llu\n", call.op, call.layer, call.address, call.bytes);
  return 0;
}
