// JSON with a list that may be long.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

#include "cli/json.h"

namespace memprof::cli {

// Prints `head`, an object with something in it, with the list `key` at its end, which is made and
// printed row by row. Otherwise as PrintJson.
int PrintJsonList(const Json& head, std::string_view key, std::size_t rows,
                  const std::function<Json(std::size_t)>& row);

}  // namespace memprof::cli
