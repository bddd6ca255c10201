// The line above the views that says what is filtered: a field for text, the other conditions as
// buttons that take them away, and how to take all away.
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
  // The conditions beside the text, in words.
  QStringList Conditions() const { return conditions_; }
  void Focus();

 private:
  void Fill();
  void Apply();
  void AskForMore();
  void Say(QToolButton* chip, const QString& words);
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
