// Memory by line of the program's own files: a list of the files, and the chosen one as a whole.
#pragma once

#include "analysis/source/line_bytes.h"
#include "viewer/jobs/job_tracker.h"
#include "viewer/models/fact_table.h"
#include "viewer/views/view.h"

class QLabel;
class QSplitter;

namespace memprof::viewer {

class FactView;
class SourcePane;

class SourceView : public View {
  Q_OBJECT

 public:
  SourceView(Document* document, Selection* selection, QWidget* parent = nullptr);

  const FactTable& files() const { return *files_; }
  FactView* list() const { return list_; }
  SourcePane* pane() const { return pane_; }
  bool WriteCsv(QTextStream* out) const override;
  ViewState State() const override;  // the file
  void SetState(const ViewState& state) override;

 protected:
  void Refresh() override;

 private:
  struct Files {
    std::vector<analysis::FileBytes> files;
    std::vector<analysis::SourceFrame> frames;  // of the selected site
    analysis::SourceFrame site;
  };
  void Show(Files found);

  QLabel* empty_;
  QSplitter* parts_;
  FactTable* files_;
  FactView* list_;
  SourcePane* pane_;
  std::vector<std::string> names_;  // of the rows, by their keys
  analysis::StackId shown_;         // the site for which the file was chosen
  std::string chosen_;
  JobTracker job_;
};

}  // namespace memprof::viewer
