// A small caching allocator that reports like PyTorch's, through a library that is loaded with
// RTLD_LOCAL. Prints its own figures, and which calls of the reporting functions arrived.
//
//   torch_allocator random VERSION | pages | threads | two | fork | hostile | lonely |
//                   streams DEVICE_ERROR | captures
//
// "seen N CALLS" lines: CALLS is the number of calls made, N the number that arrived; "digest same"
// if their arguments are the same.
#include <cuda.h>
#include <dlfcn.h>
#include <limits.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::uint64_t kMiB = 1 << 20;

void Check(CUresult result, const char* what) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "%s: %d\n", what, static_cast<int>(result));
  std::_Exit(3);
}

std::string Beside(const char* name) {
  char path[PATH_MAX] = "";
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  std::string own(path, length < 0 ? 0 : static_cast<std::size_t>(length));
  return own.substr(0, own.rfind('/') + 1) + name;
}

// The calling library, and the calls that should have arrived.
class Reporter {
 public:
  explicit Reporter(const char* library) {
    void* handle = dlopen(Beside(library).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
      std::fprintf(stderr, "%s\n", dlerror());
      std::_Exit(4);
    }
    usage_ = reinterpret_cast<decltype(usage_)>(dlsym(handle, "caller_usage"));
    oom_ = reinterpret_cast<decltype(oom_)>(dlsym(handle, "caller_oom"));
    seen_ = reinterpret_cast<decltype(seen_)>(dlsym(handle, "caller_seen"));
    use_stream_ = reinterpret_cast<decltype(use_stream_)>(dlsym(handle, "caller_use_stream"));
    asked_ = reinterpret_cast<decltype(asked_)>(dlsym(handle, "caller_handles_asked"));
  }
  void Usage(int version, std::uint64_t block, std::int64_t bytes, std::uint64_t allocated,
             std::uint64_t reserved, int type, int index) {
    usage_(version, reinterpret_cast<void*>(block), bytes, allocated, reserved, type, index);
    if (version == 1) allocated = reserved = 0;
    Note(static_cast<std::uint64_t>(version), block, bytes, allocated, reserved, type, index);
  }
  void OutOfMemory(int version, std::int64_t asked, std::uint64_t allocated, std::uint64_t reserved,
                   int index) {
    if (version == 1) return;  // this version does not have the function
    oom_(version, asked, allocated, reserved, index);
    Note(static_cast<std::uint64_t>(version) + 2, 0, asked, allocated, reserved, 1, index);
  }
  void UseStream(std::int64_t id, int device_error) { use_stream_(id, device_error); }
  std::uint64_t HandlesAsked() { return asked_(); }
  void PrintSeen() {
    std::uint64_t calls = 0, digest = 0;
    seen_(&calls, &digest);
    std::printf("seen %llu %llu\ndigest %s\n", static_cast<unsigned long long>(calls),
                static_cast<unsigned long long>(calls_.load()),
                digest == digest_ ? "same" : "other");
  }

 private:
  void Note(std::uint64_t which, std::uint64_t block, std::int64_t bytes, std::uint64_t allocated,
            std::uint64_t reserved, int type, int index) {
    ++calls_;
    digest_ += which * 1000003 + block * 31 + static_cast<std::uint64_t>(bytes) * 37 +
               allocated * 41 + reserved * 43 +
               static_cast<std::uint64_t>(static_cast<std::int8_t>(type) * 47 +
                                          static_cast<std::int8_t>(index) * 53);
  }
  void (*usage_)(int, void*, std::int64_t, std::uint64_t, std::uint64_t, int, int) = nullptr;
  void (*oom_)(int, std::int64_t, std::uint64_t, std::uint64_t, int) = nullptr;
  void (*seen_)(std::uint64_t*, std::uint64_t*) = nullptr;
  void (*use_stream_)(std::int64_t, int) = nullptr;
  std::uint64_t (*asked_)() = nullptr;
  std::atomic<std::uint64_t> calls_{0}, digest_{0};
};

