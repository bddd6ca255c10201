// What the same requests would have taken with other allocators: a table with bars to scale, and
// the course over time of those that are ticked.
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

  // Adds a configuration as `memprof replay --with` reads it. Empty, or in a line why not.
  QString AddConfiguration(const QString& text);
  // What `fits` refers to; empty = what the recorded run could have. Empty, or why not.
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
  void Refresh() override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  using Devices = std::vector<WhatIfDevice>;
  // What a job has found so far, for whoever looks.
  struct Found {
    std::mutex mutex;
    Devices devices;
    bool news = false;  // since someone looked
  };

  void BuildHead(QVBoxLayout* column);
  void ConnectHead();
  void BuildTable();
  void Start();
  void StartOwn();  // those of own_ that no device has
  void Cancel();
  void Show(Devices devices);
  void ShowDevice();
  void ShowCurves();
  void ShowState();
  void TickBest();
  void FitTable();  // as high as its rows, as long as the curves can be read

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
  int generation_ = 0;          // of jobs: what an older one reports is dropped
  bool complete_ = false, cancelled_ = false, ticked_ = false;
};

}  // namespace memprof::viewer
