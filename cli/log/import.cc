// memprof import: another tool's recording as a memprof log.
#include "analysis/interchange/import.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>

#include "analysis/base/status_text.h"
#include "analysis/base/text.h"
#include "analysis/base/units.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/output_file.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/log/log.h"

namespace memprof::cli {
namespace {

using analysis::FormatNumberOf;

// Larger files are refused as a mistake: their content would not fit into memory.
constexpr std::size_t kMaxInput = std::size_t{16} << 30;

bool ReadInput(const std::string& path, std::string* bytes) {
  const auto fail = [&path](std::string_view why) {
    PrintError(Cat(path, ": ", why));
    return false;
  };
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(std::strerror(errno != 0 ? errno : ENOENT));
  std::string piece(std::size_t{1} << 20, '\0');
  do {
    errno = 0;
    file.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    bytes->append(piece.data(), static_cast<std::size_t>(file.gcount()));
    if (bytes->size() > kMaxInput) return fail("larger than 16 GiB");
  } while (file);
  return !file.bad() || fail(std::strerror(errno != 0 ? errno : EIO));
}

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
  std::string bytes;
  if (!ReadInput(input, &bytes)) return kExitFailed;
  OutputFile output;
  if (!output.Open(path, force, {input})) return kExitFailed;
  analysis::LogWriter log([&output](std::string_view piece) { return output.Write(piece); });
  log.header().set_recorder_version(MEMPROF_VERSION);
  const auto summary = analysis::Import(bytes, std::string(analysis::BaseName(input)), &log);
  if (!summary.ok()) {
    const std::string message = analysis::StatusText(summary.status());
    const bool place = message.starts_with("at ") || message.starts_with("line ");
    PrintError(Cat(input, place ? ": " : " ", message));
    return kExitFailed;
  }
  if (!log.Finish(summary->end_time_ns, "exit") || !output.Finish()) return kExitFailed;
  PrintNotes(input, *summary);
  return kExitFine;
}

}  // namespace memprof::cli
