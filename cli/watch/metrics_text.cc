// Prometheus's text and OTLP's JSON.
#include <cmath>

#include "absl/strings/str_format.h"
#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/watch/internal/metrics.h"

namespace memprof::cli {
namespace {

std::string Escaped(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\\' || c == '"') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string ValueText(double value) {
  if (std::floor(value) == value && std::fabs(value) < 9e15) return absl::StrFormat("%.0f", value);
  return absl::StrFormat("%.15g", value);
}

Json OtlpPoint(const MetricFamily& metric, const MetricSample& sample, std::uint64_t now_unix_ns) {
  Json attributes = Json::array();
  for (const auto& [name, value] : sample.labels)
    attributes.push_back({{"key", name}, {"value", {{"stringValue", value}}}});
  Json point = {{"attributes", std::move(attributes)}};
  if (metric.counter) point["startTimeUnixNano"] = Cat(sample.start_unix_ns);
  point["timeUnixNano"] = Cat(now_unix_ns);  // 64 bits are text in protobuf's JSON
  point["asDouble"] = sample.value;
  return point;
}

}  // namespace

std::string PrometheusText(const std::vector<MetricFamily>& metrics, bool open_metrics) {
  std::string text;
  for (const MetricFamily& metric : metrics) {
    const std::string sample_name = Cat(metric.name, metric.counter ? "_total" : "");
    const std::string name = open_metrics ? std::string(metric.name) : sample_name;
    Append(text, "# HELP ", name, " ", metric.help, "\n# TYPE ", name,
           metric.counter ? " counter\n" : " gauge\n");
    if (open_metrics && !metric.unit.empty()) Append(text, "# UNIT ", name, " ", metric.unit, "\n");
    for (const MetricSample& sample : metric.samples) {
      std::string labels;
      for (const auto& [label, value] : sample.labels)
        Append(labels, labels.empty() ? "{" : ",", label, "=\"", Escaped(value), "\"");
      Append(text, sample_name, labels, "} ", ValueText(sample.value), "\n");
    }
  }
  if (open_metrics) text += "# EOF\n";
  return text;
}

std::string OtlpText(const std::vector<MetricFamily>& metrics, std::uint64_t now_unix_ns) {
  Json list = Json::array();
  for (const MetricFamily& metric : metrics) {
    Json points = Json::array();
    for (const MetricSample& sample : metric.samples)
      points.push_back(OtlpPoint(metric, sample, now_unix_ns));
    Json json = {{"name", metric.name},
                 {"description", metric.help},
                 {"unit", metric.unit == "bytes"     ? "By"
                          : metric.unit == "seconds" ? "s"
                                                     : "1"}};
    Json values = {{"dataPoints", std::move(points)}};
    if (metric.counter) {
      values["aggregationTemporality"] = 2;  // cumulative
      values["isMonotonic"] = true;
    }
    json[metric.counter ? "sum" : "gauge"] = std::move(values);
    list.push_back(std::move(json));
  }
  const auto attribute = [](const char* key, const char* value) {
    return Json{{"key", key}, {"value", {{"stringValue", value}}}};
  };
  Json resource = {{"attributes", Json::array({attribute("service.name", "memprof")})}};
  Json scope = {{"scope", {{"name", "memprof"}}}, {"metrics", std::move(list)}};
  Json all = {{"resourceMetrics", Json::array({Json{{"resource", std::move(resource)},
                                                    {"scopeMetrics", Json::array({scope})}}})}};
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace memprof::cli
