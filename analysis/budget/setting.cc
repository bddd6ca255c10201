// Computes values of the settings of servers.
#include "analysis/budget/setting.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/numbers.h"

namespace memprof::analysis {
namespace {

struct KnownSetting {
  const char *key, *option;
  bool of_free;  // a share of the free memory before the model was loaded, else of the device
};
constexpr KnownSetting kKnown[] = {
    {"gpu_memory_utilization", "--gpu-memory-utilization", false},
    {"mem_fraction_static", "--mem-fraction-static", true},
};

constexpr double kStep = 100;           // values in hundredths
constexpr double kLargest = 1e18;       // of bytes and blocks: larger ones are of damaged logs
constexpr double kStepRounding = 1e-6;  // of the computation, in steps

std::uint64_t FreeAtFirst(const Session& session, int device) {
  const auto samples = SamplesOf(session);
  return samples->Of(device).front().free_bytes;
}

}  // namespace

std::optional<PoolSetting> FindSetting(const Session& session, const PoolUsage& pool,
                                       const DeviceBudget& budget, double margin) {
  const KnownSetting* known = nullptr;
  for (const KnownSetting& one : kKnown)
    if (pool.settings.contains(one.key)) known = &one;
  const std::uint64_t bytes = pool.bytes != 0 ? pool.bytes : budget.kv_cache_bytes();
  if (known == nullptr || bytes == 0 || pool.blocks == 0 || bytes / pool.blocks == 0)
    return std::nullopt;
  PoolSetting setting{.option = known->option, .block_bytes = bytes / pool.blocks};
  setting.base_bytes = known->of_free ? FreeAtFirst(session, budget.device) : budget.total_bytes;
  if (setting.base_bytes == 0) return std::nullopt;
  const auto base = static_cast<double>(setting.base_bytes);
  const auto block = static_cast<double>(setting.block_bytes);
  setting.margin_bytes = static_cast<std::uint64_t>(
      std::min(kLargest, margin * static_cast<double>(budget.total_bytes)));
  const std::string& said = pool.settings.at(known->key);
  if (!absl::SimpleAtod(said, &setting.now) || !(setting.now > 0 && setting.now <= 1)) {
    setting.measured = true;
    const std::uint64_t inside =
        budget.total_bytes - std::min(budget.total_bytes, budget.free_bytes);
    const std::uint64_t own = inside - std::min(inside, budget.others_bytes);
    setting.now = std::min(1.0, static_cast<double>(own) / base);
  }
  const auto blocks = static_cast<double>(pool.blocks);
  const auto value_of = [&](double count) { return setting.now + (count - blocks) * block / base; };
  const auto blocks_of = [&](double value) {
    return static_cast<std::uint64_t>(std::clamp(
        std::floor(blocks + (value - setting.now) * base / block + kStepRounding), 0.0, kLargest));
  };
  const double needs = static_cast<double>(pool.most.blocks) + kReservedBlocks;
  const double least = std::ceil(value_of(needs) * kStep - kStepRounding) / kStep;
  setting.needed.value = std::clamp(least, 1 / kStep, 1.0);
  setting.needed.blocks = blocks_of(setting.needed.value);
  // All blocks that fit beside what else was in use, at most.
  const std::uint64_t spare = budget.free_bytes - std::min(budget.free_bytes, setting.margin_bytes);
  const double most = value_of(blocks + std::floor(static_cast<double>(spare) / block));
  // vLLM does not start if less than its share is free then.
  const double limit =
      known->of_free ? 1 : static_cast<double>(FreeAtFirst(session, budget.device)) / base;
  const double highest = std::floor(std::min({most, limit, 1.0}) * kStep + kStepRounding) / kStep;
  if (spare > 0 && highest > setting.now + kStepRounding)
    setting.possible = {highest, blocks_of(highest)};
  return setting;
}

}  // namespace memprof::analysis
