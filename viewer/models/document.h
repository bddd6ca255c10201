// The log, or the several logs of one job, open in a window: what was read so far, and what was
// computed for the views. Filled in stages (session, then timelines, then report and categories),
// each announced by a signal; all work is off the GUI thread, and published data never changes.
#pragma once

#include <QElapsedTimer>
#include <QObject>
#include <QString>
#include <QStringList>
#include <QTimer>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "analysis/categories/categories.h"
#include "analysis/filter/allocation_filter.h"
#include "analysis/fragmentation/fragmentation.h"
#include "analysis/leaks/holders.h"
#include "analysis/report/report.h"
#include "analysis/store/allocation_set.h"
#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"
#include "analysis/timeline/timeline.h"
#include "viewer/geometry/step_clock.h"
#include "viewer/geometry/timeline_bands.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/selection.h"
#include "viewer/models/site_colors.h"

namespace memprof::viewer {

class RemoteFeeds;

// A leak with resolved names.
struct LeakRow {
  analysis::Leak leak;
  analysis::SourceFrame site;                // the user's line
  analysis::SourceFrame library;             // the line of a package that it called, if it did
  std::vector<analysis::SourceFrame> stack;  // innermost first
  QString example;                           // name of a surviving tensor, if one is known
  bool rising = false;                       // not sure to leak
};

// The report, with the texts that views need.
struct ReportData {
  analysis::Report report;
  std::vector<LeakRow> leaks;         // worst first
  std::vector<LeakRow> rising;        // not sure to leak, best score first
  std::vector<LeakRow> live_at_exit;  // largest first; without those that rise
  // By device with a framework's allocator: when it had reserved most.
  std::map<int, analysis::TimeNs> reserved_most;
  std::array<const std::vector<LeakRow>*, 3> rows() const {
    return {&leaks, &rising, &live_at_exit};
  }
  // Of the whole log, including those that are only known once every frame was looked up.
  std::vector<analysis::AnomalyCount> anomalies;
};

class Document : public QObject {
  Q_OBJECT

 public:
  enum class State { kEmpty, kLoading, kReady, kFailed };

  explicit Document(QObject* parent = nullptr);
  ~Document() override;

  // Begins to load a log. Ends in kReady with the log. If it cannot be read, ends with an error():
  // in kReady with the previous content, or in kFailed without any.
  void Open(const QString& path) { OpenTogether({path}); }
  // Opens several logs of one job as one session. At least one path; a folder stands for the logs
  // in it.
  void OpenTogether(const QStringList& paths);
  // Stops loading: back to the previous content, or to kEmpty.
  void Cancel();

  // While the recorded program runs, its growing log is read again, as often as that takes at most
  // a quarter of one processor. Reading does not affect the program.
  bool following() const { return follow_timer_.isActive(); }
  // Whether the content is the same log as before, read again: the selection in it is kept.
  bool grew() const { return contents_.grew; }

  State state() const { return state_; }
  // Of the current content, or of what failed to load: the first of several.
  QString path() const { return paths_.value(0); }
  const QStringList& paths() const { return paths_; }
  QString opening() const { return opening_.value(0); }  // of the last Open()
  const QString& error() const { return error_; }        // of the last Open(): one line, or empty
  // Errors of logs of the last Open() that could not be read, a line each; the others are open.
  const QStringList& left_out() const { return left_out_; }
  double progress() const { return progress_; }  // of loading, 0 … 1

  // Null until loaded.
  const std::shared_ptr<const analysis::Session>& session() const { return contents_.session; }
  const std::shared_ptr<analysis::Symbols>& symbols() const { return contents_.symbols; }
  // The colours of call sites in all views; never null.
  const std::shared_ptr<SiteColors>& site_colors() const { return site_colors_; }
  // The site of a NamedSite::key has this colour from now on; -1: the colour that it is given.
  void PinSiteColor(const QString& key, int color);
  // From now on, pinned colours are those of the user's settings, and are kept there.
  void KeepSiteColors() { keep_site_colors_ = true; }
  // Of the session. Query it in jobs: queries are slow until everything else was computed.
  const std::shared_ptr<const analysis::FragmentationHistory>& fragmentation() const {
    return contents_.fragmentation;
  }
  const std::shared_ptr<const std::vector<TimelineBands>>& timelines() const {
    return contents_.timelines;
  }
  const std::shared_ptr<const ReportData>& report() const { return contents_.report; }
  // Known with the report; it keeps its session.
  const std::shared_ptr<const analysis::Holders>& holders() const { return contents_.holders; }
  const std::shared_ptr<const analysis::Categories>& categories() const {
    return contents_.categories;
  }
  // What passes the filter; null without a filter, or while it is not known yet. Views show an
  // allocation if Passes() is true.
  const std::shared_ptr<const analysis::AllocationSet>& passing() const { return passing_; }
  // Starts computing what passes. Called by the window when the selection's filter changes.
  void SetFilter(const analysis::AllocationFilter& filter);

