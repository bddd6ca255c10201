// The line above all views: what ran, the device, its peak, the verdict on leaks, and a banner when
// the recording lacks something.
#pragma once

#include <QStringList>
#include <QWidget>

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

  // What the banner says; empty when there is nothing to say.
  QString BannerText() const;
  QStringList AnomalyLines(log::Severity least) const;

 protected:
  void changeEvent(QEvent* event) override;

 private:
  void Fill();
  void FillDevices();
  void FillBanner();
  void SetTile(QLabel* label, const QString& caption, const QString& value, const QColor& color);

  Document* const document_;
  Selection* const selection_;
  ProgramTile* program_;
  QComboBox* devices_;
  QLabel* peak_;
  QLabel* reserved_;
  QLabel* at_end_;
  QLabel* verdict_;
  QLabel* banner_;
};

// The program as a person would name it: the base name of what ran, with its arguments.
QString ProgramName(const analysis::RunInfo& run);

}  // namespace memprof::viewer
