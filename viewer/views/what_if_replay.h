// The same requests with other allocators: a table with bars to scale, and the curves over time of
// the checked rows.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/what_if_model.h"
#include "viewer/views/view.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QProgressBar;
class QPushButton;
class QSortFilterProxyModel;
class QSplitter;
class QTreeView;
class QVBoxLayout;

namespace memprof::viewer {

class WhatIfCurves;

class WhatIfReplay : public View {
  Q_OBJECT

 public:
  WhatIfReplay(Document* document, Selection* selection, QWidget* parent = nullptr);

  // Adds a configuration in the form of `memprof replay --with`. Returns "", or an error in one
  // line.
  QString AddConfiguration(const QString& text);
  // The capacity for `fits`; empty = that of the recorded run. Returns "", or an error.
  QString SetCapacity(const QString& text);

  bool FocusSearch() override;
  bool WriteCsv(QTextStream* out) const override;

  QTreeView* table() const { return table_; }
  const WhatIfModel& model() const { return *model_; }
  WhatIfCurves* curves() const { return curves_; }
  QPushButton* cancel_button() const { return cancel_; }
  QString Verdict() const;
  bool running() const { return job_.running(); }

 protected:
  void changeEvent(QEvent* event) override;  // another theme: the texts again
  void Refresh() override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  using Devices = std::vector<WhatIfDevice>;
  // The results of a job so far, shared with the view.
  struct Found {
    std::mutex mutex;
    Devices devices;
    bool news = false;  // new since the last read
  };

  void BuildHead(QVBoxLayout* column);
  void ConnectHead();
  void BuildTable();
  void Start();
  void StartOwn();  // those of own_ that no device has yet
  void Cancel();
  void Show(Devices devices);
  void ShowDevice();
  void ShowCurves();
  void ShowState();
  void TickBest();
  void FitTable();  // as high as its rows, while the curves stay readable

  WhatIfModel* model_;
  QSortFilterProxyModel* sorted_;
  QLabel *verdict_, *legend_, *error_;
  QComboBox* choice_;
  QLineEdit *own_text_, *capacity_text_;
  QProgressBar* progress_;
  QPushButton *cancel_, *add_;
  QTreeView* table_;
  QSplitter* splitter_;
  WhatIfCurves* curves_;

  JobTracker job_;
  std::shared_ptr<const analysis::Session> of_;  // the session of what is shown
  Devices devices_;
  std::vector<analysis::allocators::AllocatorSpec> own_;
  std::uint64_t capacity_ = 0;  // bytes that were given; 0 = as recorded
  int generation_ = 0;          // of jobs: reports of older ones are dropped
  bool complete_ = false, cancelled_ = false, ticked_ = false;
};

}  // namespace memprof::viewer
