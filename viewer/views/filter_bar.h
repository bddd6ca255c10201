// The line above the views with the filter: a text field, buttons that remove the other conditions,
// and one that removes all.
#pragma once

#include <QWidget>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"

class QHBoxLayout;
class QLineEdit;
class QTimer;
class QToolButton;

namespace memprof::viewer {

class FilterBar : public QWidget {
  Q_OBJECT

 public:
  FilterBar(Document* document, Selection* selection, QWidget* parent = nullptr);

  QLineEdit* text() const { return text_; }
  // The conditions other than the text.
  QStringList Conditions() const { return conditions_; }
  void Focus();

 private:
  void Fill();
  void Apply();
  void AskForMore();
  void SetChipText(QToolButton* chip, const QString& words);
  void AskSite(const analysis::AllocationFilter& part, QToolButton* chip);

  Document* const document_;
  Selection* const selection_;
  QLineEdit* text_;
  QHBoxLayout* chips_;
  QTimer* typing_;
  QStringList conditions_;
  JobTracker site_job_;
};

}  // namespace memprof::viewer
