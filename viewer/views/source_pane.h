// A source file with the memory of each of its lines: a click on a line selects its call site, a
// double click opens the editor.
#pragma once

#include <QWidget>
#include <memory>

#include "viewer/jobs/job_tracker.h"
#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/source_model.h"

class QComboBox;
class QTreeView;

namespace memprof::viewer {

class RichLabel;

class SourcePane : public QWidget {
  Q_OBJECT

 public:
  // kNarrow: one column of figures, which is chosen.
  enum class Columns { kNarrow, kAll };
  SourcePane(Document* document, Selection* selection, Columns columns, QWidget* parent = nullptr);

  // Shows a file of the log and marks a line; 0 = none. "" shows nothing.
  void ShowFile(const std::string& file, int line);
  void Clear() { ShowFile({}, 0); }
  // Shows the site of a stack, or its line that was just clicked here: then the file stays.
  void ShowStack(const std::vector<analysis::SourceFrame>& frames,
                 const analysis::SourceFrame& site);

  // What it asks: the device, the instant and the filter that are chosen.
  analysis::LineQuery Query() const;
  const std::string& file() const { return file_; }
  const SourceModel& model() const { return *model_; }
  QTreeView* table() const { return table_; }
  QComboBox* measure() const { return measure_; }
  QString Note() const;

 protected:
  void showEvent(QShowEvent* event) override;
  void changeEvent(QEvent* event) override;  // another theme: the texts again

 private:
  bool narrow() const { return columns_ == Columns::kNarrow; }
  QWidget* BuildBar();
  void BuildTable();
  void Connect();
  void Ask();
  void Show(SourcePicture picture);
  void ShowTitle();
  void ShowNote();
  void TakeLink(const QString& link);
  void FitColumns();
  void ScrollToMarked();
  void Click(const QModelIndex& index);
  void Open(const QModelIndex& index);
  void Menu(const QPoint& at);
  void Locate();

  Document* const document_;
  Selection* const selection_;
  const Columns columns_;
  SourceModel* model_;
  RichLabel* title_;
  RichLabel* note_;
  QComboBox* measure_;
  QTreeView* table_;
  std::string file_;
  std::shared_ptr<const analysis::SourceText> text_;  // of file_, read before
  bool stale_ = false;                                // to be asked once it is visible
  bool scroll_ = false;                               // to the marked line, once it is there
  int figure_ = 0;                                    // the column of figures of the narrow form
  int clicked_ = 0;                                   // the line of the last click; 0 = none
  JobTracker job_;
};

}  // namespace memprof::viewer
