// memprof export: a log in other tools' formats.
#include "cli/export/export.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/output_file.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"
#include "cli/shared/losses.h"
#include "cli/shared/open_log.h"
#include "cli/shared/sampling_lines.h"

namespace memprof::cli {
namespace {

struct Format {
  std::string name;
  bool (*write)(const ExportInput& input, OutputFile& output);
  bool to_standard_output;
  std::string example, effect;  // for the help
};

// One row per format, in the order of the help.
const std::vector<Format>& Formats() {
  static const std::vector<Format> formats = {
      {"csv", ExportCsv, true, "memprof export --to csv -o train.csv train.mprof",
       "One row per allocation."},
      {"pytorch", ExportPytorch, true, "memprof export --to pytorch -o train.pickle train.mprof",
       "A snapshot for pytorch.org/memory_viz."},
      {"sqlite", ExportSqlite, false, "memprof export --to sqlite -o train.db train.mprof",
       "A database with tables and ready-made views."},
      {"html", ExportHtml, true, "memprof export --to html -o train.html train.mprof",
       "The report as one page that needs nothing else."},
      {"pprof", ExportPprof, true, "memprof export --to pprof -o train.pb.gz train.mprof",
       "Bytes by call stack, for 'go tool pprof'."},
      {"perfetto", ExportPerfetto, true,
       "memprof export --to perfetto -o train.pftrace train.mprof", "A trace for ui.perfetto.dev."},
  };
  return formats;
}

}  // namespace

int ExportVerb(int argc, char** argv) {
  std::string to = "csv", path;
  ExportInput input;
  input.table = "allocations";
  input.memory = "used";
  bool force = false;
  Options options("export [OPTION...] -o FILE LOG...",
                  "Writes a log in another format: rows for spreadsheets (csv), a database with "
                  "ready-made views (sqlite), the report as one page (html), bytes by call stack "
                  "(pprof), a timeline (perfetto), a memory snapshot (pytorch). docs/export.md "
                  "describes each.");
  std::vector<std::string> names;
  for (const Format& format : Formats()) names.push_back(format.name);
  options.Choice("to", &to, names, "The format (default csv).");
  options.Choice("format", &to, names, "The same as --to.");
  options.Choice("table", &input.table, {"allocations", "events"},
                 "What the rows of CSV are (default allocations).");
  options.Choice("memory", &input.memory, {"used", "driver", "tensors", "host"},
                 "What pprof counts: memory in use (default: blocks of a framework's allocator, "
                 "and driver memory that is none of its segments), all that the driver allocated, "
                 "tensors, or page-locked host memory.");
  options.Flag("whole-stacks", &input.whole_stacks,
               "Stacks of pprof begin in the allocator, not at the user's call site.");
  options.Text("output", &path, "FILE", "Where to write; '-' is standard output.", 'o');
  options.Flag("force", &force, "Overwrite FILE if it exists.");
  for (const Format& format : Formats()) options.Example(format.example, format.effect);
  options.Example("memprof export --table=events -o - train.mprof | head", "The first events.");
  if (const int status = ParseOrExit(options, "export", argc, argv); status >= 0) return status;
  if (path.empty())
    return UsageError("export", "no output file: name it with -o FILE ('-' is standard output)");
  const auto format = std::find_if(Formats().begin(), Formats().end(),
                                   [&to](const Format& f) { return f.name == to; });
  if (path == "-" && !format->to_standard_output)
    return UsageError(
        "export", Cat("--to=", to, " cannot be written to standard output; name a file with -o"));
  int status = kExitFine;
  // A report says what no rows say.
  input.session = to == "html" ? OpenWholeLogs(options, "export --to=html", &status)
                               : OpenLogs(options, "export", &status);
  if (!input.session) return status;
  if (to != "html") NoteSampling(*input.session);
  std::vector<std::string> logs;
  for (const analysis::ProcessInfo& process : input.session->processes())
    logs.push_back(process.path);
  OutputFile output;
  if (!output.Open(path, force, logs)) return kExitFailed;
  return format->write(input, output) && output.Finish() ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
