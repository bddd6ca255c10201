// Classifies frames: plumbing, an installed package, or the program's own code.
#pragma once

#include <string>
#include <string_view>

#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// Whether the frame can, by name, file or module, never be a site: CUDA's and frameworks' libraries
// and headers, standard libraries, allocators, and the interpreter's frames between two Python
// lines.
bool IsPlumbing(const SourceFrame& frame);
// The same by the name of a binary: "libtorch_cpu.so", "python3.11".
bool IsPlumbingModule(std::string_view module);
// A file of the agent that `memprof run --torch` puts into a program.
bool IsAgentFile(std::string_view file);

// Installed code: Python packages, files generated for them, and libraries in the system's folders.
bool IsPackage(const SourceFrame& frame);

// A Python line. Frames of imported snapshots count as such even if they are of C.
bool IsPythonCode(const SourceFrame& frame);

// "transformers/models/gpt2/modeling_gpt2.py": the path of a package's file from its package on;
// other paths unchanged. With slashes on every system.
std::string FileInPackage(const SourceFrame& frame);

}  // namespace memprof::analysis
