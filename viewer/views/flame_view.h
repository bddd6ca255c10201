// Call sites: flame graph, icicle, call trees from either end, callers and callees, all with the
// same choice of memory and the same search.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "analysis/peak/call_tree.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/views/flame_canvas.h"
#include "viewer/views/view.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QLineEdit;
class QScrollArea;
class QStackedWidget;
class QTabBar;

namespace memprof::viewer {

class CallersPanel;
class CallTreePanel;

// Whether any frame of the log is Python's.
bool RunsPython(const analysis::Session& session);

class FlameView : public View {
  Q_OBJECT

 public:
  // The measure.
  enum class Choice {
    kLiveAtInstant,
    kLiveAtPeak,
    kAllocatedInWindow,
    kCountInWindow,
    kLiveAtEnd,
  };
  enum class Mode { kIcicle, kFlame, kTopDown, kBottomUp, kCallers };

  FlameView(Document* document, Selection* selection, QWidget* parent = nullptr);

  FlameCanvas* canvas() const { return canvas_; }
  CallTreePanel* tree() const { return tree_; }
  CallersPanel* callers() const { return callers_; }
  QLineEdit* search() const { return search_; }
  void SetChoice(Choice choice);
  void SetMode(Mode mode);
  Mode mode() const;
  // For the icicle and the flame graph: begins with the allocating functions.
  void SetBottomUp(bool bottom_up);
  // Stacks from the site outward, without libraries and allocators.
  void SetFromSite(bool from_site);
  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // the page, and what is measured
  void SetState(const ViewState& state) override;

 protected:
  void Refresh() override { Ask(); }
  void resizeEvent(QResizeEvent* event) override;

 private:
  void FitBars();
  // The result of a job: the stacks of the query, and the content of the mode.
  struct Found {
    std::shared_ptr<const analysis::CallStacks> stacks;
    std::shared_ptr<const analysis::CallTree> tree;
    std::shared_ptr<const analysis::FlameTree> flame;
    std::vector<analysis::FunctionCost> functions;
    std::optional<std::uint32_t> first;  // the function to show first: the costliest site's
  };

  void Ask();
  void Show(Found found);
  void Clear();
  void DataChanged();  // the stacks are outdated
  void ChooseDepth();  // for a new session, unless the user has chosen
  void Zoomed();
  void ModeChanged();
  void Search(const QString& text);
  void FillLayers();
  QWidget* BuildModes();
  QWidget* BuildBar();
  void Connect();
  analysis::SiteQuery Query() const;
  analysis::TimeNs PeakTime(std::uint32_t layers) const;
  bool by_count() const;
  QString Explanation() const;
  QString EmptyText() const;

  QTabBar* modes_;
  QComboBox* layers_;
  QComboBox* choice_;
  QComboBox* direction_;
  QCheckBox* from_site_;
  QLineEdit* search_;
  QLabel* legend_;
  QLabel* note_;
  QStackedWidget* pages_;
  QScrollArea* scroll_;
  FlameCanvas* canvas_;
  CallTreePanel* tree_;
  CallersPanel* callers_;
  std::shared_ptr<const analysis::CallStacks> stacks_;  // of the last query; null = query again
  analysis::TimeWindow window_;                         // of that query
  QStringList flame_path_;                              // of that query
  std::weak_ptr<const analysis::Session> depth_of_;     // session for which ChooseDepth was called
  bool depth_chosen_ = false;                           // by the user
  JobTracker job_;
};

}  // namespace memprof::viewer
