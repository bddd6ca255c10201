// Findings, best first: what to change, where, the saving, and the evidence.
#pragma once

#include "viewer/models/advice_model.h"
#include "viewer/models/stack_model.h"
#include "viewer/views/view.h"

class QCheckBox;
class QComboBox;
class QLabel;
class QProgressBar;
class QPushButton;
class QSplitter;
class QTabWidget;
class QTreeView;

namespace memprof::viewer {

class ByteBarsWidget;
class FactView;

class AdviceView : public View {
  Q_OBJECT

 public:
  AdviceView(Document* document, Selection* selection, QWidget* parent = nullptr);

  bool WriteCsv(QTextStream* out) const override;
  // The view shows stacks and evidence itself.
  bool shows_details() const override { return false; }

  QTreeView* table() const { return table_; }
  FactView* affected() const { return affected_; }
  QComboBox* grouping() const { return grouping_; }
  QCheckBox* noise() const { return noise_; }
  const AdviceModel& model() const { return *model_; }
  QString SummaryText() const;
  QString DetailText() const;

 protected:
  void Refresh() override;
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  QWidget* BuildHead();
  QWidget* BuildDetails();
  QWidget* BuildSheet(QWidget* parent);
  QWidget* BuildTabs(QWidget* parent);
  void Ask();
  void AskPassing();
  void Show(std::shared_ptr<const AdvicePicture> picture);
  void FillSummary();
  void ChooseFirst();
  void FitTable();  // as high as its rows, up to a part of the view
  void ShowFinding(const QModelIndex& index);
  void ShowPeak(const AdviceEntry& entry);
  void Follow();
  void OnlyThisSite();

  AdviceModel* model_;
  StackModel* stack_;
  FactTable* affected_rows_;
  QLabel* summary_;
  QProgressBar* progress_;
  QComboBox* grouping_;
  QCheckBox* noise_;
  QSplitter* splitter_;
  QTreeView* table_;
  QWidget* details_;
  QLabel* title_;
  ByteBarsWidget* peak_;
  QLabel* text_;
  QPushButton* only_;
  QTabWidget* tabs_;
  FactView* affected_;
  QTreeView* stack_view_;
  QLabel* notes_;

  JobTracker job_, passing_job_;
  std::shared_ptr<const analysis::Session> shown_;  // whose findings are shown, or requested
  std::shared_ptr<const AdvicePicture> picture_;
  bool following_ = false;
};

}  // namespace memprof::viewer
