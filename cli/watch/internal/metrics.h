// The figures of running programs as metrics, and the texts in which these are handed on: pure
// functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/live/process.h"

namespace memprof::cli {

// Of so many logs, those that run first.
inline constexpr std::size_t kMostWatchedLogs = 256;
inline constexpr std::int64_t kMostSites = 100;

struct MetricSample {
  std::vector<std::pair<std::string_view, std::string>> labels;
  double value = 0;
  std::uint64_t start_unix_ns = 0;  // of a counter
};

struct MetricFamily {
  std::string_view name;  // of a counter: without "_total"
  std::string_view unit;  // "bytes", "seconds" or ""
  std::string_view help;
  bool counter = false;
  std::vector<MetricSample> samples;
};

// `sites`: how many leaks of each log have their place in a label; the rest is one, "other".
// Metrics without a sample are left out.
std::vector<MetricFamily> MetricsOf(const LiveReading& reading, std::size_t sites);

// Prometheus's text format 0.0.4, or OpenMetrics 1.0.0.
std::string PrometheusText(const std::vector<MetricFamily>& metrics, bool open_metrics);
// The request of OTLP/HTTP as JSON: ExportMetricsServiceRequest.
std::string OtlpText(const std::vector<MetricFamily>& metrics, std::uint64_t now_unix_ns);

}  // namespace memprof::cli
