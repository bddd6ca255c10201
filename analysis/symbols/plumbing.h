// Whose code a frame is: plumbing that no one looks at, a package that was installed, or the
// program's own.
#pragma once

#include <string>
#include <string_view>

#include "analysis/symbols/symbols.h"

namespace memprof::analysis {

// True for frames that by name, file or module can never be a site: CUDA's and frameworks'
// libraries and headers, standard libraries, allocators, and the interpreter between two lines of
// Python.
bool IsPlumbing(const SourceFrame& frame);
// A file of the agent that `memprof run --torch` puts into a program.
bool IsAgentFile(std::string_view file);

// What people install, and seldom write: Python packages, what was generated for them, and
// libraries in the system's folders.
bool IsPackage(const SourceFrame& frame);

// A line of Python. Frames of imported snapshots come as such though they are of C.
bool IsPythonCode(const SourceFrame& frame);

// "transformers/models/gpt2/modeling_gpt2.py": a package's file from its package on; any other as
// it is. With slashes, whatever the system.
std::string FileInPackage(std::string_view file);

}  // namespace memprof::analysis
