// One undoable history of what the views show.
#include "viewer/models/zoom_stack.h"

namespace memprof::viewer {

void ZoomStack::Reset(const ZoomState& state) {
  states_ = {state};
  at_ = 0;
  gesture_ = 0;
}

void ZoomStack::Push(const ZoomState& state, int gesture) {
  if (state == current()) return;
  const bool continues = gesture != 0 && gesture == gesture_ && at_ > 0;
  gesture_ = gesture;
  states_.resize(at_ + 1);
  if (continues) {
    states_[at_] = state;
    return;
  }
  states_.push_back(state);
  ++at_;
  if (states_.size() > kLimit) {
    states_.erase(states_.begin());
    --at_;
  }
}

void ZoomStack::Back() {
  if (CanBack()) --at_;
  gesture_ = 0;
}

void ZoomStack::Forward() {
  if (CanForward()) ++at_;
  gesture_ = 0;
}

}  // namespace memprof::viewer
