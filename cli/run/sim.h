// What a program needs on the stand-in CUDA beyond it: a PyTorch or CuPy links against libraries
// (cuBLAS, cuDNN, NCCL, ...), for which scripts/torch-sim makes stand-ins that fit it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::cli {

// The program `word` as execvp finds it in a PATH; "" if it does not.
std::string FindProgram(const std::string& word, const std::string& search_path);

// The Python that `arguments` starts: the program itself, the interpreter of a script (torchrun),
// or what comes after a word such as env, nice or timeout. "" if it starts none that can be seen.
// `search_path` is a PATH.
std::string PythonOf(const std::vector<std::string>& arguments, const std::string& search_path);

// The programs among `arguments` that may link against CUDA's libraries: the first word as found in
// `search_path`, and every other one that is the path of a binary (of env, nice, mpirun).
std::vector<std::string> BinariesOf(const std::vector<std::string>& arguments,
                                    const std::string& search_path);

// Whether the binary, or a library that it loads, names one of CUDA's math or communication
// libraries (libcublas.so, ...).
bool NamesCudaLibraries(const std::string& binary);

// What is wrong with the gpu= of a --sim, in one line; "" if nothing is.
std::string WhyNoGpuModel(const std::string& spec);

// A name for the devices that all processes of this run share, as SIMCUDA's shared= takes it.
std::string NameOfSharedDevices();
// What processes of the group left behind, which is taken away: those that were killed cannot.
struct GroupRemains {
  bool static_runtime = false;  // one of them carried the toolkit's static runtime
};
GroupRemains ClearSharedDevices(const std::string& name);

// scripts/torch-sim, seen from the directory of the memprof program: of the source tree that a
// build tree is in, or of the installed prefix. "" if it is nowhere.
std::string FindTorchSim(const std::string& program_directory);

// What `output` of `torch-sim --environment` says to set: NAME=VALUE, each ended by a zero.
std::map<std::string, std::string> ParseEnvironment(const std::string& output);

// The environment in which `python` finds all that it links against, for a stand-in CUDA in
// `standin`; empty if it links against nothing of the kind. The first call for a Python compiles
// for some seconds, and says so on standard error.
absl::StatusOr<std::map<std::string, std::string>> EnvironmentForPython(
    const std::string& torch_sim, const std::string& python, const std::string& standin);

// The same for binaries.
absl::StatusOr<std::map<std::string, std::string>> EnvironmentForBinaries(
    const std::string& torch_sim, const std::vector<std::string>& binaries,
    const std::string& standin);

}  // namespace memprof::cli
