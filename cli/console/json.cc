// Prints JSON.
#include "cli/console/json.h"

#include <cmath>

#include "cli/console/command_line.h"
#include "cli/console/controls.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {

Json Number(double value) {
  if (value == std::floor(value) && std::fabs(value) < 9e15) {
    return static_cast<std::int64_t>(value);
  }
  return value;
}

namespace {

std::string Dump(const Json& json) {
  return EscapeControls(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

}  // namespace

int PrintJson(const Json& json) { return WriteOut(Dump(json) + "\n") ? kExitFine : kExitFailed; }

int PrintJsonList(const Json& head, std::string_view key, std::size_t rows,
                  const std::function<Json(std::size_t)>& row) {
  if (rows == 0) {
    Json whole = head;
    whole[std::string(key)] = Json::array();
    return PrintJson(whole);
  }
  std::string text = Dump(head);
  text.resize(text.size() - 2);  // "\n}"
  Append(text, ",\n  \"", key, "\": [");
  for (std::size_t i = 0; i < rows; ++i) {
    text += i == 0 ? "\n    " : ",\n    ";
    for (const char c : Dump(row(i))) {
      text += c;
      if (c == '\n') text += "    ";  // strings have none
    }
    if (text.size() < kFlushBytes) continue;
    if (!WriteOut(text)) return kExitFailed;
    text.clear();
  }
  return WriteOut(text + "\n  ]\n}\n") ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
