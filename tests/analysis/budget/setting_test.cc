// Values of the settings of servers, against the formulas of the engines themselves.
#include "analysis/budget/setting.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "tests/support/load_log.h"

namespace memprof::analysis {
namespace {

using testing::LoadLog;
using testing::LogBuilder;

constexpr std::uint64_t kMiB = 1 << 20;

// How many blocks the engines make, by their own computation.
std::uint64_t VllmBlocks(double u, std::uint64_t total, std::uint64_t outside,
                         std::uint64_t block) {
  const double cache = std::ceil(static_cast<double>(total) * u) - static_cast<double>(outside);
  return cache <= 0 ? 0 : static_cast<std::uint64_t>(cache / static_cast<double>(block));
}
std::uint64_t SglangBlocks(double f, std::uint64_t before, std::uint64_t available,
                           std::uint64_t block) {
  const double rest = static_cast<double>(available) - static_cast<double>(before) * (1 - f);
  return rest <= 0 ? 0 : static_cast<std::uint64_t>(rest / static_cast<double>(block));
}

struct Server {
  std::uint64_t total, before, outside, block, used;
  double now;
  bool vllm;
  std::uint64_t Blocks(double value) const {
    return vllm ? VllmBlocks(value, total, outside, block)
                : SglangBlocks(value, before, before - outside, block);
  }
};

std::optional<PoolSetting> Found(const Server& server, std::uint64_t blocks,
                                 const std::string& said = "") {
  LogBuilder log;
  log.Device(0, server.total);
  log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, server.before, 0, {.aux0 = server.total});
  const auto session = LoadLog(log);
  PoolUsage pool{.name = "KV"};
  pool.settings[server.vllm ? "gpu_memory_utilization" : "mem_fraction_static"] =
      said.empty() ? std::to_string(server.now) : said;
  pool.bytes = blocks * server.block;
  pool.blocks = static_cast<std::uint32_t>(blocks);
  pool.most.blocks = static_cast<std::uint32_t>(server.used);
  DeviceBudget budget{.device = 0};
  budget.total_bytes = server.total;
  budget.free_bytes = server.total - std::min(server.total, server.outside + pool.bytes);
  return FindSetting(*session, pool, budget, 0.02);
}

TEST(SettingTest, TheEnginesOwnFormulasAgree) {
  std::mt19937 random(3);
  for (int i = 0; i < 150; ++i) {
    Server server{.total = (16 + random() % 128) * 1024 * kMiB, .vllm = random() % 2 == 0};
    server.before = server.total - (random() % 4 + 1) * 256 * kMiB;
    server.outside = server.total * (random() % 40 + 5) / 100;
    server.block = (random() % 64 + 1) * kMiB / 4;
    server.now = (50 + random() % 45) / 100.0;
    const std::uint64_t blocks = server.Blocks(server.now);
    if (blocks < 10) continue;
    server.used = random() % (blocks - 1);
    const auto setting = Found(server, blocks);
    ASSERT_TRUE(setting);
    EXPECT_FALSE(setting->measured);
    const auto near = [](std::uint64_t a, std::uint64_t b) { return a <= b + 1 && b <= a + 1; };
    // One block may be lost to rounding: the log has the pool, not the bytes it was rounded from.
    EXPECT_GE(server.Blocks(setting->needed.value) + 1, server.used + kReservedBlocks);
    EXPECT_TRUE(near(server.Blocks(setting->needed.value), setting->needed.blocks)) << i;
    if (setting->needed.value > 0.011) {
      EXPECT_LT(server.Blocks(setting->needed.value - 0.01), server.used + kReservedBlocks + 1);
    }
    if (!setting->possible) continue;
    EXPECT_TRUE(near(server.Blocks(setting->possible->value), setting->possible->blocks)) << i;
    EXPECT_GT(setting->possible->blocks, blocks);
    if (server.vllm) {
      EXPECT_LE(setting->possible->value * static_cast<double>(server.total),
                static_cast<double>(server.before) + 1);
    }
    EXPECT_LE(server.outside + setting->possible->blocks * server.block + setting->margin_bytes,
              server.total);
  }
}

TEST(SettingTest, AValueThatWasNotSaidIsMeasured) {
  const Server server{.total = 100 * kMiB,
                      .before = 99 * kMiB,
                      .outside = 20 * kMiB,
                      .block = kMiB,
                      .used = 9,
                      .now = 0.7,
                      .vllm = true};
  const auto setting = Found(server, 50, "auto");
  ASSERT_TRUE(setting);
  EXPECT_TRUE(setting->measured);
  EXPECT_NEAR(setting->now, 0.7, 1e-9);
  EXPECT_NEAR(setting->needed.value, 0.30, 1e-9);
  EXPECT_EQ(setting->needed.blocks, 10u);
  ASSERT_TRUE(setting->possible);
  EXPECT_NEAR(setting->possible->value, 0.98, 1e-9);
  EXPECT_EQ(setting->possible->blocks, 78u);
}

TEST(SettingTest, AnUnknownSettingOrSizeGivesNone) {
  const Server server{.total = 100 * kMiB,
                      .before = 95 * kMiB,
                      .outside = 20 * kMiB,
                      .block = kMiB,
                      .used = 9,
                      .now = 0.7,
                      .vllm = true};
  EXPECT_FALSE(Found(server, 0));
  Server endless = server;
  endless.total = endless.before = ~std::uint64_t{0};
  endless.block = 1;
  EXPECT_LE(Found(endless, 50)->needed.blocks, endless.total);
  Server tiny = server;
  tiny.block = 0;
  EXPECT_FALSE(Found(tiny, 50));
  for (const char* value : {"nan", "inf", "-1", "0", "2", "0.5x"})
    EXPECT_TRUE(Found(server, 50, value)->measured) << value;
}

}  // namespace
}  // namespace memprof::analysis
