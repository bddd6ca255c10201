// The page of a fleet: one figure of a job's ranks as a heat map, and their table. What it shows is
// made by somebody else, who gets the user's wishes as signals.
#pragma once

#include <QTextStream>
#include <QWidget>
#include <memory>
#include <optional>

#include "viewer/jobs/fleet_grid_maker.h"
#include "viewer/models/fleet_grid.h"

class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QStackedWidget;
class QTableView;

namespace memprof::viewer {

class FleetCanvas;
class FleetRankModel;

class FleetView : public QWidget {
  Q_OBJECT

 public:
  explicit FleetView(QWidget* parent = nullptr);

  // Something is being made; what was shown stays.
  void ShowWaiting(const QString& what);
  void ShowProblem(const QString& why);
  void SetGrid(std::shared_ptr<const FleetGrid> grid);
  // The ranks that are apart, and some others.
  void ZoomToOutliers();
  // A line below the picture, such as why a log cannot be opened.
  void ShowNote(const QString& note);

  const std::shared_ptr<const FleetGrid>& grid() const { return grid_; }
  FleetCanvas* canvas() const { return canvas_; }
  QTableView* table() const { return table_; }
  const FleetRankModel& model() const { return *model_; }
  QComboBox* jobs() const { return jobs_; }
  QComboBox* figures() const { return figures_; }
  QComboBox* order() const { return order_; }
  QComboBox* coloring() const { return coloring_; }
  QPushButton* compare_button() const { return compare_; }
  QPushButton* open_button() const { return open_; }
  QString Summary() const;
  QString Note() const;     // also a problem, once there is a picture
  QString Waiting() const;  // what the page without a picture says

  bool WriteCsv(QTextStream* out) const;

 signals:
  void Wanted(const FleetChoice& choice);
  void OpenWanted(std::size_t row);
  void CompareWanted(std::size_t row);

 private:
  QWidget* BuildChoices();
  QWidget* BuildTable();
  QWidget* BuildActions();
  void Connect();
  std::size_t CountApart() const;
  void FillChoices();
  void ShowRows();  // in the chosen order
  void RowChosen(std::size_t row);
  void Want();

  std::shared_ptr<const FleetGrid> grid_;
  QStackedWidget* pages_;  // waiting, content
  QLabel* waiting_;
  QProgressBar* first_progress_;
  QProgressBar* progress_;
  QComboBox *jobs_, *figures_, *order_, *coloring_;
  QLabel* summary_;
  FleetCanvas* canvas_;
  QTableView* table_;
  FleetRankModel* model_;
  QPushButton *compare_, *open_;
  QLabel* note_;
};

}  // namespace memprof::viewer
