// memprof's JSON; documented in docs/json.md. Keys are written in the order in which they are set.
#pragma once

#include <cstddef>
#include <functional>
#include <nlohmann/json.hpp>
#include <string_view>

namespace memprof::cli {

using Json = nlohmann::ordered_json;

// Whole numbers as integers, all else as floating point.
Json Number(double value);

// Prints `json`, indented, with invalid UTF-8 replaced. Returns an exit status.
int PrintJson(const Json& json);

// Prints `head`, a non-empty object, with the list `key` at its end, whose rows are made and
// printed one by one. Otherwise as PrintJson.
int PrintJsonList(const Json& head, std::string_view key, std::size_t rows,
                  const std::function<Json(std::size_t)>& row);

}  // namespace memprof::cli