// Segments of whole blocks: first fit within segments of 2 MiB, or a separate segment.
class Allocator {
 public:
  Allocator(Reporter* reporter, int version, int device)
      : reporter_(*reporter), version_(version), device_(device) {
    CUcontext context = nullptr;
    Check(cuDevicePrimaryCtxRetain(&context, device), "retain");
    Check(cuCtxSetCurrent(context), "current");
  }
  std::uint64_t Allocate(std::uint64_t bytes) {
    bytes = (bytes + 511) / 512 * 512;
    const std::uint64_t block = Place(bytes);
    if (block == 0) {
      reporter_.OutOfMemory(version_, static_cast<std::int64_t>(bytes), allocated_, reserved_,
                            device_);
      return 0;
    }
    blocks_[block] = bytes;
    allocated_ += bytes;
    peak_ = std::max(peak_, allocated_);
    reporter_.Usage(version_, block, static_cast<std::int64_t>(bytes), allocated_, reserved_, 1,
                    device_);
    return block;
  }
  void Free(std::uint64_t block) {
    const std::uint64_t bytes = blocks_[block];
    blocks_.erase(block);
    allocated_ -= bytes;
    reporter_.Usage(version_, block, -static_cast<std::int64_t>(bytes), allocated_, reserved_, 1,
                    device_);
  }
  void EmptyCache() {
    for (auto it = segments_.begin(); it != segments_.end();) {
      const auto first = blocks_.lower_bound(it->first);
      if (first != blocks_.end() && first->first < it->first + it->second) {
        ++it;
        continue;
      }
      Check(cuMemFree(it->first), "free");
      reserved_ -= it->second;
      it = segments_.erase(it);
    }
  }
  std::uint64_t SomeBlock(std::uint64_t number) const {
    return std::next(blocks_.begin(), static_cast<long>(number % blocks_.size()))->first;
  }
  std::size_t blocks() const { return blocks_.size(); }
  void Print() const {
    std::printf("figures %d %llu %llu %llu %llu\n", device_, static_cast<unsigned long long>(peak_),
                static_cast<unsigned long long>(allocated_),
                static_cast<unsigned long long>(peak_reserved_),
                static_cast<unsigned long long>(reserved_));
  }

 private:
  std::uint64_t Place(std::uint64_t bytes) {
    for (const auto& [base, size] : segments_) {
      std::uint64_t at = base;
      for (auto it = blocks_.lower_bound(base); it != blocks_.end() && it->first < base + size;
           ++it) {
        if (it->first - at >= bytes) return at;
        at = it->first + it->second;
      }
      if (base + size - at >= bytes) return at;
    }
    const std::uint64_t size = std::max((bytes + 2 * kMiB - 1) / (2 * kMiB) * 2 * kMiB, 2 * kMiB);
    CUdeviceptr base = 0;
    if (cuMemAlloc(&base, size) != CUDA_SUCCESS) return 0;
    segments_[base] = size;
    reserved_ += size;
    peak_reserved_ = std::max(peak_reserved_, reserved_);
    return base;
  }

  Reporter& reporter_;
  const int version_, device_;
  std::map<std::uint64_t, std::uint64_t> blocks_, segments_;
  std::uint64_t allocated_ = 0, peak_ = 0, reserved_ = 0, peak_reserved_ = 0;
};

void Random(Allocator* allocator, unsigned seed, int rounds) {
  std::mt19937 random(seed);
  for (int i = 0; i < rounds; ++i) {
    if (allocator->blocks() > 0 && random() % 100 < 48)
      allocator->Free(allocator->SomeBlock(random()));
    else
      allocator->Allocate(std::uint64_t{1} << (random() % 23));
    if (i % 200 == 199) allocator->EmptyCache();
  }
  allocator->Allocate(std::uint64_t{1} << 40);  // more than any device has
}

