// What is above all views: the verdict in one sentence; the program, the device and its figures;
// and a banner if the recording lacks something.
#pragma once

#include <QStringList>
#include <QWidget>
#include <vector>

#include "proto/anomalies.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/verdict.h"

class QComboBox;
class QLabel;

namespace memprof::viewer {

class LinkLine;
class ProgramLine;

class SummaryHeader : public QWidget {
  Q_OBJECT

 public:
  SummaryHeader(Document* document, Selection* selection, QWidget* parent = nullptr);

  // The text of the banner; empty without one.
  QString BannerText() const;
  QStringList AnomalyLines(log::Severity least) const;
  // Requests the comparison that the banner offers, if it offers one.
  void Compare();
  // The sentence, and the figures below it.
  LinkLine* verdict() const { return verdict_; }
  LinkLine* figures() const { return figures_; }

 signals:
  // The open logs are of several runs: the logs of the first and of the last.
  void ComparisonRequested(const QStringList& before, const QStringList& after);
  // A link leads to this view.
  void ViewRequested(VerdictView view);
  // The number of requests that failed is known.
  void FailuresCounted(std::size_t count);

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void Fill();
  void FillProgram();
  void FillFigures();
  void AskVerdict();
  void Follow(const VerdictTarget& target);
  VerdictInput Input() const;
  void FillDevices();
  void FillBanner();

  Document* const document_;
  Selection* const selection_;
  LinkLine* verdict_;
  ProgramLine* program_;
  QComboBox* devices_;
  LinkLine* figures_;
  JobTracker verdict_job_;
  QLabel* banner_;
};

// The logs of each run, the first run first; a job is one run.
std::vector<QStringList> RunsOf(const analysis::Session& session);

// The name of the program: the base name of the executable or script, with its arguments.
QString ProgramName(const analysis::RunInfo& run);

}  // namespace memprof::viewer
