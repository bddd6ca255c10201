// Calls that move managed memory without allocating: prefetches, discards, advice.

#include "tests/libmemprof/events/recorded_driver.h"

namespace memprof::recorder {
namespace {

using ::testing::ElementsAre;
using testing::Event;
using ::testing::IsEmpty;

struct Advice {
  log::Op op;
  std::uint64_t address, bytes;
  int device;
  std::uint64_t aux0, aux1;
  bool operator==(const Advice&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Advice& advice) {
  return out << log::Op_Name(advice.op) << " " << advice.address << " " << advice.bytes << " to "
             << advice.device << " " << advice.aux0 << " " << advice.aux1;
}

class ManagedHooks : public HooksTest {
 protected:
  std::vector<Advice> Story() {
    std::vector<Advice> story;
    for (const Event& event : Finish().events) {
      EXPECT_EQ(event.layer, log::LAYER_MANAGED);
      story.push_back({event.op, event.address, event.bytes, event.device, event.aux0, event.aux1});
    }
    return story;
  }
};

TEST_F(ManagedHooks, BothFormsOfPrefetchAndAdvice) {
  Start();
  const CUdeviceptr at = 0x1000;
  const std::size_t bytes = 64;
  CUmemLocation host{}, device{};
  host.type = static_cast<CUmemLocationType>(3);
  host.id = 5;
  device.type = CU_MEM_LOCATION_TYPE_DEVICE;
  device.id = 1;
  Call("cuMemPrefetchAsync", at, bytes, 1, kNoStream);
  Call("cuMemPrefetchAsync_ptsz", at, bytes, static_cast<int>(CU_DEVICE_CPU), kNoStream);
  Call("cuMemPrefetchAsync_v2", at, bytes, device, 0u, kNoStream);
  Call("cuMemPrefetchAsync_v2_ptsz", at, bytes, host, 0u, kNoStream);
  Call("cuMemAdvise", at, bytes, CU_MEM_ADVISE_SET_READ_MOSTLY, 0);
  Call("cuMemAdvise_v2", at, bytes, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
  EXPECT_THAT(Story(), ElementsAre(Advice{log::OP_PREFETCH, at, bytes, 1, 0, 1},
                                   Advice{log::OP_PREFETCH, at, bytes, -1, 0, 2},
                                   Advice{log::OP_PREFETCH, at, bytes, 1, 0, 1},
                                   Advice{log::OP_PREFETCH, at, bytes, -1, 0, 3},
                                   Advice{log::OP_ADVISE, at, bytes, 0, 1, 1},
                                   Advice{log::OP_ADVISE, at, bytes, -1, 3, 3}));
}

TEST_F(ManagedHooks, ABatchIsOneEventForEachRange) {
  Start();
  CUdeviceptr at[] = {0x1000, 0x2000, 0x3000};
  std::size_t bytes[] = {1, 2, 3};
  CUmemLocation places[2] = {};
  places[0].type = places[1].type = CU_MEM_LOCATION_TYPE_DEVICE;
  places[1].id = 1;
  std::size_t firsts[] = {0, 2};
  Call("cuMemPrefetchBatchAsync", at, bytes, std::size_t{3}, places, firsts, std::size_t{2}, 0ull,
       kNoStream);
  Call("cuMemDiscardBatchAsync_ptsz", at, bytes, std::size_t{2}, 0ull, kNoStream);
  Call("cuMemDiscardAndPrefetchBatchAsync", at, bytes, std::size_t{1}, places, firsts,
       std::size_t{1}, 0ull, kNoStream);
  EXPECT_THAT(Story(), ElementsAre(Advice{log::OP_PREFETCH, 0x1000, 1, 0, 0, 1},
                                   Advice{log::OP_PREFETCH, 0x2000, 2, 0, 0, 1},
                                   Advice{log::OP_PREFETCH, 0x3000, 3, 1, 0, 1},
                                   Advice{log::OP_DISCARD, 0x1000, 1, -1, 0, 0},
                                   Advice{log::OP_DISCARD, 0x2000, 2, -1, 0, 0},
                                   Advice{log::OP_DISCARD, 0x1000, 1, -1, 0, 0},
                                   Advice{log::OP_PREFETCH, 0x1000, 1, 0, 0, 1}));
}

TEST_F(ManagedHooks, ListsThatAreMissingAreNotRead) {
  Start();
  CUdeviceptr* const none = nullptr;
  std::size_t* const nothing = nullptr;
  Call("cuMemDiscardBatchAsync", none, nothing, std::size_t{1}, 0ull, kNoStream);
  EXPECT_THAT(Events(), IsEmpty());
  Answer(CUDA_ERROR_INVALID_VALUE);
  Call("cuMemDiscardBatchAsync", none, nothing, std::size_t{1}, 0ull, kNoStream);
  EXPECT_EQ(Finish().WithOp(log::OP_ALLOC_FAILED).at(0).bytes, 0u);
}

}  // namespace
}  // namespace memprof::recorder
