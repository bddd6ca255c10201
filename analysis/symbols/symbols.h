// From frames to functions, files and lines: reads symbol tables and DWARF of the modules that a
// log names, checks their build-ids, and demangles.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/store/session.h"
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
  // What Symbols finds out of it once, for all stacks: stacks are many and deep.
  struct Found {
    bool plumbing = false;    // IsPlumbing(), plumbing.h
    std::uint32_t place = 0;  // numbers its function; of Python, its line of it
  };
  std::optional<Found> found;
  // How people tell its file: the name, with as many folders as needed to tell it from the others
  // of the log. Of sites only; empty otherwise.
  std::string shown_file;
};

// The place of an allocation as it is told: "main (train.py:51), in forward (transformers/…)".
struct UserSite {
  SourceFrame user;     // the nearest line of the user's own program; where there is none, the
                        // innermost one of a package, or what tells most
  SourceFrame library;  // the line of a package or of a helper that it called, where that
                        // allocated; no function where the user's line did so itself
  bool in_library() const { return !library.function.empty(); }
};
// Of two sites the same where they are the same place. What is shown of them may not be.
std::string KeyOf(const UserSite& site);

// Answers are cached. Thread-safe: one lock around the cache, and one for each module, whose DWARF
// can take seconds to open: what is known is answered meanwhile. Construction does nothing.
class Symbols {
 public:
  explicit Symbols(std::shared_ptr<const Session> session);
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // One frame, innermost inlined function first. Never empty.
  const std::vector<SourceFrame>& Resolve(FrameId frame);

  // A whole stack, innermost first, inlined frames expanded.
  std::vector<SourceFrame> ResolveStack(StackId stack);

  // The line of the user's that a person would name as the place of the allocation
  // (analysis/symbols/site_choice.h), and the library's line beside it. Falls back to the innermost
  // frame; empty function for no stack. The first call looks at all stacks.
  UserSite SiteOf(StackId stack);
  // Its user's line alone.
  SourceFrame Site(StackId stack);

  // The stack as one tells it: from the place outward where memory was asked for, be it a
  // library's, without plumbing.
  std::vector<SourceFrame> SiteStack(StackId stack);

  // Which library asked for what was allocated there (analysis/symbols/libraries.h). The first call
  // looks at all allocations.
  Library LibraryOf(StackId stack);

  // "function (file:line)", or what is known of it.
  static std::string Describe(const SourceFrame& frame);

  // Frames asked for so far that have no function name.
  std::uint64_t unsymbolised() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The anomalies of the session, and frames_unsymbolised, which only shows once every frame of the
// log was looked up; in the order of the table. The first call may take seconds.
std::vector<AnomalyCount> AllAnomalies(const Session& session, Symbols& symbols);

}  // namespace memprof::analysis
