// Suspected leaks by tier, and for the chosen one the evidence, what would disprove it, its
// survivors by birth step, their last use, its call stack, and what holds it. Leaks can be
// suppressed, here or by a file of suppressions.
#pragma once

#include "analysis/leaks/survivors.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/access_index.h"
#include "viewer/models/leak_model.h"
#include "viewer/models/leak_suppressions.h"
#include "viewer/views/holder_view.h"
#include "viewer/views/stack_view.h"
#include "viewer/views/view.h"

class QAction;
class QLabel;
class QToolButton;
class QSplitter;
class QTreeView;

namespace memprof::viewer {

class SurvivorChart;
struct Theme;

class LeakView : public View {
  Q_OBJECT

 public:
  LeakView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QTreeView* table() const { return table_; }
  SurvivorChart* chart() const { return chart_; }
  const LeakModel& model() const { return *model_; }
  const StackModel& stack() const { return stack_->stack(); }
  const HolderView& holders() const { return *holders_; }
  QString EvidenceText() const;
  // The variables that hold the memory, as rich text; empty where nobody looked.
  static QString HoldersText(const analysis::Leak& leak, const Theme& theme);
  QString VerdictText() const;
  // Suppresses the leak of the current row; does nothing for a tier.
  void SuppressCurrent();
  // The current leak as lines of a file of suppressions; empty for a tier, or without a name.
  QString CurrentAsSuppression() const;
  // Suppresses what a file matches; returns its error in one line, or "".
  QString ApplyFile(const QString& path);
  void UndoSuppression();
  bool WriteCsv(QTextStream* out) const override;
  // The view shows stacks and evidence itself.
  bool shows_details() const override { return false; }

 protected:
  void Refresh() override { AskSurvivors(); }
  void resizeEvent(QResizeEvent* event) override;
  bool eventFilter(QObject* watched, QEvent* event) override;  // the table's keys

 private:
  void Fill();       // again from the report
  void AskHidden();  // computes which leaks are suppressed
  // shows those that are not suppressed, and keeps the current one
  void ShowRows();
  int RowOf(const LeakRow& row) const;  // among all rows of the report; -1 = of another
  void AskSurvivors();                  // queries the filter and the recorded uses for each leak
  void FitTable();                      // as high as its rows, up to a part of the view
  void FitColumns();                    // sites before examples
  void Follow();                        // the selection of another view
  void ShowLeak(const QModelIndex& index);
  void ShowEvidence(const LeakRow& row);
  void ShowMenu(const QPoint& at);
  void ChooseFile();
  QString StalenessText(const LeakRow& row) const;
  const analysis::SurvivorFacts* FactsOf(const LeakRow& row) const;
  QWidget* BuildHeader();
  QWidget* BuildTable();
  QWidget* BuildEvidence();
  void BuildActions();

  AccessIndex* access_;
  LeakModel* model_;
  QLabel* verdict_;
  QLabel* hidden_;
  QAction *suppress_, *copy_suppression_, *undo_, *open_file_;
  QSplitter* splitter_;
  QTreeView* table_;
  QWidget* evidence_;
  QLabel* why_;
  SurvivorChart* chart_;
  StackView* stack_;
  HolderView* holders_;
  bool following_ = false;
  LeakSuppressions suppressions_;
  // For the leaks of the report, then for what is alive at the end.
  struct Hidden {
    std::shared_ptr<const ReportData> report;
    std::vector<bool> rows;
  };
  Hidden hidden_rows_;
  JobTracker hidden_job_;
  struct Survivors {
    std::shared_ptr<const ReportData> report;
    bool uses_known = false;
    std::vector<analysis::SurvivorFacts> facts;  // for the same rows
  };
  Survivors survivors_;
  JobTracker survivors_job_;
};

}  // namespace memprof::viewer
