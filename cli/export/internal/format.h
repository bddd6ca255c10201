// The formats of `memprof export`: one function each, in a file of its own; export.cc has the
// table.
#pragma once

#include <memory>
#include <string>

#include "analysis/store/session.h"
#include "cli/console/output_file.h"

namespace memprof::cli {

// The input and the options of an export.
struct ExportInput {
  std::shared_ptr<const analysis::Session> session;
  std::string table;          // of CSV: "allocations" or "events"
  std::string memory;         // of pprof: "used", "driver", "tensors" or "host"
  bool whole_stacks = false;  // of pprof: also the frames between site and allocation
};

// Each writes the whole log to `output`, which is open, and does not finish it. False after a
// failure, which was reported in one line.
bool ExportCsv(const ExportInput& input, OutputFile& output);
bool ExportPytorch(const ExportInput& input, OutputFile& output);
bool ExportSqlite(const ExportInput& input, OutputFile& output);  // to a file of its own only
bool ExportHtml(const ExportInput& input, OutputFile& output);
bool ExportPprof(const ExportInput& input, OutputFile& output);
bool ExportPerfetto(const ExportInput& input, OutputFile& output);

}  // namespace memprof::cli
