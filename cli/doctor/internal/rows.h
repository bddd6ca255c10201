// The checks: each looks at one subject, and says what it found.
#pragma once

#include <string>
#include <vector>

#include "cli/doctor/internal/machine.h"

namespace memprof::cli::doctor {

enum class State {
  kOk,
  kNote,     // programs are recorded, but something is missing or limited
  kProblem,  // programs cannot be recorded
};

struct Row {
  std::string subject;
  State state = State::kOk;
  std::string found;
  std::string remedy;  // what to do; "" if ok
};

// The parts of memprof, as installed around its program; "" = not there.
struct Installation {
  std::string recorder;    // path of libmemprof.so, below the root
  std::string why_absent;  // a sentence
};
Installation FindInstallation(const Machine& machine);

// The machine.
Row ArchitectureRow(const Machine& machine);
Row KernelRow(const Machine& machine);
Row LibcRow(const Machine& machine, const Installation& installation);
Row SharedMemoryRow(const Machine& machine);
Row LimitsRow(const Machine& machine);
Row PtraceRow(const Machine& machine);

// memprof.
Row RecorderRow(const Machine& machine, const Installation& installation);
Row TrialRow(const Machine& machine, const Installation& installation);
Row PreloadRow(const Machine& machine);
Row StandInRow(const Machine& machine);
Row AgentRow(const Machine& machine);
Row ViewerRow(const Machine& machine);
Row ProgramRow(const Machine& machine, const Installation& installation,
               const std::vector<std::string>& program);

// CUDA. `python_folders` are those in which Python searches modules.
Row DriverRow(const Machine& machine);
Row DevicesRow(const Machine& machine);
Row RuntimesRow(const Machine& machine, const std::vector<std::string>& python_folders);
Row CuptiRow(const Machine& machine, const Installation& installation,
             const std::vector<std::string>& python_folders);

// Python.
struct Python {
  Row row;
  std::vector<std::string> folders;
};
// `named` is a path or a name; "" for the first one on PATH.
Python FindPython(const Machine& machine, const Installation& installation,
                  const std::string& named);
Row TorchRow(const Machine& machine, const Python& python);

}  // namespace memprof::cli::doctor
