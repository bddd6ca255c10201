// The use of pools over time, against the events.
#include "analysis/budget/pool_usage.h"

#include <gtest/gtest.h>

#include <random>

#include "analysis/budget/purpose.h"
#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

void Use(LogBuilder& log, const std::string& label, std::uint64_t blocks, std::uint64_t used,
         std::uint64_t slots = 0, std::uint64_t bytes = 0) {
  log.Event(Op::kPoolUsage, Layer::kUnspecified, 0, bytes, log.String(label),
            {.device = kNoDevice,
             .aux0 = blocks << 32 | used,
             .aux1 = (slots != 0 ? std::uint64_t{16} << 32 : 0) | slots});
}

TEST(PoolUsageTest, APoolKeepsItsNameWhileItsSettingsChange) {
  LogBuilder log;
  Use(log, "KV", 100, 0);
  Use(log, "KV\nu=0.5\nnot a setting\nv=a=b", 100, 7, 90, 6400);
  Use(log, "KV\nu=0.6", 100, 7, 80);
  Use(log, "KV 2", 3, 1);
  const auto session = LoadLog(log);
  const std::vector<PoolUsage> pools = FindPoolUsages(*session);
  ASSERT_EQ(pools.size(), 2u);
  EXPECT_EQ(pools[0].name, "KV");
  EXPECT_EQ(pools[0].settings, (std::map<std::string, std::string>{{"u", "0.6"}, {"v", "a=b"}}));
  EXPECT_EQ(pools[0].bytes, 6400u);
  EXPECT_EQ(pools[0].blocks, 100u);
  EXPECT_EQ(pools[0].block_slots, 16u);
  EXPECT_EQ(pools[0].most.blocks, 7u);
  EXPECT_EQ(pools[0].most.time, session->events().time(1)) << "the first of several";
  EXPECT_EQ(pools[0].most_slots.slots, 90u);
  EXPECT_EQ(pools[0].At(session->events().time(0) - 1).blocks, 0u);
  EXPECT_EQ(pools[1].name, "KV 2");
}

TEST(PoolUsageTest, AtEveryInstantAsTheLastEventSaid) {
  std::mt19937 random(1);
  LogBuilder log;
  std::vector<std::uint32_t> said;
  for (int i = 0; i < 200; ++i) {
    if (random() % 3 == 0) {
      log.Step(static_cast<std::uint64_t>(i));
      said.push_back(said.empty() ? 0 : said.back());
      continue;
    }
    said.push_back(random() % 1000);
    Use(log, "KV", 1000, said.back());
  }
  const auto session = LoadLog(log);
  const std::vector<PoolUsage> pools = FindPoolUsages(*session);
  ASSERT_EQ(pools.size(), 1u);
  EXPECT_EQ(pools[0].most.blocks, *std::max_element(said.begin(), said.end()));
  for (std::uint32_t e = 0; e < session->events().size(); ++e)
    EXPECT_EQ(pools[0].At(session->events().time(e)).blocks, said[e]);
}

TEST(PurposeTest, TheOutermostFrameOfAServerDecides) {
  const auto of = [](std::vector<std::string> functions, const std::string& file = "/x/a.py") {
    std::vector<SourceFrame> frames;  // innermost first
    for (const std::string& function : functions)
      frames.push_back({.function = function, .file = file, .module = "python", .python = true});
    return PurposeOfFrames(frames);
  };
  EXPECT_EQ(of({"_allocate_kv_cache_tensors", "Worker.initialize_from_config"}), Purpose::kKvCache);
  EXPECT_EQ(of({"MHATokenToKVPool._create_buffers", "ModelRunner.init_memory_pool"}),
            Purpose::kKvCache);
  EXPECT_EQ(of({"update_kv_cache", "GPUModelRunner.execute_model"}), Purpose::kActivations);
  EXPECT_EQ(of({"Linear.forward", "load_model"}), Purpose::kWeights);
  EXPECT_EQ(of({"Mine.forward"}), Purpose::kActivations);
  EXPECT_EQ(of({"forward_to_queue"}), Purpose::kOther);
  EXPECT_EQ(of({"_create_buffers"}, "/x/sglang/srt/mem_cache/memory_pool.py"), Purpose::kKvCache);
  EXPECT_EQ(of({"DynamicCache.update", "Attention.forward"}, "/x/transformers/cache_utils.py"),
            Purpose::kKvCache);
  EXPECT_EQ(of({}), Purpose::kOther);
}

}  // namespace
}  // namespace memprof::analysis
