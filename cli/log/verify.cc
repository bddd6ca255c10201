// memprof verify: whether a log is sound, chunk by chunk.
#include "analysis/load/verify.h"

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/options.h"
#include "cli/console/table.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/log/log.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::FormatCount;
using analysis::VerifyResult;

Json ToJson(const std::string& path, const VerifyResult& result) {
  Json kinds = Json::array();
  for (const analysis::ChunkKindCount& kind : result.kinds) {
    kinds.push_back({{"kind", kind.kind},
                     {"name", kind.name},
                     {"chunks", kind.chunks},
                     {"stored_bytes", kind.stored_bytes},
                     {"raw_bytes", kind.raw_bytes}});
  }
  Json json = {{"schema", "memprof.verify/1"},    {"log", path},
               {"sound", result.sound()},         {"complete", result.complete},
               {"has_index", result.has_index},   {"format_version", result.format_version},
               {"file_bytes", result.file_bytes}, {"events", result.events},
               {"chunks", std::move(kinds)},      {"problems", result.problems}};
  if (result.always_on) json["segment"] = result.segment;
  return json;
}

std::string ToText(const std::string& path, const VerifyResult& result) {
  std::string text =
      Cat(Printable(path), ": format version ", result.format_version, ", ",
          FormatBytes(result.file_bytes), ", ", analysis::FormatNumberOf(result.events, "event"),
          ", ", result.complete ? "closed cleanly" : "not closed",
          result.has_index ? ", with an index" : ", without an index", "\n");
  if (result.always_on) Append(text, "Always on, segment ", result.segment, ".\n");
  Table table({Align::kLeft, Align::kRight, Align::kRight, Align::kRight});
  table.Header({"chunks", "count", "stored", "raw"});
  for (const analysis::ChunkKindCount& kind : result.kinds) {
    table.Row({Printable(kind.name), FormatCount(kind.chunks), FormatBytes(kind.stored_bytes),
               FormatBytes(kind.raw_bytes)});
  }
  Append(text, table.Text());
  for (const std::string& problem : result.problems) {
    Append(text, Styled(Style::kRed, "  problem: "), Printable(problem), "\n");
  }
  if (result.sound()) Append(text, Styled(Style::kGreen, "  sound"), "\n");
  return text;
}

}  // namespace

int VerifyVerb(int argc, char** argv) {
  bool json = false;
  Options options("verify [OPTION...] LOG...",
                  "Reads every chunk of a log and checks checksums, references, trailer and index. "
                  "The exit status is 1 if anything is wrong. A log that was not closed, because "
                  "the program was killed, can still be sound.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.verify/1); one log only.");
  options.Example("memprof verify train.mprof", "Check a log that was copied from elsewhere.");
  if (const int status = ParseOrExit(options, "verify", argc, argv); status >= 0) return status;
  const std::vector<std::string>& logs = options.arguments();
  if (logs.empty()) return UsageError("verify", "which log? Name a file made by 'memprof run'");
  if (json && logs.size() > 1) return UsageError("verify", "--json takes one log at a time");
  int status = kExitFine;
  for (const std::string& log : logs) {
    const auto result = analysis::VerifyLog(log);
    if (!result.ok()) {
      PrintError(analysis::StatusText(result.status()));
      status = kExitFailed;
      continue;
    }
    const bool written =
        json ? PrintJson(ToJson(log, *result)) == kExitFine : WriteOut(ToText(log, *result));
    if (!result->sound()) {
      PrintError(Cat(log, ": ", analysis::FormatNumberOf(result->problems.size(), "problem"),
                     "; the first: ", result->problems.front()));
    }
    if (!written || !result->sound()) status = kExitFailed;
  }
  return status;
}

}  // namespace memprof::cli
