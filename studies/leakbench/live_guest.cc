// LeakBench as a program that runs: all cases side by side, with real calls of CUDA, one step each
// so many milliseconds. Prints what became of each case, as JSON.
//
// usage: leakbench_live held-out|development SEED STEPS MILLISECONDS
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "studies/leakbench/cases.h"

namespace {

using memprof::analysis::Layer;
using memprof::leakbench::Case;
using memprof::leakbench::Cases;
using memprof::leakbench::Draw;
using memprof::leakbench::Kinds;
using memprof::leakbench::Life;
using memprof::leakbench::Truth;

constexpr std::size_t kMostCases = 64;

#define NOINLINE __attribute__((noinline, noclone))
// Keeps a call from being the function's last act, after which its frame would be gone.
#define STAY asm volatile("" ::: "memory")

// Not a function: that would be the place of every case.
#define REQUEST (pinned ? cudaMallocHost(&address, bytes) : cudaMalloc(&address, bytes))

// The case's own function, from which it allocates, and helpers between that and the request.
template <std::size_t kCase>
struct Place {
  static NOINLINE void* Helper(int which, int depth, bool pinned, std::uint64_t bytes) {
    void* address = nullptr;
    if (depth > 1)
      address = Helper(which, depth - 1, pinned, bytes);
    else
      switch (which % 8) {
        case 0:
          REQUEST;
          break;
        case 1:
          STAY;
          REQUEST;
          break;
        case 2:
          REQUEST;
          STAY;
          break;
        case 3:
          STAY;
          REQUEST;
          STAY;
          break;
        case 4:
          STAY;
          STAY;
          REQUEST;
          break;
        case 5:
          REQUEST;
          STAY;
          STAY;
          break;
        case 6:
          STAY;
          STAY;
          REQUEST;
          STAY;
          break;
        default:
          STAY;
          STAY;
          REQUEST;
          STAY;
          STAY;
          break;
      }
    STAY;
    return address;
  }
  static NOINLINE void* Allocate(const std::string& helper, int depth, bool pinned,
                                 std::uint64_t bytes) {
    void* address = nullptr;
    if (depth == 0)
      REQUEST;
    else
      address =
          Helper(static_cast<int>(std::hash<std::string>()(helper) % 8), depth, pinned, bytes);
    STAY;
    return address;
  }
};

using AllocateFunction = void* (*)(const std::string&, int, bool, std::uint64_t);
template <std::size_t... kCase>
constexpr std::array<AllocateFunction, sizeof...(kCase)> Places(std::index_sequence<kCase...>) {
  return {&Place<kCase>::Allocate...};
}
constexpr auto kPlaces = Places(std::make_index_sequence<kMostCases>());

class RealSite : public memprof::leakbench::Site {
 public:
  RealSite(std::size_t index, bool pinned) : allocate_(kPlaces[index]), pinned_(pinned) {}

  void AtStep(int step) { step_ = step; }
  std::uint64_t Alloc(std::uint64_t bytes) override { return AllocVia("", 0, bytes); }
  std::uint64_t AllocVia(const std::string& helper, int depth, std::uint64_t bytes) override {
    const auto address = reinterpret_cast<std::uint64_t>(allocate_(helper, depth, pinned_, bytes));
    if (address == 0) std::abort();
    births_[address] = step_;
    if (first_ < 0) first_ = step_;
    return address;
  }
  void Free(std::uint64_t address) override {
    pinned_ ? cudaFreeHost(reinterpret_cast<void*>(address))
            : cudaFree(reinterpret_cast<void*>(address));
    births_.erase(address);
  }
  void Touch(std::uint64_t address) override {
    if (!pinned_) cudaMemsetAsync(reinterpret_cast<void*>(address), 0, 1, nullptr);
  }
  // The step of the first block that stays; of memory that is replaced, of the first block.
  int Begin(bool replaced) const {
    if (replaced) return first_;
    int begin = -1;
    for (const auto& [address, birth] : births_)
      if (birth >= 0 && (begin < 0 || birth < begin)) begin = birth;
    return begin;
  }

 private:
  const AllocateFunction allocate_;
  const bool pinned_;
  int step_ = -1, first_ = -1;
  std::map<std::uint64_t, int> births_;
};

struct Running {
  const Case* of = nullptr;
  std::unique_ptr<RealSite> site;
  Life life;
};

Running Begin(const Case& one, std::size_t index, std::uint32_t seed, int steps) {
  Draw draw{.random = std::mt19937_64(seed * 1000 + index), .steps = steps};
  draw.bytes = 512ull << draw.Between(0, 6);
  return {&one, std::make_unique<RealSite>(index, one.layer == Layer::kPinned),
          one.make(draw).life};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return 2;
  const auto& cases =
      Cases(std::strcmp(argv[1], "held-out") == 0 ? Kinds::kHeldOut : Kinds::kDevelopment);
  const auto seed = static_cast<std::uint32_t>(std::atoi(argv[2]));
  const int steps = std::atoi(argv[3]);
  const std::chrono::milliseconds period(std::atoi(argv[4]));
  if (cases.size() > kMostCases) return 2;
  const auto mark = reinterpret_cast<void (*)(std::uint64_t)>(dlsym(RTLD_DEFAULT, "memprof_step"));
  std::vector<Running> all;
  for (std::size_t i = 0; i < cases.size(); ++i) all.push_back(Begin(cases[i], i, seed, steps));
  std::printf("{\"begins\": [");
  auto next = std::chrono::steady_clock::now();
  for (int step = -1; step < steps; ++step) {
    if (step >= 0) {
      const auto now = std::chrono::system_clock::now().time_since_epoch();
      std::printf("%s%.6f", step > 0 ? ", " : "", std::chrono::duration<double>(now).count());
      if (mark != nullptr) mark(static_cast<std::uint64_t>(step));
    }
    for (Running& one : all) {
      one.site->AtStep(step);
      one.life(*one.site, step);
    }
    next += period;
    std::this_thread::sleep_until(next);
  }
  std::printf("],\n \"cases\": [");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Truth truth = all[i].of->truth;
    std::printf(
        "%s\n  {\"place\": \"Place<%zuul>\", \"name\": \"%s\", \"truth\": \"%s\", "
        "\"begin\": %d}",
        i > 0 ? "," : "", i, all[i].of->name.c_str(),
        truth == Truth::kLeak     ? "leak"
        : truth == Truth::kNoLeak ? "none"
                                  : "undecidable",
        all[i].site->Begin(all[i].of->replaced));
  }
  std::printf("]}\n");
}
