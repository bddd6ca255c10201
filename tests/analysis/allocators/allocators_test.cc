// The same checks for every simulated allocator: after each of many random requests, all general
// invariants must hold.
#include <functional>
#include <map>
#include <memory>
#include <random>

#include "analysis/allocators/caching.h"
#include "analysis/allocators/pools.h"
#include "analysis/allocators/spec.h"
#include "analysis/base/sizes.h"
#include "gtest/gtest.h"

namespace memprof::analysis::allocators {
namespace {

struct Case {
  std::string name;
  std::function<std::unique_ptr<Allocator>(Device*)> make;
  bool keeps = false;  // never releases memory to the device
};

Case Caching(const std::string& name, const std::function<void(CachingOptions*)>& set) {
  CachingOptions options;
  set(&options);
  return {"Caching" + name,
          [options](Device* device) { return std::make_unique<CachingAllocator>(options, device); },
          false};
}

Case Named(const std::string& name, const std::string& spec, bool keeps = false) {
  const auto parsed = ParseSpec(spec);
  return {name, [parsed](Device* device) { return MakeAllocator(*parsed, device); }, keeps};
}

std::vector<Case> Cases() {
  return {
      Named("Cuda", "cuda"),
      Named("Bfc", "bfc", true),
      Named("BfcPreallocated", "bfc:preallocate=100MiB", true),
      Named("Pool", "pool"),
      Named("PoolThreshold", "pool:release_threshold=100MiB"),
      Named("RmmPool", "rmm_pool", true),
      Named("RmmPoolFirstFit", "rmm_pool:first_fit,initial=64MiB", true),
      Named("RmmArena", "rmm_arena", true),
      Named("RmmBinning", "rmm_binning", true),
      Caching("Default", [](CachingOptions*) {}),
      Caching("MaxSplit", [](CachingOptions* o) { o->max_split = 24 * kMiB; }),
      Caching("Roundup", [](CachingOptions* o) { o->roundup_power2.fill(4); }),
      Caching("Garbage",
              [](CachingOptions* o) {
                o->gc_threshold = 0.5;
                o->max_split = 32 * kMiB;
              }),
      Caching("Limit", [](CachingOptions* o) { o->limit = 300 * kMiB; }),
      Caching("Expandable", [](CachingOptions* o) { o->expandable = true; }),
      Caching("ExpandableRoundup",
              [](CachingOptions* o) {
                o->expandable = true;
                o->roundup_power2.fill(8);
              }),
  };
}

// Typical requests: many small ones, some large, with repeated sizes.
class Requests {
 public:
  explicit Requests(std::uint32_t seed) : random_(seed) {}
  std::uint64_t Below(std::uint64_t n) { return random_() % n; }
  std::uint64_t Bytes() {
    static constexpr std::uint64_t kUsual[] = {
        1, 512, 4096, 1 * kMiB, 1 * kMiB + 1, 3 * kMiB, 8 * kMiB, 10 * kMiB, 26 * kMiB, 50 * kMiB};
    switch (Below(4)) {
      case 0:
        return kUsual[Below(std::size(kUsual))];
      case 1:
        return 1 + Below(200'000);
      case 2:
        return 1 + Below(3 * kMiB);
      default:
        return std::uint64_t{1} << Below(26);
    }
  }

 private:
  std::mt19937_64 random_;
};

class AllocatorTest : public ::testing::TestWithParam<Case> {
 protected:
  struct Live {
    Handle handle;
    Place place;
    std::uint64_t requested;
  };

  void Start(std::uint64_t capacity) {
    device_ = std::make_unique<Device>(capacity);
    allocator_ = GetParam().make(device_.get());
  }

  void Allocate(std::uint64_t bytes, StreamNumber stream) {
    const Handle handle = allocator_->Allocate(bytes, stream);
    if (handle == kNoHandle) return;
    const Place place = allocator_->PlaceOf(handle);
    ASSERT_GE(place.bytes, bytes);
    const auto after = by_address_.lower_bound(place.address);
    if (after != by_address_.end()) {
      ASSERT_LE(place.address + place.bytes, after->first);
    }
    if (after != by_address_.begin()) {
      const auto before = std::prev(after);
      ASSERT_LE(before->first + before->second.place.bytes, place.address);
    }
    by_address_[place.address] = {handle, place, bytes};
  }

  void FreeOne(std::uint64_t which) {
    if (by_address_.empty()) return;
    auto at = by_address_.lower_bound(which);
    if (at == by_address_.end()) at = by_address_.begin();
    allocator_->Free(at->second.handle);
    by_address_.erase(at);
  }

