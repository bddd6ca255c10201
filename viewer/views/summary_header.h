// The line above all views: the program, the device, its peak, the verdict on leaks, and a banner
// if the recording lacks something.
#pragma once

#include <QList>
#include <QStringList>
#include <QWidget>
#include <vector>

#include "proto/anomalies.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"

class QComboBox;
class QLabel;

namespace memprof::viewer {

class ProgramTile;

class SummaryHeader : public QWidget {
  Q_OBJECT

 public:
  SummaryHeader(Document* document, Selection* selection, QWidget* parent = nullptr);

  // The text of the banner; empty without one.
  QString BannerText() const;
  QStringList AnomalyLines(log::Severity least) const;
  // Requests the comparison that the banner offers, if it offers one.
  void Compare();
  // Without the figures that may be hidden.
  QSize minimumSizeHint() const override;

 signals:
  // The open logs are of several runs: the logs of the first and of the last.
  void ComparisonRequested(const QStringList& before, const QStringList& after);

 protected:
  void changeEvent(QEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void Fill();
  void FillProgram();
  void FillPeaks();
  void FillDevices();
  void FillBanner();
  void FitTiles();
  void SetTile(QLabel* label, const QString& caption, const QString& value, const QColor& color);

  Document* const document_;
  Selection* const selection_;
  ProgramTile* program_;
  QComboBox* devices_;
  QLabel* peak_;
  QLabel* reserved_;
  QLabel* at_end_;
  QLabel* verdict_;
  QList<QLabel*> filled_;  // the tiles with a content
  QLabel* banner_;
};

// The logs of each run, the first run first; a job is one run.
std::vector<QStringList> RunsOf(const analysis::Session& session);

// The name of the program: the base name of the executable or script, with its arguments.
QString ProgramName(const analysis::RunInfo& run);

}  // namespace memprof::viewer
