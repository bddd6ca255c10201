// What a program on the stand-in CUDA needs beyond it: PyTorch and CuPy link against libraries
// (cuBLAS, cuDNN, NCCL, ...), for which scripts/torch-sim makes stand-ins.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::cli {

// The path of the program `word`, as execvp finds it in a PATH; "" if it does not.
std::string FindProgram(const std::string& word, const std::string& search_path);

// The Python that `arguments` start: the program itself, the interpreter of a script (torchrun), or
// what follows a word such as env, nice or timeout. "" if there is none. `search_path` is a PATH.
std::string PythonOf(const std::vector<std::string>& arguments, const std::string& search_path);

// The programs among `arguments` that may link against CUDA's libraries: the first word as found in
// `search_path`, and every other word that is the path of a binary (after env, nice, mpirun).
std::vector<std::string> BinariesOf(const std::vector<std::string>& arguments,
                                    const std::string& search_path);

// Whether the binary, or a library that it loads, names one of CUDA's math or communication
// libraries (libcublas.so, ...).
bool NamesCudaLibraries(const std::string& binary);

// The error in the gpu= of a --sim, in one line; "" if there is none.
std::string WhyNoGpuModel(const std::string& spec);

// A name for devices that all processes of this run share, as SIMCUDA's shared= takes it.
std::string NameOfSharedDevices();
// What ClearSharedDevices found. It removes the files of the group, because processes that were
// killed could not do so.
struct GroupRemains {
  bool static_runtime = false;  // one of them contained the toolkit's static runtime
};
GroupRemains ClearSharedDevices(const std::string& name);

// scripts/torch-sim, found from the directory of the memprof program: in the source tree of a build
// tree, or in the installed prefix. "" if it is in neither.
std::string FindTorchSim(const std::string& program_directory);

// The variables in `output` of `torch-sim --environment`: NAME=VALUE, each ended by a zero.
std::map<std::string, std::string> ParseEnvironment(const std::string& output);

// The environment in which `python` finds all libraries that it links against, for the stand-in
// CUDA in `standin`; empty if it links against none of them. The first call for a Python makes
// them, and reports that on standard error.
absl::StatusOr<std::map<std::string, std::string>> EnvironmentForPython(
    const std::string& torch_sim, const std::string& python, const std::string& standin);

// The same for binaries.
absl::StatusOr<std::map<std::string, std::string>> EnvironmentForBinaries(
    const std::string& torch_sim, const std::vector<std::string>& binaries,
    const std::string& standin);

}  // namespace memprof::cli
