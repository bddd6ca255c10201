// A random walk through all families of driver memory, and a model of the events that a recorder
// must write: the shared part of property tests. It uses CUDA only, so that it runs in a test, on
// any driver, and as a guest program.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace memprof::testing {

// One memory event as expected in the log. Layers as in log.Layer, in lower case.
struct WalkEvent {
  std::string op;  // alloc free map unmap alloc_failed free_failed
  std::string layer;
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t result = 0;
  bool operator==(const WalkEvent&) const = default;
};

// Live memory of the model, for kinds that occupy a device, in requested bytes.
struct WalkTotals {
  std::uint64_t allocations = 0, frees = 0;
  std::uint64_t live_bytes = 0, peak_bytes = 0;
};

class DriverWalk {
 public:
  // Finds an exported driver function by name.
  using Lookup = std::function<void*(const char*)>;
  DriverWalk(Lookup lookup, unsigned seed) : lookup_(std::move(lookup)), random_(seed) {}
  ~DriverWalk();

  // One operation of the program: an allocation, a free, or a call that fails. The calling thread
  // has a current context. Returns false when the driver did not do what it must.
  bool Step();

  const std::vector<WalkEvent>& events() const { return events_; }
  const WalkTotals& totals() const { return totals_; }

  // More bytes than any driver has, and an address where nothing is allocated.
  static constexpr std::uint64_t kTooMuch = 1ull << 50;
  static constexpr std::uint64_t kNowhere = 0x1230;
  static constexpr std::uint64_t kPage = 2u << 20;

 private:
  struct Block {
    std::string layer;
    std::uint64_t address = 0;  // or handle
    std::uint64_t bytes = 0;
    std::vector<const char*> frees;  // functions of which each may free it
    std::uint64_t mapped_at = 0;     // physical memory: the range it is mapped to
    void* host = nullptr;            // registered memory: the program's own
    std::uint64_t external = 0;      // a view: the object that it is of
    std::uint64_t view = 0;          // a resource of a graphics interface: its mapped address
    std::uint64_t held = 0;          // physical memory that an array or multicast object holds
    std::uint64_t held_bytes = 0;
  };
  template <typename T>
  static std::uint64_t Number(T pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
  }
  template <typename Function>
  Function* Find(const char* name) const {
    return reinterpret_cast<Function*>(lookup_(name));
  }
  std::uint64_t Random(std::uint64_t below) { return random_() % below; }
  bool Allocate();
  bool AllocatePlain(const char* layer, const char* function, std::uint64_t bytes);
  bool AllocatePitched();
  bool AllocateAsync(const char* function);
  bool AllocateHost(bool flags);
  bool RegisterHost();
  bool CreateArray(int kind);
  bool MapPhysical();
  bool LaunchGraph();
  bool MoveIntoAnother(CUgraph* graph);
  bool ImportExternal();
  bool MapGraphics();
  bool MapTile();
  bool BindMulticast();
  bool CreatePhysical(std::uint64_t bytes, std::uint64_t* handle);
  bool FreeGraphics(const Block& block);
  bool FreeHolder(const Block& block);
  bool Free();
  bool UnmapPhysical(const Block& block);
  bool FailToAllocate();
  bool FailToFree();
  bool Began(Block block);
  void Note(const std::string& op, const std::string& layer, std::uint64_t address,
            std::uint64_t bytes, CUresult result = CUDA_SUCCESS);

  Lookup lookup_;
  std::mt19937 random_;
  std::vector<Block> live_;
  std::vector<WalkEvent> events_;
  WalkTotals totals_;
};

}  // namespace memprof::testing
