// How far the log can be trusted: a verdict, and every finding with what to do.
#pragma once

#include "viewer/models/quality_model.h"
#include "viewer/views/view.h"

class QLabel;
class QTableView;

namespace memprof::viewer {

class QualityView : public View {
  Q_OBJECT

 public:
  QualityView(Document* document, Selection* selection, QWidget* parent = nullptr);

  QTableView* table() const { return table_; }
  const QualityModel& model() const { return *model_; }
  QString VerdictText() const;

  bool shows_details() const override { return false; }
  bool WriteCsv(QTextStream* out) const override;

 protected:
  // At once, without a job: there are only a few figures.
  void Refresh() override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Fit();

  QLabel* verdict_;
  QTableView* table_;
  QualityModel* model_;
};

}  // namespace memprof::viewer
