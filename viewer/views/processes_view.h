// The processes of a job: figures, small timelines on one scale, outliers.
#pragma once

#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/process_model.h"
#include "viewer/views/view.h"

class QLabel;
class QSortFilterProxyModel;
class QTableView;

namespace memprof::viewer {

class ProcessLanes;

class ProcessesView : public View {
  Q_OBJECT

 public:
  ProcessesView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QTableView* table() const { return table_; }
  const ProcessModel& model() const { return *model_; }
  QString SummaryText() const;

  bool shows_details() const override { return false; }
  bool WriteCsv(QTextStream* out) const override;

 protected:
  void Refresh() override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void BuildTable();
  void Connect();
  void Show(std::shared_ptr<const ProcessPicture> picture);
  void Fit();  // heights of rows, width of the lanes
  // What the figures depend on; the window is not part of it.
  struct Source {
    std::shared_ptr<const analysis::Session> session;
    std::shared_ptr<const ReportData> report;
    std::shared_ptr<const analysis::Categories> categories;
    analysis::AllocationFilter filter;
    bool operator==(const Source&) const = default;
  };
  void Choose(const QModelIndex& index);
  void ShowMenu(const QPoint& at);
  std::uint32_t ProcessAt(const QModelIndex& index) const;

  QLabel* summary_;
  QLabel* legend_;
  QTableView* table_;
  ProcessModel* model_;
  QSortFilterProxyModel* sorted_;
  ProcessLanes* lanes_;
  Source source_;  // of the picture that is shown
  std::shared_ptr<const ProcessPicture> picture_;
  JobTracker job_;
};

}  // namespace memprof::viewer
