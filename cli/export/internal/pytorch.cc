// memprof export --to=pytorch: a memory snapshot for pytorch.org/memory_viz.
#include "analysis/base/units.h"
#include "analysis/interchange/torch_export.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/export/internal/format.h"

namespace memprof::cli {

bool ExportPytorch(const ExportInput& input, OutputFile& output) {
  analysis::Symbols symbols(input.session);
  analysis::TorchExportSummary summary;
  const bool written = analysis::ExportTorchSnapshot(
      *input.session, symbols, [&output](std::string_view bytes) { return output.Write(bytes); },
      &summary);
  if (written && summary.left_out > 0) {
    PrintNote(Cat(input.session->path(), ": left out ",
                  analysis::FormatNumberOf(summary.left_out, "driver allocation"),
                  " without an address of its own (arrays, VMM memory)"));
  }
  return written;
}

}  // namespace memprof::cli
