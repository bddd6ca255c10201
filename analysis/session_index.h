// What a session is asked for again and again, worked out once when all its events are there.
// Internal to analysis/.
#pragma once

#include "analysis/session.h"

namespace memprof::analysis {

// Fills a session's children, marks, other deaths and checkpoints. O(events + allocations), and a
// sort of marks and of other deaths.
class SessionIndexer {
 public:
  explicit SessionIndexer(Session* session) : session_(*session) {}
  void Index();
  // Once all else is done: where the steps come from. `finder` is asked if none was marked.
  void FindSteps(const StepFinder& finder);

 private:
  void IndexChildren();
  void IndexMarks();
  void IndexDeaths();
  void CopyLiveColumns();
  void WriteCheckpoints();

  Session& session_;
};

}  // namespace memprof::analysis
