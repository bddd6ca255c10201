// The selection that all views of a window share: an allocation, a call site, a device, an instant,
// and the history of zooms and filters. Views set it and listen to its signals; they do not refer
// to each other.
#pragma once

#include <QObject>

#include "analysis/base/types.h"
#include "viewer/models/zoom_stack.h"

namespace memprof::viewer {

// The unit in which horizontal axes are linear.
enum class AxisKind { kTime, kSteps };

class Selection : public QObject {
  Q_OBJECT

 public:
  explicit Selection(QObject* parent = nullptr) : QObject(parent) {}

  // Resets for a new log: the window is the whole log, and nothing is selected but the given
  // instant and device.
  void Reset(analysis::TimeWindow bounds, analysis::TimeNs instant, int device);

  // The log has grown to `bounds`: a window at its end follows, everything else stays.
  void Grow(analysis::TimeWindow bounds);

  int device() const { return device_; }
  analysis::TimeNs instant() const { return instant_; }
  analysis::AllocationId allocation() const { return allocation_; }
  analysis::StackId site() const { return site_; }
  analysis::TimeWindow bounds() const { return bounds_; }
  analysis::TimeWindow window() const { return zoom_.current().window; }
  const QStringList& flame_path() const { return zoom_.current().flame_path; }
  const analysis::AllocationFilter& filter() const { return zoom_.current().filter; }
  AxisKind axis() const { return axis_; }
  bool can_back() const { return zoom_.CanBack(); }
  bool can_forward() const { return zoom_.CanForward(); }
  bool zoomed() const;

  void SetDevice(int device);
  // Kept by Reset: users keep one axis for several logs.
  void SetAxis(AxisKind axis);
  void SetInstant(analysis::TimeNs instant);
  // Selects an allocation and its site; an invalid id clears both.
  void SelectAllocation(analysis::AllocationId allocation, analysis::StackId site);
  // Selects a site alone; the allocation is cleared.
  void SelectSite(analysis::StackId site);

  void SetWindow(analysis::TimeWindow window, int gesture = 0);
  void SetFlamePath(const QStringList& path);
  void SetFilter(const analysis::AllocationFilter& filter);
  void ShowAll();
  void Back();
  void Forward();

 signals:
  void DeviceChanged();
  void InstantChanged();
  void SelectionChanged();  // allocation or site
  void AxisChanged();
  void ZoomChanged();  // window, flame path, filter, or whether Back and Forward are possible
  // The filter has changed. What passes is known later: Document::PassingChanged.
  void FilterChanged();

 private:
  void Zoomed(const analysis::AllocationFilter& before);

  int device_ = 0;
  AxisKind axis_ = AxisKind::kTime;
  analysis::TimeNs instant_ = 0;
  analysis::AllocationId allocation_;
  analysis::StackId site_;
  analysis::TimeWindow bounds_{0, 1};
  ZoomStack zoom_;
};

}  // namespace memprof::viewer
