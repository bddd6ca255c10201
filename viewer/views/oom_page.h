// Failed requests: the cause, the use of every byte of the device, what would have made the request
// fit. Without one, how near it came.
#pragma once

#include <QWidget>
#include <map>
#include <memory>

#include "viewer/models/document.h"
#include "viewer/models/oom_picture.h"
#include "viewer/models/selection.h"
#include "viewer/views/holder_view.h"

class QComboBox;
class QLabel;
class QPushButton;
class QTabWidget;

namespace memprof::viewer {

class ByteBarsWidget;
class FactView;

class OomPage : public QWidget {
  Q_OBJECT

 public:
  OomPage(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Requests what is missing.
  void Refresh();
  bool WriteCsv(QTextStream* out) const;

  FactView* failures() const { return failures_; }
  FactView* remedies() const { return remedies_; }
  ByteBarsWidget* space() const { return space_; }
  ByteBarsWidget* scale() const { return scale_; }
  QTabWidget* tabs() const { return tabs_; }
  QPushButton* go() const { return go_; }
  QString VerdictText() const;
  // Failures of the log; -1 while unknown.
  int count() const {
    return picture_ == nullptr ? -1 : static_cast<int>(picture_->failures.size());
  }

 signals:
  void CountChanged();

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Connect();
  FactView* AddTable(const QString& title, FactTable** table, std::vector<FactColumn> columns,
                     int wide);
  void FitVerdict();
  void Show(std::shared_ptr<const FailuresPicture> picture);
  void Choose(std::size_t failure, bool by_hand);
  void AskChosen();
  void ShowChosen(std::shared_ptr<const OomPicture> picture);
  void ShowHeadroom();
  void FillSpace();
  void GoThere();

  Document* const document_;
  Selection* const selection_;
  FactTable* failure_rows_;
  FactView* failures_;
  QLabel* verdict_;
  QPushButton* go_;
  QLabel* space_title_;
  QComboBox* by_;
  ByteBarsWidget* space_;
  QLabel* legend_;
  QLabel* scale_title_;
  ByteBarsWidget* scale_;
  QTabWidget* tabs_;
  FactTable *remedy_rows_, *space_rows_, *live_rows_, *change_rows_;
  FactView *remedies_, *space_table_, *live_, *changes_;
  HolderView* holders_;

  JobTracker job_, chosen_job_;
  std::shared_ptr<const analysis::Session> shown_;  // whose failures are shown, or requested
  std::shared_ptr<const FailuresPicture> picture_;
  std::shared_ptr<const OomPicture> chosen_;
  // Failures explained so far, with or without categories.
  std::map<std::pair<std::size_t, bool>, std::shared_ptr<const OomPicture>> kept_;
  std::size_t failure_ = 0;
};

}  // namespace memprof::viewer
