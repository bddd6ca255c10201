// Definitions as readers decode them: strings, tensors, threads, devices, modules.
#include "libmemprof/src/log/definitions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <string>

#include "libmemprof/src/log/vocabulary.h"
#include "tests/libmemprof/log/with_ring.h"

namespace memprof::recorder {
namespace {

using DefinitionsTest = WithRing;

TEST_F(DefinitionsTest, EveryKindIsDecodedByLibprotobuf) {
  const std::uint32_t name = definitions_.InternString("weights");
  const std::uint32_t dtype = definitions_.InternString("bad \xc3(");
  EXPECT_EQ(definitions_.InternString("weights"), name);
  const std::int64_t shape[] = {7, 1ll << 40};
  const std::uint32_t tensor = definitions_.InternTensor(name, dtype, 2, shape);
  EXPECT_EQ(definitions_.InternTensor(name, dtype, 2, shape), tensor);
  EXPECT_NE(definitions_.InternTensor(name, dtype, 1, shape), tensor);
  definitions_.AddThread(3, 4711, "worker");
  const unsigned char uuid[16] = {1, 2, 3};
  definitions_.AddDevice({1, "GPU", 80ull << 30, uuid, true, 13000, 79ull << 30, true, 132, 2048});
  definitions_.AddContext(5, 0xdeadbeef, 1, true);
  definitions_.AddPool(0xabc, 1, true);
  const unsigned char build_id[20] = {9, 9};
  definitions_.AddModule({8, "/lib/x.so", build_id, 20, 0x1000, 0x2000, 0x3000});
  definitions_.AddSource("driver", kSourceOn, "because");
  definitions_.AddFramework("PyTorch", "2.15.0 \xff");

  const testing::Log log = PublishedDefinitions(&ring_);
  EXPECT_EQ(log.Text(name), "weights");
  EXPECT_EQ(log.Text(dtype), "bad \xef\xbf\xbd(");
  EXPECT_THAT(log.tensors.at(tensor).shape(), ::testing::ElementsAre(7, 1ll << 40));
  EXPECT_EQ(log.threads.at(3).tid(), 4711u);
  EXPECT_EQ(log.threads.at(3).name(), "worker");
  EXPECT_EQ(log.devices.at(1).uuid().size(), 16u);
  EXPECT_EQ(log.devices.at(1).capacity_bytes(), 80ull << 30);
  EXPECT_EQ(log.devices.at(1).free_at_start_bytes(), 79ull << 30);
  EXPECT_TRUE(log.devices.at(1).simulated());
  EXPECT_TRUE(log.devices.at(1).uses_system_memory());
  EXPECT_EQ(log.devices.at(1).multiprocessors(), 132u);
  EXPECT_EQ(log.devices.at(1).threads_per_multiprocessor(), 2048u);
  EXPECT_EQ(log.contexts.at(5).handle(), 0xdeadbeefu);
  EXPECT_TRUE(log.contexts.at(5).primary());
  EXPECT_TRUE(log.pools.at(0xabc).is_default());
  EXPECT_EQ(log.modules.at(8).path(), "/lib/x.so");
  EXPECT_EQ(log.modules.at(8).build_id().size(), 20u);
  EXPECT_EQ(log.modules.at(8).end_address(), 0x3000u);
  EXPECT_GT(log.modules.at(8).load_time_ns(), 0u);
  EXPECT_EQ(log.sources.at(0).detail(), "because");
  EXPECT_EQ(log.frameworks.at(0).name(), "PyTorch");
  EXPECT_EQ(log.frameworks.at(0).release(), "2.15.0 \xef\xbf\xbd");
}

TEST_F(DefinitionsTest, ThousandsOfStringsKeepTheirIds) {
  std::map<std::string, std::uint32_t> reference;
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const std::string text = "name" + std::to_string(random() % 5000);
    const std::uint32_t id = definitions_.InternString(text.data(), text.size());
    ASSERT_NE(id, 0u);
    const auto [known, is_new] = reference.emplace(text, id);
    ASSERT_EQ(known->second, id) << text;
  }
  const testing::Log log = PublishedDefinitions(&ring_);
  ASSERT_EQ(log.strings.size(), reference.size());
  for (const auto& [text, id] : reference) EXPECT_EQ(log.Text(id), text);
}

TEST_F(DefinitionsTest, WithoutRoomTheyAreCountedAsLostAndHaveNoId) {
  const std::string large(30000, 'x');
  std::uint32_t id = 1, last = 0;
  for (int i = 0; i < 100000 && id != 0; ++i) {
    const std::string text = large + std::to_string(i);
    id = definitions_.InternString(text.data(), text.size());
    if (id != 0) last = id;
  }
  EXPECT_EQ(id, 0u);
  EXPECT_GT(last, 100u);
  EXPECT_GE(ring_.AnomalyCount(log::Anomaly::kDefinitionsLost), 1u);
  EXPECT_EQ(definitions_.InternString((large + "0").c_str()), 1u) << "known strings keep their ids";
}

// An attempt that finds no space in the ring does not use up space for names.
TEST_F(DefinitionsTest, ARefusedNameLeavesNothingBehind) {
  RingBuffer ring;
  RingOptions options;
  options.shared_directory = "/nowhere";
  options.events = 1;  // the minimum: there is more space for names than in the ring
  ASSERT_TRUE(ring.Create(options));
  Definitions definitions(&ring);
  const std::string filling(4000, 'x');
  for (int i = 0; definitions.InternString((filling + std::to_string(i)).c_str()) != 0; ++i) {
  }
  const std::string refused(4100, 'y');
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(definitions.InternString(refused.c_str()), 0u);
  for (std::uint32_t i = 0; i < ring.slabs_ready(); ++i)
    if (ring.slab(i)->state.load() == ring::SlabState::kSealed) ring.Release(ring.slab(i));
  const std::uint32_t id = definitions.InternString(refused.c_str());
  EXPECT_NE(id, 0u);
  EXPECT_EQ(definitions.InternString(refused.c_str()), id);
  EXPECT_NE(definitions.InternString("another"), id);
}

}  // namespace
}  // namespace memprof::recorder
