// The selection and zoom that all views of one window share.
#include "viewer/models/selection.h"

#include <algorithm>
#include <utility>

#include "viewer/geometry/window_math.h"

namespace memprof::viewer {

void Selection::Reset(analysis::TimeWindow bounds, analysis::TimeNs instant, int device) {
  bounds_ = bounds;
  instant_ = std::clamp(instant, bounds.begin, bounds.end);
  device_ = device;
  allocation_ = {};
  site_ = {};
  const analysis::AllocationFilter before = filter();
  zoom_.Reset({bounds, {}, {}});
  emit DeviceChanged();
  emit InstantChanged();
  emit SelectionChanged();
  Zoomed(before);
}

void Selection::Grow(analysis::TimeWindow bounds) {
  const analysis::TimeWindow before = bounds_;
  bounds_ = bounds;
  ZoomState state = zoom_.current();
  if (state.window.end >= before.end) {
    const analysis::TimeNs width = state.window.end - state.window.begin;
    const bool all = state.window.begin <= before.begin;
    state.window = {all ? bounds.begin : bounds.end - width, bounds.end};
    zoom_.Replace(state);
  }
  if (instant_ >= before.end && instant_ != bounds.end) {
    instant_ = bounds.end;
    emit InstantChanged();
  }
  emit ZoomChanged();
}

void Selection::Zoomed(const analysis::AllocationFilter& before) {
  emit ZoomChanged();
  if (filter() != before) emit FilterChanged();
}

bool Selection::zoomed() const { return !(zoom_.current() == ZoomState{bounds_, {}, filter()}); }

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

void Selection::SetFilter(const analysis::AllocationFilter& filter) {
  ZoomState state = zoom_.current();
  const analysis::AllocationFilter before = std::exchange(state.filter, filter);
  if (state == zoom_.current()) return;
  zoom_.Push(state);
  Zoomed(before);
}

void Selection::ShowAll() {
  zoom_.Push({bounds_, {}, filter()});
  emit ZoomChanged();
}

void Selection::Back() {
  const analysis::AllocationFilter before = filter();
  zoom_.Back();
  Zoomed(before);
}

void Selection::Forward() {
  const analysis::AllocationFilter before = filter();
  zoom_.Forward();
  Zoomed(before);
}

}  // namespace memprof::viewer
