// Frames and call sites, and their text, for reports and windows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "analysis/symbols/cxx_names.h"
#include "analysis/symbols/libraries.h"

namespace memprof::analysis {

// A position in source code. `line` 0 = unknown; `file` empty = unknown.
struct SourceFrame {
  std::string function;  // demangled; "0x…" or "module+0x…" when nothing is known
  std::string file;
  int line = 0;
  std::string module;  // base name of the binary; "python" for Python frames
  bool python = false;
  bool inlined = false;  // this function was inlined into the next one
  bool symbolised = false;
  bool installed = false;  // the binary is a library of the system or of a Python package
  // Where in `file` the path from its package on begins, if an installer's list says that it is of
  // one; else 0.
  std::size_t package_at = 0;
  // Cached by Symbols for all stacks, which are many and deep.
  struct Found {
    bool plumbing = false;    // IsPlumbing(), plumbing.h
    std::uint32_t place = 0;  // numbers its function; of Python, its line of it
  };
  std::optional<Found> found;
  // The file as displayed: its name, with as many folders as needed to distinguish it from the
  // log's other files. Only for sites; else empty.
  std::string shown_file;
};

// The place of an allocation as displayed: "main (train.py:51), in forward (transformers/…)".
struct CallSite {
  // The nearest line of the user's own program; if there is none, the innermost one of a package,
  // or the most informative frame.
  SourceFrame user;
  // The line of a package or of a helper that the user's line called, if that allocated; no
  // function if the user's line did so itself.
  SourceFrame library;
  bool in_library() const { return !library.function.empty(); }
};
// Equal for two sites that are the same place, even if they are displayed differently.
std::string KeyOf(const CallSite& site);

// "train.cc:42": shown_file, else the file's name; the module if no file is known.
std::string PlaceText(const SourceFrame& frame);
// "Class::Step (train.cc:42)", or the known part of it.
std::string FrameText(const SourceFrame& frame, NameStyle style);
// "main (train.py:51), in forward (transformers/…/modeling_gpt2.py:123)".
std::string CallSiteText(const CallSite& site, NameStyle style);
// "NCCL for Step (train.cc:9)" if a library allocated for itself, or a framework on its behalf.
std::string WithLibrary(const Library& library, std::string place);

}  // namespace memprof::analysis