  void CheckAll(bool deep) {
    std::uint64_t allocated = 0, requested = 0;
    for (const auto& [address, live] : by_address_) {
      const Place place = allocator_->PlaceOf(live.handle);
      ASSERT_EQ(place.address, address);
      ASSERT_EQ(place.bytes, live.place.bytes);
      allocated += place.bytes;
      requested += live.requested;
    }
    const Figures& figures = allocator_->figures();
    ASSERT_EQ(figures.allocated, allocated);
    ASSERT_EQ(figures.requested, requested);
    ASSERT_EQ(figures.reserved, device_->used());
    ASSERT_GE(figures.reserved, allocated);
    ASSERT_LE(figures.reserved, device_->capacity());
    ASSERT_GE(figures.peak_reserved, figures.reserved);
    if (deep) {
      ASSERT_EQ(allocator_->Inconsistency(), "");
    }
  }

  void Churn(std::uint32_t seed, int operations) {
    Requests requests(seed);
    for (int i = 0; i < operations; ++i) {
      // Memory use rises and falls repeatedly.
      const bool growing = i / 300 % 2 == 0;
      const std::uint64_t dice = requests.Below(100);
      if (dice == 0) {
        allocator_->EmptyCache();
      } else if (dice == 1) {
        allocator_->Synchronize();
      } else if (dice < (growing ? 65u : 35u)) {
        Allocate(requests.Bytes(), static_cast<StreamNumber>(requests.Below(3)));
      } else {
        const auto span = std::uint64_t{1} << 50;
        FreeOne(by_address_.empty()
                    ? 0
                    : by_address_.begin()->first + requests.Below(span) % (1u << 31));
      }
      ASSERT_NO_FATAL_FAILURE(CheckAll(i % 16 == 0)) << "after operation " << i;
    }
  }

  std::unique_ptr<Device> device_;
  std::unique_ptr<Allocator> allocator_;
  std::map<std::uint64_t, Live> by_address_;
};

TEST_P(AllocatorTest, HoldsWhatItGaveOutApart) {
  Start(std::uint64_t{1} << 40);
  ASSERT_NO_FATAL_FAILURE(Churn(1, 2400));
  EXPECT_GT(allocator_->figures().allocations, 500u);
}

TEST_P(AllocatorTest, GoesOnWhenTheDeviceIsFull) {
  Start(256 * kMiB);
  ASSERT_NO_FATAL_FAILURE(Churn(2, 2400));
  EXPECT_GT(allocator_->figures().failures, 0u);
  EXPECT_GT(allocator_->figures().failed_bytes, 0u);
}

TEST_P(AllocatorTest, GivesEverythingBackInTheEnd) {
  Start(std::uint64_t{1} << 40);
  ASSERT_NO_FATAL_FAILURE(Churn(3, 600));
  while (!by_address_.empty()) FreeOne(0);
  EXPECT_EQ(allocator_->figures().allocated, 0u);
  EXPECT_EQ(allocator_->figures().requested, 0u);
  allocator_->Synchronize();
  allocator_->EmptyCache();
  EXPECT_EQ(allocator_->Inconsistency(), "");
  EXPECT_EQ(device_->used(), allocator_->figures().reserved);
  if (GetParam().keeps) return;
  EXPECT_EQ(allocator_->figures().reserved, 0u);
  EXPECT_EQ(allocator_->figures().segments, 0u);
}

TEST_P(AllocatorTest, RefusesWhatNoDeviceHas) {
  Start(kUnlimited);
  EXPECT_EQ(allocator_->Allocate(kUnlimited, 0), kNoHandle);
  EXPECT_EQ(allocator_->Allocate(kMaxRequest + 1, 1), kNoHandle);
  EXPECT_EQ(allocator_->figures().failures, 2u);
  EXPECT_EQ(allocator_->figures().failed_bytes, kUnlimited);
  EXPECT_EQ(allocator_->figures().reserved, 0u);
  EXPECT_EQ(allocator_->Inconsistency(), "");
}

TEST_P(AllocatorTest, SameRequestsSameFigures) {
  std::vector<std::uint64_t> peaks;
  for (int run = 0; run < 2; ++run) {
    by_address_.clear();
    Start(std::uint64_t{1} << 40);
    ASSERT_NO_FATAL_FAILURE(Churn(4, 300));
    peaks.push_back(allocator_->figures().peak_reserved);
  }
  EXPECT_EQ(peaks[0], peaks[1]);
}

INSTANTIATE_TEST_SUITE_P(All, AllocatorTest, ::testing::ValuesIn(Cases()),
                         [](const auto& named) { return named.param.name; });

}  // namespace
}  // namespace memprof::analysis::allocators
