// Compares two logs, or two moments of one: totals, by step, by call site, category or layer, with
// the call stack of the chosen row.
#pragma once

#include <QStringList>
#include <memory>
#include <optional>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/diff_model.h"
#include "viewer/views/diff_sites.h"
#include "viewer/views/view.h"

class QCheckBox;
class QComboBox;
class QMenu;
class QProgressBar;
class QPushButton;
class QSplitter;
class QTimer;
class QTreeView;
class QVBoxLayout;

namespace memprof::viewer {

class DiffSteps;
class RichLabel;

class DiffView : public View {
  Q_OBJECT

 public:
  DiffView(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Compares the open log with this one, which is "before". Loads it in a job; may be called before
  // a log is open.
  void CompareWith(const QString& path) { CompareWith(QStringList{path}); }
  void CompareWith(const QStringList& paths);  // of one run
  // Compares two moments of the open log: the pinned one and the selected one.
  void CompareMoments();
  // Pins the selected instant as the moment before.
  void PinHere() { PinAt(selection_->instant()); }
  void PinAt(analysis::TimeNs instant);
  // Exchanges before and after of two logs.
  void Swap();
  void SetBy(DiffBy by);
  // Whether two moments are compared at the same place of their steps.
  void SetAligned(bool aligned);

  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // also what is compared
  void SetState(const ViewState& state) override;
  bool shows_details() const override { return false; }  // it shows stacks itself

  DiffSites* sites() const { return sites_; }
  QTreeView* table() const { return sites_->table(); }
  QTreeView* figures() const { return figures_view_; }
  DiffSteps* steps() const { return steps_; }
  const DiffModel& model() const { return sites_->model(); }
  const DiffFigureModel& figure_model() const { return *figures_; }
  const StackModel& stack() const { return sites_->stack(); }
  QPushButton* cancel_button() const { return cancel_; }
  QString Verdict() const;
  bool running() const { return job_.running() || run_job_.running() || load_job_.running(); }

 protected:
  void Refresh() override;
  void resizeEvent(QResizeEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  QWidget* BuildHead();
  QWidget* BuildTotals();
  void FillMenu(QMenu* menu);
  void AskForLog();
  void Load();
  void Loaded(absl::StatusOr<std::shared_ptr<const analysis::Session>> session);
  void ReadRun();
  void Start();
  void Show(std::shared_ptr<const DiffData> data);
  void ShowState();
  QString VerdictText() const;
  bool busy() const;  // shown only after a short time
  void FitTotals();   // as high as their rows, up to a half
  void ChooseStep(std::size_t row);
  void Cancel();
  const std::shared_ptr<const DiffData>& shown() const { return sites_->model().shown(); }
  bool two_logs() const { return !other_paths_.isEmpty(); }
  analysis::TimeNs DefaultMoment() const;

  // The data for comparing moments of a session.
  struct DiffRun {
    std::shared_ptr<const analysis::Session> session;
    std::shared_ptr<const analysis::MomentDiff> moments;
  };

  DiffFigureModel* figures_;
  RichLabel* verdict_;
  QPushButton *with_, *moments_, *pin_, *swap_, *cancel_;
  QComboBox *by_, *at_;
  QCheckBox* align_;  // of two moments
  QProgressBar* progress_;
  QSplitter* splitter_;
  QTreeView* figures_view_;
  DiffSites* sites_;
  DiffSteps* steps_;

  QTimer* slow_;  // runs while a comparison may still be quick
  JobTracker load_job_, run_job_, job_;
  DiffRun run_;
  std::shared_ptr<const analysis::Session> session_;  // of the document, that is compared
  QStringList other_paths_;
  QString error_;
  std::shared_ptr<const analysis::Session> other_;
  std::shared_ptr<analysis::Symbols> other_symbols_;
  std::shared_ptr<const analysis::Categories> other_categories_;
  bool swapped_ = false, cancelled_ = false;
  std::optional<analysis::TimeNs> pinned_;
};

}  // namespace memprof::viewer