// An expandable segment: pages are mapped as it grows and unmapped as it shrinks.
void Pages(Reporter* reporter) {
  CUcontext context = nullptr;
  Check(cuDevicePrimaryCtxRetain(&context, 0), "retain");
  Check(cuCtxSetCurrent(context), "current");
  constexpr std::uint64_t kPage = 2 * kMiB;
  CUdeviceptr base = 0;
  Check(cuMemAddressReserve(&base, 64 * kPage, 0, 0, 0), "reserve");
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}};
  std::vector<CUmemGenericAllocationHandle> handles;
  std::uint64_t allocated = 0, reserved = 0, peak = 0, peak_reserved = 0;
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t bytes = (random() % (40 * kPage) + 512) / 512 * 512;
    while (handles.size() * kPage < bytes) {
      handles.push_back(0);
      Check(cuMemCreate(&handles.back(), kPage, &properties, 0), "create");
      Check(cuMemMap(base + (handles.size() - 1) * kPage, kPage, 0, handles.back(), 0), "map");
    }
    reserved = handles.size() * kPage;
    peak_reserved = std::max(peak_reserved, reserved);
    allocated = bytes;
    peak = std::max(peak, allocated);
    reporter->Usage(3, base, static_cast<std::int64_t>(bytes), allocated, reserved, 1, 0);
    allocated = 0;
    reporter->Usage(3, base, -static_cast<std::int64_t>(bytes), allocated, reserved, 1, 0);
    for (std::size_t keep = random() % 20; handles.size() > keep; handles.pop_back()) {
      Check(cuMemUnmap(base + (handles.size() - 1) * kPage, kPage), "unmap");
      Check(cuMemRelease(handles.back()), "release");
    }
    reserved = handles.size() * kPage;
  }
  std::printf("figures 0 %llu %llu %llu %llu\n", static_cast<unsigned long long>(peak),
              static_cast<unsigned long long>(allocated),
              static_cast<unsigned long long>(peak_reserved),
              static_cast<unsigned long long>(reserved));
}

void Threads(Reporter* reporter) {
  std::vector<Allocator*> allocators(4);
  std::vector<std::thread> threads;
  for (int device = 0; device < 4; ++device)
    threads.emplace_back([&, device] {
      allocators[static_cast<std::size_t>(device)] = new Allocator(reporter, 3, device);
      Random(allocators[static_cast<std::size_t>(device)], static_cast<unsigned>(device), 2000);
    });
  for (std::thread& thread : threads) thread.join();
  for (Allocator* allocator : allocators) allocator->Print();
}

// Two threads with a device each; streams change sometimes. Prints "block DEVICE ADDRESS STREAM"
// lines.
void Streams(Reporter* reporter, int device_error) {
  const auto work = [&](int device) {
    Allocator allocator(reporter, 3, device);
    for (int i = 0; i < 60; ++i) {
      const std::int64_t id = i / 10 % 3;
      reporter->UseStream(id, device_error);
      const std::uint64_t block = allocator.Allocate(kMiB);
      std::printf("block %d %llu %lld\n", device, static_cast<unsigned long long>(block),
                  id == 0 ? 0ll : static_cast<long long>(0x5000 + id * 256 + device));
    }
    allocator.Allocate(std::uint64_t{1} << 40);
  };
  std::thread other(work, 1);
  other.join();
  work(0);
  std::printf("asked %llu\n", static_cast<unsigned long long>(reporter->HandlesAsked()));
  std::printf("uncaught %d\n", std::uncaught_exceptions());
}

