// "What if this were gone": the exact peak without a call site, a category, a layer or a tensor.
#pragma once

#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/without_model.h"
#include "viewer/views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSortFilterProxyModel;
class QTreeView;
class QVBoxLayout;

namespace memprof::viewer {

class WhatIfGone : public View {
  Q_OBJECT

 public:
  WhatIfGone(Document* document, Selection* selection, QWidget* parent = nullptr);

  analysis::WithoutBy by() const;
  void SetBy(analysis::WithoutBy by);

  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;

  QTreeView* table() const { return table_; }
  const WithoutModel& model() const { return *model_; }
  QString Verdict() const;
  bool running() const { return job_.running(); }

 protected:
  void Refresh() override;

 private:
  void BuildHead(QVBoxLayout* column);
  void BuildTable();
  void Follow();
  void Chosen(const QModelIndex& index);
  void ShowState();

  WithoutModel* model_;
  QSortFilterProxyModel* sorted_;
  QLabel* verdict_;
  QComboBox *by_, *of_;
  QLineEdit* search_;
  QPushButton* cancel_;
  QTreeView* table_;
  JobTracker job_;
  bool following_ = false, cancelled_ = false;
};

}  // namespace memprof::viewer
