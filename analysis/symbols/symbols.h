// From frames to functions, files and lines: reads symbol tables and DWARF of the modules that a
// log names, checks their build-ids, and demangles.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/call_site.h"
#include "analysis/symbols/libraries.h"

namespace memprof::analysis {

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
  CallSite SiteOf(StackId stack);
  // Its user's line alone.
  SourceFrame Site(StackId stack);

  // The frame that called the site; empty function where it is not known.
  SourceFrame CallerOf(StackId stack);

  // The stack as one tells it: from the place outward where memory was asked for, be it a
  // library's, without plumbing.
  std::vector<SourceFrame> SiteStack(StackId stack);

  // Which library asked for what was allocated there (analysis/symbols/libraries.h). The first call
  // looks at all allocations.
  Library LibraryOf(StackId stack);

  // FrameText() of all of the name.
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
