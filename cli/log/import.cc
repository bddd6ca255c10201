// memprof import: another tool's recording as a memprof log.
#include <string>
#include <string_view>

#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "analysis/interchange/import_file.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/output_file.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/log/log.h"

namespace memprof::cli {
namespace {

using analysis::FormatNumberOf;

// Notes on the input that limit how far its figures can be trusted.
void PrintNotes(const std::string& path, const analysis::ImportSummary& summary) {
  if (summary.segments_before + summary.blocks_before > 0) {
    PrintNote(Cat(path, ": the trace begins when ",
                  FormatNumberOf(summary.segments_before, "segment"), " and ",
                  FormatNumberOf(summary.blocks_before, "block"), " were there already",
                  summary.overflowed ? " (its ring had overflowed: raise max_entries)"
                                     : " (its ring had overflowed, or it was switched on late)"));
  }
  if (summary.contradictions > 0) {
    PrintNote(Cat(path, ": trace and final state contradict each other in ",
                  FormatNumberOf(summary.contradictions, "place"), "; the state was used"));
  }
  if (summary.unknown_actions > 0) {
    PrintNote(Cat(path, ": left out ", FormatNumberOf(summary.unknown_actions, "action"),
                  " of a kind that this version does not know"));
  }
}

}  // namespace

int ImportVerb(int argc, char** argv) {
  std::string path;
  bool force = false;
  Options options("import [OPTION...] -o LOG FILE",
                  "Writes another tool's recording as a memprof log, which every verb and the "
                  "viewer then read. FILE is a memory snapshot of PyTorch (the pickle that "
                  "torch.cuda.memory._dump_snapshot() writes; nothing in it is ever run) or a CSV "
                  "file of RMM's logging resource adaptor; the kind is detected from the "
                  "contents.");
  options.Text("output", &path, "LOG", "Where to write the log.", 'o');
  options.Flag("force", &force, "Overwrite LOG if it exists.");
  options.Example("memprof import -o train.mprof snapshot.pickle", "From PyTorch.");
  options.Example("memprof import -o rmm.mprof rmm_log.dev0.csv", "From RMM, device 0.");
  if (const int status = ParseOrExit(options, "import", argc, argv); status >= 0) return status;
  if (options.arguments().size() != 1)
    return UsageError("import", options.arguments().empty()
                                    ? "no input file: name the recording to read"
                                    : "more than one input file");
  if (path.empty()) return UsageError("import", "no output file: name it with -o LOG");
  const std::string& input = options.arguments()[0];
  OutputFile output;
  if (!output.Open(path, force, {input})) return kExitFailed;
  bool written = true;
  const auto summary =
      analysis::ImportFile(input, MEMPROF_VERSION, [&output, &written](std::string_view piece) {
        return written = written && output.Write(piece);
      });
  if (!summary.ok()) {
    if (written) PrintError(analysis::StatusText(summary.status()));  // else it was printed
    return kExitFailed;
  }
  if (!output.Finish()) return kExitFailed;
  PrintNotes(input, *summary);
  return kExitFine;
}

}  // namespace memprof::cli
