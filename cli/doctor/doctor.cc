// The options, the list of checks, and their results as text and JSON.
#include "cli/doctor/doctor.h"

#include <algorithm>

#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/lines.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/doctor/internal/report.h"

namespace memprof::cli {
namespace doctor {
namespace {

constexpr std::string_view kStates[] = {"ok", "note", "problem"};
constexpr Style kStyles[] = {Style::kGreen, Style::kYellow, Style::kRed};
constexpr std::size_t kStateColumns = 9, kSubjectColumns = 15;

std::size_t Index(State state) { return static_cast<std::size_t>(state); }

bool Has(const std::vector<Row>& rows, State state) {
  return std::any_of(rows.begin(), rows.end(), [&](const Row& row) { return row.state == state; });
}

std::string Padding(std::string_view text, std::size_t columns) {
  return std::string(columns - std::min(columns, Columns(text)), ' ');
}

std::string Block(const std::string& text) {
  constexpr std::size_t kIndent = kStateColumns + kSubjectColumns;
  std::string lines = Wrap(Printable(text), kWidth - kIndent, 0);
  for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += kIndent)
    lines.insert(++at, kIndent, ' ');
  return lines + "\n";
}

}  // namespace

std::vector<Row> Examine(const Machine& machine, const std::string& python_name,
                         const std::vector<std::string>& program) {
  const Installation installation = FindInstallation(machine);
  const Python python = FindPython(machine, installation, python_name);
  std::vector<Row> rows = {ArchitectureRow(machine),
                           KernelRow(machine),
                           LibcRow(machine, installation),
                           SharedMemoryRow(machine),
                           LimitsRow(machine),
                           PtraceRow(machine),
                           RecorderRow(machine, installation),
                           TrialRow(machine, installation),
                           PreloadRow(machine),
                           DriverRow(machine),
                           DevicesRow(machine),
                           RuntimesRow(machine, python.folders),
                           CuptiRow(machine, installation, python.folders),
                           python.row,
                           TorchRow(machine, python),
                           AgentRow(machine),
                           StandInRow(machine),
                           ViewerRow(machine)};
  if (!program.empty()) rows.push_back(ProgramRow(machine, installation, program));
  return rows;
}

bool CanRecord(const std::vector<Row>& rows) { return !Has(rows, State::kProblem); }

std::string Text(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    const std::string_view state = kStates[Index(row.state)];
    Append(text, Styled(kStyles[Index(row.state)], state), Padding(state, kStateColumns),
           row.subject, Padding(row.subject, kSubjectColumns), Block(row.found));
    if (!row.remedy.empty())
      Append(text, std::string(kStateColumns + kSubjectColumns, ' '), Block("→ " + row.remedy));
  }
  const char* result = "\nPrograms can be recorded here.\n";
  if (Has(rows, State::kNote)) result = "\nPrograms can be recorded here; see the notes.\n";
  if (!CanRecord(rows)) result = "\nRecording would fail: see each problem.\n";
  return text + result;
}

Json ReportJson(const std::vector<Row>& rows) {
  Json json = {{"schema", "memprof.doctor/1"}, {"can_record", CanRecord(rows)}};
  json["checks"] = Json::array();
  for (const Row& row : rows)
    json["checks"].push_back({{"subject", row.subject},
                              {"state", std::string(kStates[Index(row.state)])},
                              {"found", row.found},
                              {"remedy", row.remedy}});
  return json;
}

}  // namespace doctor

int DoctorVerb(int argc, char** argv) {
  bool json = false;
  std::string python;
  Options options(
      "doctor [OPTION...] [-- PROGRAM [ARGUMENT...]]",
      "Shows what this machine allows memprof to record, and what to do about the rest: the C "
      "library, the recorder and a trial of it, the driver, CUDA's libraries, Python and PyTorch, "
      "shared memory, limits. With PROGRAM, also whether that can be recorded; it is not started. "
      "The exit status is 0 if programs can be recorded, on a GPU or on the stand-in, else 1.");
  options.Flag("json", &json, "Print one JSON object (schema memprof.doctor/1).");
  options.Text("python", &python, "PYTHON",
               "The Python whose PyTorch is looked for. Default: python3 on PATH. It is started, "
               "but imports nothing.");
  options.Example("memprof doctor", "Check this machine.");
  options.Example("memprof doctor -- ./train --steps 50", "Check a program as well.");
  options.Example("memprof doctor --python=venv/bin/python", "With the PyTorch of an environment.");
  options.Example("memprof doctor --json | jq '.checks[] | select(.state != \"ok\")'",
                  "What is not as it should be.");
  if (const int status = ParseOrExit(options, "doctor", argc, argv); status >= 0) return status;
  const std::vector<doctor::Row> rows =
      doctor::Examine(doctor::ThisMachine(), python, options.arguments());
  const bool written =
      json ? PrintJson(doctor::ReportJson(rows)) == kExitFine : WriteOut(doctor::Text(rows));
  return written && doctor::CanRecord(rows) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
