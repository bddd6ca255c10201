// Indices of a session, built when all its events are there.
#pragma once

#include "analysis/store/session.h"

namespace memprof::analysis {

// Builds a session's children, marks, other deaths and checkpoints. O(events + allocations), and a
// sort of marks and of other deaths.
class SessionIndexer {
 public:
  explicit SessionIndexer(Session* session) : session_(*session), data_(session->data_) {}
  void Index();

 private:
  void IndexChildren();
  void IndexMarks();
  void IndexDeaths();
  void CopyLiveColumns();
  void WriteCheckpoints();

  const Session& session_;
  SessionData& data_;
};

}  // namespace memprof::analysis
