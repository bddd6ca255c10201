// Budgets of devices: every byte once, up to the capacity, and what each is for.
#include "analysis/budget/budget.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/analysis/timeline/ledger_fixture.h"
#include "tests/support/load_log.h"
#include "tests/support/random_log.h"

namespace memprof::analysis {
namespace {

using testing::kTotal;
using testing::LoadLog;
using testing::LogBuilder;
using testing::Sample;

std::uint64_t Of(const DeviceBudget& budget, Purpose purpose) {
  return budget.by_purpose[static_cast<std::size_t>(purpose)];
}

void ExpectAddsUp(const DeviceBudget& budget) {
  std::uint64_t sum =
      std::accumulate(budget.by_purpose.begin(), budget.by_purpose.end(), std::uint64_t{0});
  for (const GraphPool& graph : budget.graphs) sum += graph.bytes;
  sum += budget.cached_bytes + budget.driver_pools_bytes + budget.code_bytes +
         budget.context_bytes + budget.others_bytes + budget.unexplained_bytes + budget.free_bytes;
  EXPECT_EQ(sum, budget.total_bytes + budget.elsewhere_bytes);
}

// A small server: 2,000 of context, weights of 10,000, a KV cache of 40,000, a pool of graphs.
void Serve(LogBuilder& log) {
  log.Device(0, kTotal);
  Sample(log, kTotal - 2000, {.aux1 = 1});
  const int load = log.Stack({"Worker.load_model (/x/vllm/v1/worker/gpu_worker.py:1)"});
  const int cache =
      log.Stack({"Worker.initialize_from_config (/x/vllm/v1/worker/gpu_worker.py:2)",
                 "GPUModelRunner.initialize_kv_cache (/x/vllm/v1/worker/gpu_model_runner.py:3)"});
  const int run = log.Stack({"Worker.execute_model (/x/vllm/v1/worker/gpu_worker.py:4)",
                             "Qwen.load_weights_of_forward (/x/model.py:2)"});
  log.Alloc(Layer::kLinear, 0x100000, 70'000);
  log.Alloc(Layer::kSegment, 0x100000, 60'000);
  log.Alloc(Layer::kSegment, 0x10ea60, 10'000, {.aux1 = std::uint64_t{7} << 32});
  log.Alloc(Layer::kBlock, 0x100000, 10'000, {.stack = load});
  log.Alloc(Layer::kBlock, 0x102710, 40'000, {.stack = cache});
  log.Alloc(Layer::kBlock, 0x10c350, 5'000, {.stack = run});
  log.Alloc(Layer::kBlock, 0x10ea60, 6'000, {.stack = run, .aux1 = std::uint64_t{7} << 32});
  log.Alloc(Layer::kLinear, 0x900000, 1'500);
}

TEST(BudgetTest, EveryPartOfAServerHasItsRow) {
  LogBuilder log;
  Serve(log);
  Sample(log, kTotal - 75'000, {.aux1 = 1 + 800});
  const auto session = LoadLog(log);
  Symbols symbols(session);
  Budgets budgets(*session, symbols);
  ASSERT_EQ(budgets.devices(), std::vector<int>{0});
  const auto budget = budgets.Of(0);
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->total_bytes, kTotal);
  EXPECT_EQ(Of(*budget, Purpose::kWeights), 10'000u);
  EXPECT_EQ(Of(*budget, Purpose::kKvCache), 40'000u);
  EXPECT_EQ(Of(*budget, Purpose::kActivations), 5'000u) << "the outermost frame decides";
  EXPECT_EQ(Of(*budget, Purpose::kOther), 1'500u);
  ASSERT_EQ(budget->graphs.size(), 1u);
  EXPECT_EQ(budget->graphs[0].bytes, 10'000u) << "also what is free in it";
  EXPECT_EQ(budget->cached_bytes, 5'000u);
  EXPECT_EQ(budget->others_bytes, 800u);
  EXPECT_EQ(budget->context_bytes, 2'000u);
  EXPECT_EQ(budget->unexplained_bytes, 75'000u - 71'500 - 800 - 2'000);
  EXPECT_EQ(budget->free_bytes, 25'000u);
  EXPECT_EQ(budget->outside_bytes(), 75'000u - 800 - 40'000);
  ExpectAddsUp(*budget);
}

TEST(BudgetTest, CodeGivesWayToWhatWasInUse) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Event(Op::kModuleLoad, Layer::kModule, 0x77, 900, 0, {.aux0 = 3'000});
  log.Alloc(Layer::kManaged, 0x1000, 5'000);
  Sample(log, kTotal - 1'000);
  const auto session = LoadLog(log);
  Symbols symbols(session);
  const auto budget = Budgets(*session, symbols).Of(0, session->events().last_time());
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->code_bytes, 0u);
  EXPECT_EQ(budget->elsewhere_bytes, 4'000u);
  ExpectAddsUp(*budget);
}

TEST(BudgetTest, ATensorWithThePoolsNameIsThePool) {
  LogBuilder log;
  log.Device(0, kTotal);
  Sample(log, kTotal);
  log.Alloc(Layer::kLinear, 0x1000, 5'000);
  log.Alloc(Layer::kLinear, 0x8000, 700);
  log.TensorCreate(0x1000, 4'000, log.Tensor("mine", "uint8", {4'000}));
  log.Event(Op::kPoolUsage, Layer::kUnspecified, 0, 0, log.String("mine"),
            {.device = kNoDevice, .aux0 = std::uint64_t{8} << 32 | 2});
  Sample(log, kTotal - 5'700);
  const auto session = LoadLog(log);
  Symbols symbols(session);
  Budgets budgets(*session, symbols);
  const auto budget = budgets.Of(0, session->events().last_time());
  ASSERT_TRUE(budget);
  EXPECT_EQ(budget->kv_cache_bytes(), 5'000u);
  ExpectAddsUp(*budget);
  EXPECT_EQ(budgets.PoolsOf(0).size(), 1u);
  EXPECT_TRUE(budgets.PoolsOf(1).empty()) << "the process has no memory there";
}

TEST(BudgetTest, APoolOfAProcessWithoutMemoryIsOnEveryDevice) {
  LogBuilder worker, scheduler;
  worker.Device(0, kTotal);
  worker.Device(1, kTotal);
  Sample(worker, kTotal);
  worker.Alloc(Layer::kLinear, 0x1000, 5'000);
  worker.Alloc(Layer::kLinear, 0x8000, 700, {.device = 1});
  scheduler.header().set_pid(77);
  scheduler.Event(Op::kPoolUsage, Layer::kUnspecified, 0, 0, scheduler.String("KV"),
                  {.device = kNoDevice, .aux0 = std::uint64_t{8} << 32 | 2});
  const testing::TempDirectory directory;
  const auto session = LoadLogs(
      {directory.Write("w.mprof", worker.Bytes()), directory.Write("s.mprof", scheduler.Bytes())},
      {.find_steps = false});
  ASSERT_TRUE(session.ok()) << session.status();
  Symbols symbols(*session);
  const Budgets budgets(**session, symbols);
  EXPECT_EQ(budgets.PoolsOf(0).size(), 1u);
  EXPECT_EQ(budgets.PoolsOf(1).size(), 1u);
}

TEST(BudgetTest, WithoutSamplesThereIsNoBudget) {
  LogBuilder log;
  log.Device(0, kTotal);
  log.Alloc(Layer::kLinear, 0x1000, 5'000);
  const auto session = LoadLog(log);
  Symbols symbols(session);
  Budgets budgets(*session, symbols);
  EXPECT_TRUE(budgets.devices().empty());
  EXPECT_FALSE(budgets.Of(0));
}

TEST(BudgetTest, OfALongHighestUseTheInstantWithMostInBlocks) {
  LogBuilder log;
  Serve(log);
  log.Free(Layer::kBlock, 0x10c350);
  Sample(log, kTotal - 75'000);
  const auto session = LoadLog(log);
  Symbols symbols(session);
  Budgets budgets(*session, symbols);
  EXPECT_EQ(Of(*budgets.Of(0), Purpose::kActivations), 5'000u);
  EXPECT_EQ(Of(*budgets.Of(0, session->events().last_time()), Purpose::kActivations), 0u);
}

TEST(BudgetTest, MostActivations) {
  LogBuilder log;
  Serve(log);
  const int run = log.Stack({"Worker.execute_model (/x/vllm/v1/worker/gpu_worker.py:4)"});
  log.Alloc(Layer::kBlock, 0x10d6d8, 2'000, {.stack = run});
  const std::size_t most = 10;  // the event above
  log.Free(Layer::kBlock, 0x10d6d8);
  log.Alloc(Layer::kBlock, 0x10d6d8, 1'000, {.stack = run});
  const auto session = LoadLog(log);
  Symbols symbols(session);
  const MostActivations found = Budgets(*session, symbols).ActivationsOf(0);
  EXPECT_EQ(found.bytes, 7'000u) << "not those of the graphs' pool";
  EXPECT_EQ(found.time, session->events().time(most - 1));
}

// Against a sum over all lifetimes, on logs of an allocator with random blocks, at every sample and
// between samples: the budget adds up, and its parts are those of the memory that was live.
TEST(BudgetTest, AddsUpAtEveryInstantOfRandomLogs) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    testing::RandomLog random({.seed = seed, .operations = 200});
    LogBuilder& log = random.builder();
    for (const int device : {0, 1})
      log.Event(Op::kMemoryInfo, Layer::kUnspecified, 0, (std::uint64_t{1} << 30) - seed * 100'000,
                0, {.device = device, .aux0 = 1 << 30, .aux1 = 1 + seed * 1000});
    const auto session = LoadLog(log);
    ASSERT_NE(session, nullptr);
    Symbols symbols(session);
    Budgets budgets(*session, symbols);
    for (const int device : budgets.devices()) {
      for (std::uint32_t e = 0; e < session->events().size(); e += 7) {
        const TimeNs time = session->events().time(e);
        const auto budget = budgets.Of(device, time);
        ASSERT_TRUE(budget);
        ExpectAddsUp(*budget);
        std::uint64_t driver = 0, blocks = 0;
        for (const Allocation& a : session->allocations()) {
          if (a.device != device || !a.AliveAt(time)) continue;
          if (OccupiesDevice(a.layer)) driver += a.bytes;
          if (a.layer == Layer::kBlock) blocks += a.bytes;
        }
        std::uint64_t parts = budget->cached_bytes;
        for (const std::uint64_t bytes : budget->by_purpose) parts += bytes;
        for (const GraphPool& graph : budget->graphs) parts += graph.bytes;
        EXPECT_EQ(parts, driver) << "seed " << seed << ", event " << e;
        EXPECT_LE(budget->cached_bytes, driver - std::min(driver, blocks));
      }
    }
  }
}

}  // namespace
}  // namespace memprof::analysis
