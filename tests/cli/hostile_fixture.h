// The verbs that read logs, and their arguments.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli::testing {

// `verb` may have an option: "export html".
inline std::vector<std::string> Arguments(const std::string& verb, const std::string& log) {
  if (verb.starts_with("export ")) return {"export", "--to", verb.substr(7), "-o", "-", log};
  if (verb == "fleet rows") return {"fleet", "rows", log};
  if (verb == "diff") return {verb, log, log};
  return {verb, log};
}

inline const std::string kVerbs[] = {
    "report",     "leaks",         "steps",        "categories",      "source",         "peak",
    "advise",     "fragmentation", "oom",          "replay",          "diff",           "dump",
    "export csv", "export html",   "export pprof", "export perfetto", "export pytorch", "verify",
    "fleet rows", "budget",        "top"};

}  // namespace memprof::cli::testing
