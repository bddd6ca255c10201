// One undoable history of what the views show: time window, filter, and where the flame graph is
// zoomed to. Shared by all views, so that "back" undoes the last of these wherever it was made.
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

  // Forgets everything and begins with `state`.
  void Reset(const ZoomState& state);

  // Goes to a new state and forgets what was undone. States of one continuous gesture (the same
  // `gesture`, not 0), such as the notches of one turn of the wheel, are one entry.
  void Push(const ZoomState& state, int gesture = 0);

  // Makes `state` the current one without an entry of its own: what is shown grew by itself.
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
