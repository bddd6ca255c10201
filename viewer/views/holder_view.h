// Who holds the selected memory, as a tree: Enter or a double click opens the source that a row
// names, Ctrl+C copies the holders of a row. Takes no space where there is nothing to say.
#pragma once

#include <QWidget>

#include "viewer/models/document.h"
#include "viewer/models/holder_model.h"

class QAction;
class QLabel;
class QTreeView;

namespace memprof::viewer {

class HolderView : public QWidget {
  Q_OBJECT

 public:
  // kFitted: at most as high as its rows. kWhole: as high as its space, which is a page of tabs.
  enum class Height { kFitted, kWhole };
  HolderView(Document* document, Height height, QWidget* parent = nullptr);

  // The holders of a block; `name` says which.
  void ShowBlock(analysis::AllocationId id, const QString& name);
  // Of several blocks, with figures. If there are none, says so if the log has looks.
  void ShowBlocks(std::shared_ptr<const analysis::HolderTree> tree, HeldMemory memory);
  void Clear();

  const HolderModel& model() const { return *model_; }
  QTreeView* tree() const { return tree_; }
  QString Line() const;  // instead of the tree

 private:
  void Show(std::shared_ptr<const analysis::HolderTree> tree, HeldMemory memory);
  void Say(const QString& line);
  void Expand();
  void Fit();
  void Open(const QModelIndex& index);
  void Copy();

  Document* const document_;
  const Height height_;
  HolderModel* model_;
  QTreeView* tree_;
  QLabel* line_;
  QAction *open_, *copy_;
};

}  // namespace memprof::viewer
