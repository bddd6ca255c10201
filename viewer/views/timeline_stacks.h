// The stack of the timeline and the overview: the chosen grouping, its bands for the selected
// device, and the marks above them. One for each window, shared by both; keeps only the current
// choice.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "analysis/store/allocation_set.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/geometry/timeline_markers.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"

namespace memprof::viewer {

class TimelineStacks : public QObject {
  Q_OBJECT

 public:
  // The object of a selection, created at the first call. Lives as long as the selection; the
  // document must too.
  static TimelineStacks* Of(Document* document, Selection* selection);

  analysis::TimelineGrouping grouping() const { return grouping_; }
  // Kept from log to log.
  void SetGrouping(analysis::TimelineGrouping grouping);

  // Whether the stack goes on to the capacity of the device, with what its samples show beyond the
  // log's own memory. Until the user chooses, it does on devices that were full or nearly so.
  bool whole_device() const;
  // Kept from log to log.
  void SetWholeDevice(bool whole);
  // The user's choice, if there is one.
  std::optional<bool> whole_choice() const { return whole_; }
  void ChooseWholeDevice(bool whole);
  // Whether a band of bands() is left out of the stack. Kept while the grouping and the log are.
  bool hidden(int band) const;
  std::size_t hidden_count() const { return hidden_.size(); }
  const std::vector<analysis::StackBand>& hidden_bands() const { return hidden_; }
  void ToggleBand(int band);
  void ShowAllBands();
  // Whether the log has samples of the selected device.
  bool knows_rest() const;

  // Of the selected device; null until something is known of it. While the choice is being
  // computed, the previous bands of this device, or else its kinds of memory.
  const std::shared_ptr<const TimelineBands>& bands() const { return bands_; }
  // What is being computed; "" when the bands are those of the choice.
  QString Note() const;
  // In order of time: snapshots, and requests that failed on the device.
  const std::shared_ptr<const std::vector<TimelineMarker>>& markers() const { return markers_; }

 signals:
  void Changed();
  void GroupingChanged();
  void WholeDeviceChanged();  // also whether the rest of the device is known

 private:
  struct Failure {
    int device;
    TimelineMarker marker;
  };
  // What bands depend on. Holds references, so that no other object can get the same address.
  struct Source {
    std::shared_ptr<const analysis::TimelineStack> kinds;
    analysis::TimelineGrouping grouping = analysis::TimelineGrouping::kKind;
    bool whole_device = false;
    std::vector<analysis::StackBand> hidden;
    SitePins pins;  // only by site
    std::shared_ptr<const analysis::AllocationSet> passing;
    std::shared_ptr<const analysis::Categories> categories;
    bool operator==(const Source&) const = default;
  };

  TimelineStacks(Document* document, Selection* selection);
  void Update();
  void Build();
  void FindMarkers();
  void FindRests();
  // Whether a band of this stack, or of an earlier one, is band number `band` now.
  bool IsBand(const analysis::StackBand& one, int band) const;
  void ChooseMarkers();

  Document* const document_;
  Selection* const selection_;
  analysis::TimelineGrouping grouping_ = analysis::TimelineGrouping::kKind;
  std::shared_ptr<const TimelineBands> bands_;
  Source wanted_;
  bool waits_for_categories_ = false;
  std::optional<bool> whole_;  // the user's choice
  std::vector<analysis::StackBand> hidden_;
  std::shared_ptr<const analysis::DeviceRests> rests_;
  std::vector<int> full_;  // devices that were full or nearly so
  std::shared_ptr<const analysis::Session> marked_;
  std::vector<Failure> failures_;  // of all devices
  std::shared_ptr<const std::vector<TimelineMarker>> markers_ =
      std::make_shared<std::vector<TimelineMarker>>();
  JobTracker build_job_, marker_job_, rest_job_;
};

}  // namespace memprof::viewer
