// The shapes of each verb's JSON according to docs/json.md, and how they are checked.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "tests/cli/cli_test_support.h"

namespace memprof::cli::testing {

// Whether a value matches a leaf of a shape. Bytes and ids are "uint", steps and devices "int".
inline bool IsOfType(const Json& value, const std::string& type) {
  if (type == "uint") return value.is_number_unsigned();
  if (type == "int") return value.is_number_integer();
  if (type == "number") return value.is_number();
  if (type == "bool") return value.is_boolean();
  if (type == "string") return value.is_string();
  if (type == "text") return value.is_string() && !value.get<std::string>().empty();
  if (type == "hex") {
    const std::string text = value.is_string() ? value.get<std::string>() : "";
    return text.starts_with("0x") &&
           text.find_first_not_of("0123456789abcdef", 2) == std::string::npos;
  }
  if (type == "counts") {  // an object from layers to counts
    for (const auto& [key, count] : value.items())
      if (!count.is_number_unsigned()) return false;
    return value.is_object();
  }
  ADD_FAILURE() << "no such type: " << type;
  return false;
}

// `shape` is an object of keys (a key that ends in '?' may be absent), an array with one element
// that describes all elements, or a leaf. `seen` receives the paths of all elements and optional
// keys that occurred.
inline void ExpectShape(const Json& value, const Json& shape, const std::string& path,
                        std::set<std::string>* seen) {
  seen->insert(path);
  if (shape.is_string()) {
    EXPECT_TRUE(IsOfType(value, shape)) << path << " is no " << shape << ": " << value;
  } else if (shape.is_array()) {
    ASSERT_TRUE(value.is_array()) << path;
    for (const Json& element : value) ExpectShape(element, shape[0], path + "[]", seen);
  } else {
    ASSERT_TRUE(value.is_object()) << path;
    for (auto [key, part] : shape.items()) {
      const bool optional = key.ends_with('?');
      const std::string name = optional ? key.substr(0, key.size() - 1) : key;
      EXPECT_TRUE(optional || value.contains(name)) << path << "." << name << " is missing";
      if (value.contains(name)) ExpectShape(value[name], part, path + "." + name, seen);
    }
    for (const auto& [key, part] : value.items())
      EXPECT_TRUE(shape.contains(key) || shape.contains(key + "?"))
          << path << "." << key << " is not documented";
  }
}

inline Json Frame() {
  return {{"function", "text"},
          {"file", "string"},
          {"line", "int"},
          {"module", "string"},
          {"inlined?", "bool"}};
}

inline Json MarkShape() {
  return {{"op", "text"},    {"time_ns", "uint"}, {"address", "hex"},
          {"bytes", "uint"}, {"device?", "int"},  {"advice?", "uint"}};
}

inline Json AllocationShape() {
  return {{"address", "hex"},    {"bytes", "uint"},         {"layer", "text"},
          {"birth_step", "int"}, {"birth_time_ns", "uint"}, {"name?", "string"},
          {"dtype?", "string"},  {"shape?", {"uint"}},      {"marks?", {MarkShape()}}};
}

inline Json With(Json shape, const Json& more) {
  shape.update(more);
  return shape;
}

inline Json CategoryShape() {
  return {{"category", "text"}, {"bytes", "uint"}, {"blocks", "uint"}, {"confidence", "number"}};
}

inline Json LibraryShape() {
  return {{"library", "string"},
          {"role", "text"},
          {"of", "text"},
          {"bytes", "uint"},
          {"blocks", "uint"}};
}

inline Json PeakShape() {
  const Json piece = With(AllocationShape(), {{"site", "text"}});
  return {
      {"device", "int"},
      {"bytes", "uint"},
      {"time_ns", "uint"},
      {"step", "int"},
      {"by_layer", "counts"},
      {"sites", {{{"bytes", "uint"}, {"blocks", "uint"}, {"site", "text"}, {"stack", {Frame()}}}}},
      {"sites_total", "uint"},
      {"tensors", {piece}},
      {"tensors_total", "uint"},
      {"blocks", {piece}},
      {"blocks_total", "uint"},
      {"garbage_bytes?", "uint"},
      {"by_category", {CategoryShape()}},
      {"by_library", {LibraryShape()}}};
}

inline Json Fragmentation() {
  const Json pin = With(AllocationShape(), {{"frees_bytes", "uint"},
                                            {"blame", "number"},
                                            {"empties_segment", "bool"},
                                            {"unused_since_ns", "uint"},
                                            {"tensor?", "string"},
                                            {"site", "text"},
                                            {"stack", {Frame()}}});
  const Json pool = {{"device", "int"},
                     {"stream", "hex"},
                     {"private_pool", "hex"},
                     {"small_blocks", "bool"},
                     {"segments", "uint"},
                     {"blocks", "uint"},
                     {"reserved_bytes", "uint"},
                     {"allocated_bytes", "uint"},
                     {"free_bytes", "uint"},
                     {"largest_hole_bytes", "uint"},
                     {"rounding_bytes", "uint"},
                     {"releasable_bytes", "uint"},
                     {"unusable_bytes", "uint"},
                     {"external", "number"},
                     {"sum_of_squares", "number"},
                     {"request_relative", "number"},
                     {"pinned_bytes", "uint"},
                     {"hole_count", "uint"},
                     {"holes",
                      {{{"address", "hex"},
                        {"bytes", "uint"},
                        {"since_time_ns", "uint"},
                        {"since_step", "int"},
                        {"before?", "hex"},
                        {"after?", "hex"}}}},
                     {"pins", {pin}}};
  const Json waiting = {
      {"device", "int"},
      {"exact", "bool"},
      {"most_bytes", "uint"},
      {"most_blocks", "uint"},
      {"time_ns", "uint"},
      {"step", "int"},
      {"reserved_bytes", "uint"},
      {"peak_active_bytes", "uint"},
      {"used_blocks", "uint"},
      {"used_bytes", "uint"},
      {"sites", {{{"blocks", "uint"}, {"bytes", "uint"}, {"site", "text"}, {"stack", {Frame()}}}}}};
  return {{"time_ns", "uint"},          {"step", "int"},
          {"utilisation", "number"},    {"at_peak", "number"},
          {"pools_left_out", "number"}, {"pools", {pool}},
          {"waiting?", {waiting}}};
}

inline Json Common() {
  return {{"schema", "text"}, {"log", "text"}, {"complete", "bool"}, {"simulated", "bool"}};
}

inline Json StepOrigin() {
  return {
      {"source", "text"}, {"confidence", "number"}, {"warm_up_steps", "uint"}, {"why", "string"}};
}

// The paths that occurred in the output of `arguments` on all logs.
inline std::set<std::string> Check(std::vector<std::string> arguments, const Json& shape) {
  const Logs logs;
  std::set<std::string> seen;
  for (const std::string log : {"train.mprof", "raw.mprof", "shared.mprof"}) {
    SCOPED_TRACE(arguments[0] + " " + log);
    arguments.push_back(log);
    const Result result = Memprof(arguments, logs.path());
    arguments.pop_back();
    EXPECT_EQ(result.status, 0) << result.err;
    const bool lines = arguments[0] == "dump";
    for (std::size_t at = 0; at < result.out.size();) {
      const std::size_t end = lines ? result.out.find('\n', at) : result.out.size();
      const Json json = Json::parse(result.out.substr(at, end - at), nullptr, false);
      EXPECT_FALSE(json.is_discarded());
      if (json.is_discarded()) break;
      ExpectShape(json, shape, "", &seen);
      at = end + 1;
    }
  }
  return seen;
}

}  // namespace memprof::cli::testing
