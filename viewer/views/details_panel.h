// The panel beside the views: the largest allocations at the chosen instant, and the selected
// allocation or site with its call stack and with what holds it.
#pragma once

#include <QWidget>
#include <vector>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/access_index.h"
#include "viewer/models/document.h"
#include "viewer/models/ranked_model.h"
#include "viewer/models/selection.h"
#include "viewer/views/holder_view.h"
#include "viewer/views/source_pane.h"
#include "viewer/views/stack_view.h"

class QHBoxLayout;
class QLabel;
class QTabWidget;
class QTreeView;
class QVBoxLayout;

namespace memprof::viewer {

class RichLabel;

class DetailsPanel : public QWidget {
  Q_OBJECT

 public:
  DetailsPanel(Document* document, Selection* selection, QWidget* parent = nullptr);
  QSize sizeHint() const override { return {310, 400}; }

  const RankedModel& sites() const { return *sites_; }
  const RankedModel& tensors() const { return *tensors_; }
  const StackModel& stack() const { return stack_->stack(); }
  SourcePane* source() const { return source_; }
  const HolderView& holders() const { return *holders_; }
  QString SelectionText() const;
  // A small widget in the upper right corner. Takes it over.
  void SetCorner(QWidget* widget);

 protected:
  void changeEvent(QEvent* event) override;  // another theme: the texts again

 private:
  struct InstantData {
    std::vector<RankedRow> sites, tensors;
    bool blocks = false;  // no tensors known: `tensors` has blocks
  };
  struct StackData {
    std::vector<analysis::SourceFrame> frames;
    analysis::SourceFrame site;
  };

  QTreeView* AddRanking(QTabWidget* tabs, RankedModel* model, const QString& title);
  void AskInstant();
  void ShowInstant(InstantData data);
  void AskSelection();
  void ShowSelection();  // what is known of it so far
  void ShowHolders();
  // Label and value of every fact, for display and for the clipboard.
  QList<std::pair<QString, QString>> Facts(analysis::AllocationId id) const;
  QString Title(analysis::AllocationId id) const;
  QString DescribeAllocation(analysis::AllocationId id) const;
  static InstantData MakeInstant(const analysis::Session& session, analysis::Symbols& symbols,
                                 const analysis::SiteQuery& query);

  Document* const document_;
  Selection* const selection_;
  RankedModel* sites_;
  RankedModel* tensors_;
  RichLabel* instant_;
  QTabWidget* rankings_;
  QLabel* selected_;
  StackView* stack_;
  SourcePane* source_;
  HolderView* holders_;
  QHBoxLayout* top_;    // the instant
  QVBoxLayout* below_;  // stack, source and holders
  JobTracker instant_job_, stack_job_;
};

}  // namespace memprof::viewer