  // The bands of a device (analysis::kNoDevice: host); null while unknown.
  const TimelineBands* bands(int device) const;
  const analysis::DeviceInfo* device(int id) const;
  // Steps of the log; not known() without a log or without steps.
  const StepClock& step_clock() const { return step_clock_; }
  // The whole recorded time.
  analysis::TimeWindow bounds() const;

 signals:
  void StateChanged();
  void ProgressChanged(double share);
  void TimelinesReady();
  void ReportReady();
  void CategoriesReady();
  void PassingChanged();
  void SiteColorsChanged();  // a colour was pinned
  // Of logs on other machines: what is wrong with a connection just now. One line, or empty.
  void RemoteSaid(const QString& line);

 private:
  // A session and what is computed from it, one after the other: the timelines come first because
  // users wait for them, and each computation needs memory of its own.
  struct Contents {
    Contents() = default;
    Contents(std::shared_ptr<const analysis::Session> of, bool grown);
    void AddNext(const std::stop_token& stop);
    bool whole() const { return categories != nullptr; }

    bool grew = false;  // the same log as before, read again
    std::shared_ptr<const analysis::Session> session;
    std::shared_ptr<analysis::Symbols> symbols;
    std::shared_ptr<const analysis::FragmentationHistory> fragmentation;
    std::shared_ptr<const std::vector<TimelineBands>> timelines;
    std::shared_ptr<const ReportData> report;
    std::shared_ptr<const analysis::Holders> holders;
    std::shared_ptr<const analysis::Categories> categories;
  };

  void Loaded(absl::StatusOr<std::shared_ptr<const analysis::Session>> session);
  // Computes what is missing. Shown piece by piece; for a log that has grown, once all is computed,
  // so that no view becomes empty.
  void Fill(Contents contents);
  void Show(Contents contents);
  void PrepareFragmentation();
  void FollowLater();
  // What changes when a log has grown, of each path.
  QList<std::uint64_t> LogMarks() const;
  void AskFeeds();
  void ReadAgain();
  void SetState(State state);

  State state_ = State::kEmpty;
  QStringList paths_, opening_, left_out_;
  QString error_;
  double progress_ = 0;
  bool keep_site_colors_ = false;
  std::shared_ptr<SiteColors> site_colors_ = std::make_shared<SiteColors>();
  Contents contents_;
  StepClock step_clock_;
  analysis::AllocationFilter filter_;
  std::shared_ptr<const analysis::AllocationSet> passing_;
  QTimer follow_timer_;
  QList<std::uint64_t> followed_marks_;                 // of the logs when they were read last
  QElapsedTimer reading_;                               // since the last reading began
  std::shared_ptr<RemoteFeeds> feeds_, opening_feeds_;  // of paths_ and of opening_
  QTimer ask_timer_;
  QString remote_said_;
  JobTracker load_job_, fill_job_, filter_job_, fragmentation_job_;
};

// Whether a set contains `id`; null contains everything.
inline bool Passes(const analysis::AllocationSet* passing, analysis::AllocationId id) {
  return passing == nullptr || passing->Has(id);
}

// The clock of the chosen axis; null if that is time, or if the log has no steps.
const StepClock* ShownClock(const Document& document, const Selection& selection);

// The layers in which call sites of a device are counted: the framework's blocks if it was seen,
// else driver memory; pinned and registered memory for the host.
std::uint32_t SiteLayers(const TimelineBands* bands);

// "tensor h.3.attn.q (fp32 [8, 64])" for an allocation that is, or holds, a named tensor; else "".
QString TensorLabel(const analysis::Session& session, analysis::AllocationId id);

}  // namespace memprof::viewer
