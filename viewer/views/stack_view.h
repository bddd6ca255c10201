// A call stack as a list, innermost first: Enter or a double click opens a frame's source, or
// expands folded frames.
#pragma once

#include <QTreeView>

#include "viewer/models/document.h"
#include "viewer/models/selection.h"
#include "viewer/models/stack_model.h"

namespace memprof::viewer {

class StackView : public QTreeView {
  Q_OBJECT

 public:
  StackView(Document* document, Selection* selection, QWidget* parent = nullptr);

  // `stack`: the stack of the frames.
  void SetFrames(std::vector<analysis::SourceFrame> frames, const analysis::SourceFrame& site,
                 analysis::StackId stack);
  void Clear() { SetFrames({}, {}, {}); }
  const StackModel& stack() const { return *model_; }

 signals:
  // The user chose a frame, which is not folded.
  void FrameChosen(const memprof::analysis::SourceFrame& frame);

 protected:
  void keyPressEvent(QKeyEvent* event) override;
  void contextMenuEvent(QContextMenuEvent* event) override;
  void resizeEvent(QResizeEvent* event) override;

 private:
  void FitPlaces();  // as wide as needed, but leaves space for names
  void SpanFolds();
  void FitHeight();  // no higher than its rows, so that what is below gets the space
  void OpenSource(const QModelIndex& index);

  Document* const document_;
  Selection* const selection_;
  StackModel* model_;
  QAction* copy_;
  analysis::StackId stack_;
};

}  // namespace memprof::viewer
