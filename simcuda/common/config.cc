// Parser of the SIMCUDA environment variable.
#include "simcuda/common/config.h"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace memprof::simcuda {
namespace {

constexpr uint64_t kMaxMemory = uint64_t{16} << 40;
constexpr int kMaxDevices = 64;
constexpr size_t kMaxName = 255;
constexpr size_t kMaxGroupName = 64;

template <class Number>
bool ParseNumber(std::string_view text, Number low, Number high, Number* value) {
  Number parsed{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  if (parsed < low || parsed > high) return false;
  *value = parsed;
  return true;
}

bool ParseFault(std::string_view text, Fault* fault) {
  const size_t first = text.find(':');
  if (first == std::string_view::npos || first == 0) return false;
  fault->function = std::string(text.substr(0, first));
  std::string_view rest = text.substr(first + 1);
  const size_t second = rest.find(':');
  if (second != std::string_view::npos) {
    if (!ParseNumber(rest.substr(second + 1), 1, 999, &fault->result)) return false;
    rest = rest.substr(0, second);
  }
  return ParseNumber<uint64_t>(rest, 1, UINT64_MAX, &fault->nth);
}

// Applies a GPU model; other items of the same list override it, wherever they are.
bool ApplyModel(std::string_view key, Config* config) {
  const GpuModel* model = FindGpuModel(key);
  if (model == nullptr) return false;
  config->gpu = model;
  config->memory_bytes = model->memory_bytes();
  config->overhead_bytes = model->context_bytes();
  config->models_code = true;
  config->name = model->name;
  return true;
}

bool ApplyItem(std::string_view key, std::string_view value, Config* config) {
  if (key == "devices") return ParseNumber(value, 0, kMaxDevices, &config->devices);
  if (key == "memory") {
    uint64_t bytes = 0;
    if (!ParseSize(value, &bytes) || bytes == 0 || bytes > kMaxMemory) return false;
    config->memory_bytes = bytes;
    return true;
  }
  if (key == "overhead") {
    uint64_t bytes = 0;
    if (!ParseSize(value, &bytes) || bytes > kMaxMemory) return false;
    config->overhead_bytes = bytes;
    config->models_code = false;
    return true;
  }
  if (key == "fail") {
    Fault fault;
    if (!ParseFault(value, &fault)) return false;
    config->faults.push_back(fault);
    return true;
  }
  if (key == "version") return ParseNumber(value, 2000, 99999, &config->driver_version);
  if (key == "name") {
    config->name = std::string(value.substr(0, kMaxName));
    return !value.empty();
  }
  if (key == "async") {
    int on = 0;
    if (!ParseNumber(value, 0, 1, &on)) return false;
    config->async = on != 0;
    return true;
  }
  if (key == "addresses") {
    if (value != "linux" && value != "windows") return false;
    config->upward_addresses = value == "windows";
    return true;
  }
  if (key == "contents") {
    if (value != "none" && value != "kept") return false;
    config->contents = value == "kept";
    return true;
  }
  if (key == "shared") {
    if (!ValidGroupName(value)) return false;
    config->shared = std::string(value);
    return true;
  }
  return ParseNumber(value, 0, 1024, &config->threads);
}

bool KnownKey(std::string_view key) {
  for (const std::string_view known :
       {"devices", "memory", "overhead", "fail", "version", "name", "async", "threads", "shared",
        "contents", "addresses", "gpu"}) {
    if (key == known) return true;
  }
  return false;
}

struct Item {
  std::string_view whole;
  std::string_view key;
  std::string_view value;
};

std::vector<Item> Split(std::string_view text) {
  std::vector<Item> items;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view whole = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    if (whole.empty()) continue;
    const size_t equals = whole.find('=');
    items.push_back(
        {whole, whole.substr(0, equals),
         equals == std::string_view::npos ? std::string_view() : whole.substr(equals + 1)});
  }
  return items;
}

// A short form of the input for error messages, without control characters.
std::string Printable(std::string_view text) {
  std::string result;
  for (const char c : text.substr(0, 60)) {
    result += std::isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  return result;
}

}  // namespace

bool ValidGroupName(std::string_view name) {
  if (name == "@group") return true;
  return !name.empty() && name.size() <= kMaxGroupName && name.front() != '.' &&
         std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

bool ParseSize(std::string_view text, uint64_t* bytes) {
  const auto trim = [](std::string_view part) {
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    return part;
  };
  text = trim(text);
  if (text.empty() || !(std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '.'))
    return false;
  const char* const end = text.data() + text.size();
  uint64_t whole = 0;
  double number = 0;
  const auto integer = std::from_chars(text.data(), end, whole);
  const auto real = std::from_chars(text.data(), end, number);
  if (real.ec != std::errc()) return false;
  std::string unit(trim({real.ptr, static_cast<size_t>(end - real.ptr)}));
  for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t power = unit.empty() ? 0 : std::string_view("bkmgtpe").find(unit[0]);
  if (power == std::string_view::npos || unit == "e") return false;
  const std::string_view rest = unit.empty() ? unit : std::string_view(unit).substr(1);
  if (!rest.empty() && (power == 0 || (rest != "b" && rest != "ib"))) return false;
  uint64_t factor = 1;
  for (size_t i = 0; i < power; ++i) factor *= rest == "b" ? 1000 : 1024;
  constexpr uint64_t kMax = uint64_t{1} << 62;
  if (integer.ec == std::errc() && integer.ptr == real.ptr) {
    if (whole > kMax / factor) return false;
    *bytes = whole * factor;
    return true;
  }
  number *= static_cast<double>(factor);
  if (!(number <= static_cast<double>(kMax))) return false;
  *bytes = static_cast<uint64_t>(std::round(number));
  return true;
}

void ApplyConfig(std::string_view text, Config* config, std::vector<std::string>* complaints) {
  const auto items = Split(text);
  for (const Item& item : items) {
    if (item.key == "gpu" && !ApplyModel(item.value, config)) {
      complaints->push_back("no GPU '" + Printable(item.value) + "', ignored; there are " +
                            GpuModelKeys());
    }
  }
  for (const Item& item : items) {
    if (!KnownKey(item.key)) {
      complaints->push_back("unknown key '" + Printable(item.key) + "' ignored");
    } else if (item.key != "gpu" && !ApplyItem(item.key, item.value, config)) {
      complaints->push_back("'" + Printable(item.whole) + "' makes no sense, ignored");
    }
  }
}

Config ParseConfig(std::string_view text, std::vector<std::string>* complaints) {
  Config config;
  ApplyConfig(text, &config, complaints);
  return config;
}

const Config& GlobalConfig(bool report) {
  static std::vector<std::string>* complaints = new std::vector<std::string>;
  static const Config* config = [] {
    auto* made = new Config;
    for (const char* name : {"SIMCUDA_DEFAULTS", "SIMCUDA"}) {
      const char* text = std::getenv(name);
      if (text != nullptr) ApplyConfig(text, made, complaints);
    }
    return made;
  }();
  static std::atomic<bool> reported{false};
  if (report && !reported.exchange(true)) {
    for (const std::string& line : *complaints) {
      std::fprintf(stderr, "SIMCUDA: %s\n", line.c_str());
    }
  }
  return *config;
}

}  // namespace memprof::simcuda
