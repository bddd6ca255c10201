// Resolves frames to functions, files and lines: reads symbol tables and DWARF of the modules that
// a log names, checks their build-ids, and demangles.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/call_site.h"
#include "analysis/symbols/libraries.h"

namespace memprof::analysis {

// Has a cache. Thread-safe: one lock for the cache, and one for each module, whose DWARF can take
// seconds to open; cached frames are returned meanwhile. Construction does nothing.
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

  // The user's line that is the place of the allocation (analysis/symbols/site_choice.h), and the
  // library's line beside it. Else the innermost frame; an empty function for no stack. The first
  // call reads all stacks.
  CallSite SiteOf(StackId stack);
  // Only the user's line.
  SourceFrame Site(StackId stack);

  // The frame that called the site; an empty function if it is not known.
  SourceFrame CallerOf(StackId stack);

  // The stack as displayed: from the place of the allocation, which may be a library's, outward,
  // without plumbing.
  std::vector<SourceFrame> SiteStack(StackId stack);

  // The library that allocated (analysis/symbols/libraries.h). The first call reads all
  // allocations.
  Library LibraryOf(StackId stack);

  // FrameText() with the whole name.
  static std::string Describe(const SourceFrame& frame);

  // The number of frames queried so far that have no function name.
  std::uint64_t unsymbolised() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

// The anomalies of the session, and frames_unsymbolised, which is only known once every frame of
// the log was looked up; in the order of the table. The first call may take seconds.
std::vector<AnomalyCount> AllAnomalies(const Session& session, Symbols& symbols);

}  // namespace memprof::analysis
