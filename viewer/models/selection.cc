// What is selected and what is zoomed to, shared by all views of one window.
#include "viewer/models/selection.h"

#include <algorithm>

#include "viewer/geometry/window_math.h"

namespace memprof::viewer {

void Selection::Reset(analysis::TimeWindow bounds, analysis::TimeNs instant, int device) {
  bounds_ = bounds;
  instant_ = std::clamp(instant, bounds.begin, bounds.end);
  device_ = device;
  allocation_ = {};
  site_ = {};
  zoom_.Reset({bounds, {}});
  emit DeviceChanged();
  emit InstantChanged();
  emit SelectionChanged();
  emit ZoomChanged();
}

bool Selection::zoomed() const { return !(zoom_.current() == ZoomState{bounds_, {}}); }

void Selection::SetDevice(int device) {
  if (device == device_) return;
  device_ = device;
  emit DeviceChanged();
}

void Selection::SetAxis(AxisKind axis) {
  if (axis == axis_) return;
  axis_ = axis;
  emit AxisChanged();
}

void Selection::SetInstant(analysis::TimeNs instant) {
  instant = std::clamp(instant, bounds_.begin, bounds_.end);
  if (instant == instant_) return;
  instant_ = instant;
  emit InstantChanged();
}

void Selection::SelectAllocation(analysis::AllocationId allocation, analysis::StackId site) {
  if (allocation == allocation_ && site == site_) return;
  allocation_ = allocation;
  site_ = site;
  emit SelectionChanged();
}

void Selection::SelectSite(analysis::StackId site) { SelectAllocation({}, site); }

void Selection::SetWindow(analysis::TimeWindow window, int gesture) {
  ZoomState state = zoom_.current();
  state.window = Clamp(window, bounds_);
  if (state == zoom_.current()) return;
  zoom_.Push(state, gesture);
  emit ZoomChanged();
}

void Selection::SetFlamePath(const QStringList& path) {
  ZoomState state = zoom_.current();
  state.flame_path = path;
  if (state == zoom_.current()) return;
  zoom_.Push(state);
  emit ZoomChanged();
}

void Selection::ShowAll() {
  zoom_.Push({bounds_, {}});
  emit ZoomChanged();
}

void Selection::Back() {
  zoom_.Back();
  emit ZoomChanged();
}

void Selection::Forward() {
  zoom_.Forward();
  emit ZoomChanged();
}

}  // namespace memprof::viewer
