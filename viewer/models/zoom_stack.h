// The undo history of the views: time window, filter, and zoom of the flame graph. Shared by all
// views, so that "back" undoes the last change, wherever it was made.
#pragma once

#include <QStringList>
#include <cstddef>
#include <vector>

#include "analysis/base/types.h"
#include "analysis/filter/allocation_filter.h"

namespace memprof::viewer {

struct ZoomState {
  analysis::TimeWindow window;
  QStringList flame_path;  // function names from the root; empty = the whole graph
  analysis::AllocationFilter filter;

  bool operator==(const ZoomState& other) const {
    return window.begin == other.window.begin && window.end == other.window.end &&
           flame_path == other.flame_path && filter == other.filter;
  }
};

// Not thread-safe. Pure: holds no widget.
class ZoomStack {
 public:
  // At most this many states are kept; the oldest go first.
  static constexpr std::size_t kLimit = 200;

  // Clears the history and begins with `state`.
  void Reset(const ZoomState& state);

  // Goes to a new state and drops what was undone. States of one continuous gesture (the same
  // `gesture`, not 0), such as one turn of the wheel, are one entry.
  void Push(const ZoomState& state, int gesture = 0);

  // Replaces the current state without a new entry, when the content has grown.
  void Replace(const ZoomState& state) { states_[at_] = state; }

  bool CanBack() const { return at_ > 0; }
  bool CanForward() const { return at_ + 1 < states_.size(); }
  void Back();
  void Forward();

  const ZoomState& current() const { return states_[at_]; }

 private:
  std::vector<ZoomState> states_ = {ZoomState()};
  std::size_t at_ = 0;
  int gesture_ = 0;
};

}  // namespace memprof::viewer