// Captures with separate allocators, like private pools, or with a shared one. Prints their memory
// as "pool NUMBER ADDRESS" lines; 0 = no pool.
void Captures(Reporter* reporter) {
  Allocator own(reporter, 3, 0), first(reporter, 3, 0), second(reporter, 3, 0);
  CUstream stream = nullptr;
  Check(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "stream");
  CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
  Check(cuThreadExchangeStreamCaptureMode(&relaxed), "mode");
  const auto take = [](Allocator* allocator, int pool, int blocks) {
    for (int i = 0; i < blocks; ++i)
      std::printf("pool %d %llu\n", pool,
                  static_cast<unsigned long long>(allocator->Allocate(kMiB)));
  };
  reporter->UseStream(reinterpret_cast<std::int64_t>(stream), 0);
  take(&own, 0, 3);
  // Each capture leaves half a segment for the next one of its pool.
  for (const auto& [pool, blocks] : std::vector<std::pair<Allocator*, int>>{
           {&first, 3}, {&second, 3}, {&first, 4}, {&first, 3}}) {
    CUgraph graph = nullptr;
    Check(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED), "begin");
    take(pool, pool == &first ? 1 : 2, blocks);
    Check(cuStreamEndCapture(stream, &graph), "end");
    take(&own, 0, 1);
  }
}

void Hostile(Reporter* reporter) {
  Allocator allocator(reporter, 3, 0);
  const std::uint64_t block = allocator.Allocate(1000);
  const std::int64_t sizes[] = {LONG_MIN, LONG_MAX, -1, 1, 0};
  for (int version = 1; version <= 3; ++version)
    for (const std::int64_t bytes : sizes)
      for (const std::uint64_t at : {block, std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
        for (const int index : {0, -1, 63, 64, 127, -128})
          for (const int type : {0, 1, 12, -1})
            reporter->Usage(version, at, bytes, static_cast<std::uint64_t>(bytes), at, type, index);
  for (int version = 2; version <= 3; ++version)
    for (const std::int64_t bytes : sizes)
      reporter->OutOfMemory(version, bytes, ~std::uint64_t{0}, ~std::uint64_t{0}, -1);
}

void Fork(Reporter* reporter) {
  Allocator allocator(reporter, 3, 0);
  Random(&allocator, 1, 100);
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    for (int i = 0; i < 100; ++i) reporter->Usage(3, 0x1000, 512, 512, 0, 1, 0);
    std::uint64_t calls = 0;
    reporter->PrintSeen();
    std::fflush(stdout);
    _exit(calls == 0 ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  std::printf("child %d\n", status);
  Random(&allocator, 2, 100);
  allocator.Print();
}

// No other library defines the functions after the preloaded one.
void Lonely() {
  struct Device {
    std::int8_t type, index;
  };
  using Function = void (*)(void*, std::int64_t, std::size_t, std::size_t, Device);
  const auto report = reinterpret_cast<Function>(
      dlsym(RTLD_DEFAULT, "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE"));
  for (int i = 0; i < 3 && report != nullptr; ++i) report(nullptr, 512, 512, 0, {0, 0});
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  Check(cuInit(0), "init");
  if (mode == "lonely") {
    Lonely();
    return 0;
  }
  Reporter reporter("libguest_torch_caller.so");
  if (mode == "random") {
    Allocator allocator(&reporter, argc > 2 ? std::atoi(argv[2]) : 3, 0);
    Random(&allocator, 1, 4000);
    allocator.Print();
  } else if (mode == "pages") {
    Pages(&reporter);
  } else if (mode == "threads") {
    Threads(&reporter);
  } else if (mode == "two") {
    Reporter other("libguest_torch_other_caller.so");
    for (int i = 0; i < 7; ++i) reporter.Usage(3, 0x1000, 512, 512, 0, 0, 0);
    for (int i = 0; i < 5; ++i) other.Usage(3, 0x2000, 1024, 1024, 0, 0, 0);
    other.PrintSeen();
  } else if (mode == "fork") {
    Fork(&reporter);
  } else if (mode == "streams") {
    Streams(&reporter, std::atoi(argv[2]));
  } else if (mode == "captures") {
    Captures(&reporter);
  } else if (mode == "hostile") {
    Hostile(&reporter);
  }
  reporter.PrintSeen();
  return 0;
}
