// The texts of metrics: golden, with hostile names, and bounded.
#include "cli/watch/internal/metrics.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console/text.h"
#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {
namespace {

constexpr std::uint64_t kTestSecond = 1'000'000'000;

LiveProcess TrainingRank() {
  LiveProcess process;
  process.path = "rank1.mprof";
  process.pid = 4711;
  process.rank = 1;
  process.start_unix_ns = 1'000 * kTestSecond;
  process.step = 396;
  process.steps_per_second = 4.25;
  process.failures = 3;
  process.ooms = 1;
  process.losses = {{"events_lost", 12}};
  process.recorder_bytes = 60 * kMiB;
  process.recorder_cpu_ns = 1'234'567'890;
  LiveDevice device;
  device.device = 1;
  device.capacity = 81'559 * kMiB;
  device.used = 30'000 * kMiB;
  device.reserved = 29'000 * kMiB;
  device.allocated = 25'000 * kMiB;
  device.peak = 28'000 * kMiB;
  device.largest_hole = 512 * kMiB;
  device.framework = true;
  device.headroom = 50'000.0 * kMiB;
  device.growth = 1.5 * kMiB;
  process.devices = {device};
  process.leaks = {
      {"suspected", 1, false, 1.0 * kMiB, 396 * kMiB, "HistoryLeak (history.cc:42)"},
      {"growing", 1, true, 0.25 * kMiB, 200 * kMiB, "say \"\\\n\x1b[31m \xff (a.py:1)"},
      {"growing", analysis::kNoDevice, false, 1e5, 99 * kMiB, "Loader::Next (loader.cc:7)"},
      {"growing", 1, false, 1e3, kMiB, "Small (small.cc:1)"},
      {"growing", 1, false, 1e3, kMiB, "Smaller (small.cc:2)"}};
  return process;
}

LiveReading Reading() {
  LiveReading reading;
  reading.now_unix_ns = 1'100 * kTestSecond;
  reading.processes = {TrainingRank()};
  LiveProcess server;  // ended, without steps or a rank
  server.pid = 4712;
  server.state = LiveState::kEnded;
  server.start_unix_ns = 1'000 * kTestSecond;
  server.by_time = true;
  LiveDevice device;
  device.growth = 1e6;
  device.device = 0;
  server.devices = {device};
  server.leaks = {{"suspected", 0, false, 1e6, kMiB, "Serve (serve.cc:1)"}};
  reading.processes.push_back(server);
  return reading;
}

TEST(WatchMetrics, AsPrometheusReadsThem) {
  ExpectGolden("watch_metrics.txt", PrometheusText(MetricsOf(Reading(), 3), false));
}

TEST(WatchMetrics, AsOpenMetrics) {
  ExpectGolden("watch_openmetrics.txt", PrometheusText(MetricsOf(Reading(), 3), true));
}

TEST(WatchMetrics, AsOtlp) {
  const auto json =
      nlohmann::ordered_json::parse(OtlpText(MetricsOf(Reading(), 3), 1'100 * kTestSecond));
  ExpectGolden("watch_otlp.json", json.dump(1) + "\n");
}

TEST(WatchMetrics, ThePlacesOfAThousandLeaksAreAFew) {
  LiveReading reading = Reading();
  std::vector<LiveLeak>& leaks = reading.processes[0].leaks;
  leaks.clear();
  for (int i = 0; i < 1000; ++i)
    leaks.push_back({"suspected", i % 2, false, 1.0, 1, Cat("Place", i)});
  for (const std::size_t sites : {0, 10, 100})
    for (const MetricFamily& metric : MetricsOf(reading, sites)) {
      if (metric.name != "memprof_leak_bytes_per_step") continue;
      EXPECT_EQ(metric.samples.size(), sites + 1);
      double sum = 0;
      for (const MetricSample& sample : metric.samples) sum += sample.value;
      EXPECT_EQ(sum, 1000);
    }
}

TEST(WatchMetrics, LeaksOfOnePlaceAreOneSample) {
  LiveReading reading = Reading();
  reading.processes[0].leaks = {{"suspected", 1, false, 1, 1, "Same"},
                                {"suspected", 1, false, 2, 1, "Same"},
                                {"growing", 1, false, 3, 1, "\x01"},
                                {"growing", 1, false, 4, 1, "\x02"}};
  const std::string text = PrometheusText(MetricsOf(reading, 10), false);
  EXPECT_NE(text.find("site=\"Same\",tier=\"suspected\"} 3\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("site=\"Same\""), text.rfind("site=\"Same\""));
  EXPECT_NE(text.find("site=\"?\",tier=\"growing\"} 7\n"), std::string::npos) << text;
}

TEST(WatchMetrics, OfManyLogsThoseThatRunComeFirst) {
  LiveReading reading;
  for (int i = 0; i < 1000; ++i) {
    LiveProcess process;
    process.pid = static_cast<std::uint32_t>(i);
    process.state = i == 999 ? LiveState::kRunning : LiveState::kKilled;
    reading.processes.push_back(process);
  }
  const std::vector<MetricFamily> metrics = MetricsOf(reading, 10);
  ASSERT_EQ(metrics[0].name, "memprof_up");
  EXPECT_EQ(metrics[0].samples.size(), kMostWatchedLogs);
  EXPECT_EQ(metrics[0].samples[0].labels[0].second, "999");
}

}  // namespace
}  // namespace memprof::cli::testing
