// From frames to functions, files and lines: reads symbol tables and DWARF of the modules that a
// log names, checks their build-ids, and demangles.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "analysis/libraries.h"
#include "analysis/session.h"

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
};

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

  // The frame a person would name as the place of the allocation (analysis/site_choice.h). Falls
  // back to the innermost frame; empty function for no stack. The first call looks at all stacks.
  SourceFrame Site(StackId stack);

  // The stack as one tells it: from the site outward, without libraries and allocators.
  std::vector<SourceFrame> SiteStack(StackId stack);

  // Which library asked for what was allocated there (analysis/libraries.h). The first call looks
  // at all allocations.
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
