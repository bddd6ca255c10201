// The table of tensors, or if none are named, of blocks or driver allocations: filtered by a query,
// sorted by any column, lifetimes drawn as bars.
#pragma once

#include <array>
#include <memory>
#include <optional>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/tensor_model.h"
#include "viewer/views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QMenu;
class QTableView;
class QTimer;

namespace memprof::viewer {

class TensorBars;
class TensorsCompleter;

class TensorsView : public View {
  Q_OBJECT

 public:
  TensorsView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QTableView* table() const { return table_; }
  const TensorModel& model() const { return *model_; }
  const TensorBars& bars() const { return *bars_; }
  QLineEdit* query() const { return query_; }
  QString SummaryText() const;
  // One line; empty for a valid query.
  QString ErrorText() const;
  void SetKind(analysis::RowKind kind);
  void SetScope(analysis::RowScope scope);
  void SetQuery(const QString& text);

  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;

 protected:
  void Refresh() override;
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QWidget* BuildBar();
  void BuildTable();
  void Connect();
  void Restart();  // another session
  void FillKinds();
  void AskForTable();
  void AskForSites();
  void AskForRows();
  bool IsCurrent() const;
  void ShowRows(std::shared_ptr<const analysis::TensorRows> rows);
  void ShowSummary();
  // Hides columns without content for this kind of rows, and those for which there is no space.
  void FitColumns();
  bool HasContent(int column) const;
  int WidthOf(int column) const;  // shown or not; of bars the least
  void FillColumnMenu(QMenu* menu);
  void StretchBars();
  void Follow();  // the allocation selected in another view
  void GoTo(int row, bool scroll);
  void Chosen(const QModelIndex& index);
  void ShowMenu(const QPoint& at);
  void ShowHeaderMenu(const QPoint& at);
  void AddTerm(const QString& term);  // adds a term to the query and runs it
  analysis::RowKind Kind() const;
  QString Nothing() const;  // why no row is shown, and what to do

  QComboBox* kind_;
  QComboBox* scope_;
  QLineEdit* query_;
  QLabel* error_;
  QLabel* summary_;
  QLabel* legend_;
  QTableView* table_;
  TensorModel* model_;
  TensorBars* bars_;
  QTimer* typing_;
  std::shared_ptr<const analysis::Session> of_;  // session of the table
  std::shared_ptr<const analysis::TensorTable> tensors_;
  std::shared_ptr<const analysis::SiteNames> sites_;
  analysis::TensorQuery parsed_;
  analysis::RowsQuery rows_query_;
  std::array<std::optional<bool>, TensorModel::kColumnCount> chosen_;  // by the user
  bool kind_chosen_ = false;  // by the user: kept from log to log
  bool following_ = false;
  JobTracker table_job_, sites_job_, rows_job_, find_job_;
};

}  // namespace memprof::viewer
