// Call sites: flame graph, icicle, call trees from either end, callers and callees, all of the same
// choice of memory, and with the same search.
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

class FlameView : public View {
  Q_OBJECT

 public:
  // What is measured.
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
  // Of the icicle and the flame graph: begins with the functions that allocate.
  void SetBottomUp(bool bottom_up);
  // Stacks from the site outward, without libraries and allocators.
  void SetFromSite(bool from_site);
  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;

 protected:
  void Refresh() override { Ask(); }
  void resizeEvent(QResizeEvent* event) override;

 private:
  void FitBars();
  // What a job finds: the stacks of the question, and what the mode shows of them.
  struct Found {
    std::shared_ptr<const analysis::CallStacks> stacks;
    std::shared_ptr<const analysis::CallTree> tree;
    std::shared_ptr<const analysis::FlameTree> flame;
    std::vector<analysis::FunctionCost> functions;
    std::optional<std::uint32_t> first;  // the function to begin with: the costliest site's
  };

  void Ask();
  void Show(Found found);
  void Clear();
  void DataChanged();  // the stacks are no longer right
  void ChooseDepth();  // for a new session, unless a person has chosen
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
  std::shared_ptr<const analysis::CallStacks> stacks_;  // of the last question; null = ask anew
  analysis::TimeWindow window_;                         // that was asked about
  QStringList flame_path_;                              // likewise
  std::weak_ptr<const analysis::Session> depth_of_;     // ChooseDepth was asked about it
  bool depth_chosen_ = false;                           // by a person
  JobTracker job_;
};

}  // namespace memprof::viewer
