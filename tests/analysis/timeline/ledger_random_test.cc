#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <random>

#include "analysis/report/report.h"
#include "analysis/timeline/ledger.h"
#include "tests/analysis/timeline/ledger_fixture.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::ExpectCloses;
using testing::kTotal;
using testing::LedgersOf;
using testing::LogBuilder;
using testing::Sample;

// State of one device in the model.
struct Books {
  std::map<Layer, std::map<std::uint64_t, std::uint64_t>> live;  // by address
  std::uint64_t pool_sampled = 0, graph_sampled = 0;

  std::uint64_t Sum(Layer layer) const {
    const auto at = live.find(layer);
    if (at == live.end()) return 0;
    return std::accumulate(at->second.begin(), at->second.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const auto& piece) { return sum + piece.second; });
  }
  std::uint64_t Pools() const {
    const std::uint64_t pool = Sum(Layer::kStreamOrdered), graph = Sum(Layer::kGraph);
    return (pool_sampled > pool ? pool_sampled - pool : 0) +
           (graph_sampled > graph ? graph_sampled - graph : 0);
  }
};

// Something that happens on `device`, in the log and in the model.
void Happen(LogBuilder& log, Books& books, int device, std::mt19937& random) {
  constexpr Layer kLayers[] = {Layer::kLinear, Layer::kPitched,       Layer::kArray,
                               Layer::kGraph,  Layer::kStreamOrdered, Layer::kModule};
  const auto draw = [&random](std::uint64_t n) { return random() % n; };
  const Layer layer = kLayers[draw(std::size(kLayers))];
  const std::uint64_t address = 0x10'000 * (1 + static_cast<std::uint64_t>(layer)) +
                                0x100 * draw(8) + 0x1'000'000 * static_cast<std::uint64_t>(device);
  auto& pieces = books.live[layer];
  if (draw(5) == 0) {
    const std::uint64_t reserved = draw(6000);
    const bool graph = draw(2) == 0;
    (graph ? books.graph_sampled : books.pool_sampled) = reserved;
    log.Event(Op::kPoolSample, graph ? Layer::kGraph : Layer::kStreamOrdered, 0, reserved, 0,
              {.device = device});
  } else if (pieces.contains(address)) {
    pieces.erase(address);
    if (layer == Layer::kModule)
      log.Event(Op::kModuleUnload, layer, address, 0, 0, {.device = device});
    else
      log.Free(layer, address, {.device = device});
  } else {
    const std::uint64_t bytes = 1 + draw(1000);
    pieces[address] = bytes;
    if (layer == Layer::kModule)
      log.Event(Op::kModuleLoad, layer, address, 7, 0, {.device = device, .aux0 = bytes});
    else
      log.Alloc(layer, address, bytes, {.device = device});
  }
}

TEST(LedgerTest, EqualsBooksKeptByHand) {
  std::mt19937 random(77);
  for (int round = 0; round < 60; ++round) {
    LogBuilder log;
    log.Device(0, kTotal);
    log.Device(1, kTotal);
    std::map<int, Books> books;
    const int events = 1 + static_cast<int>(random() % 120);
    for (int i = 0; i < events; ++i) {
      const int device = static_cast<int>(random() % 2);
      Happen(log, books[device], device, random);
    }
    const std::uint64_t used = random() % 12'000, others = random() % 500;
    for (const int device : {0, 1})
      Sample(log, kTotal - used, {.device = device, .aux1 = 1 + others});
    for (int i = 0; i < 20; ++i) {  // later events change nothing
      Books later = books[0];
      Happen(log, later, 0, random);
    }
    for (const auto& [device, ledger] : LedgersOf(log)) {
      SCOPED_TRACE(device);
      ASSERT_TRUE(ledger.last);
      ExpectCloses(*ledger.last);
      std::uint64_t known = books[device].Pools() + others;
      for (std::size_t i = 0; i < kLayerCount; ++i) {
        const std::uint64_t sum = books[device].Sum(static_cast<Layer>(i));
        EXPECT_EQ(ledger.last->by_layer[i], sum) << LayerName(static_cast<Layer>(i));
        known += sum;
      }
      EXPECT_EQ(ledger.last->pools_bytes, books[device].Pools());
      EXPECT_EQ(ledger.last->untracked_bytes, used > known ? used - known : 0);
      EXPECT_EQ(ledger.last->elsewhere_bytes, known > used ? known - used : 0);
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
