// Who holds memory, as rows from the memory to the roots: below each object are those that refer to
// it, below the last of them what keeps it.
#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <optional>

#include "analysis/leaks/holder_tree.h"
#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// The memory that is held: a block, or several.
struct HeldMemory {
  QString name;
  std::uint64_t bytes = 0, blocks = 0;
};

class HolderModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { kObject, kBytes, kBlocks, kColumnCount };

  explicit HolderModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void SetTree(std::shared_ptr<const analysis::HolderTree> tree, HeldMemory memory);
  // The number of rows with all of them expanded.
  int size() const;
  // Whether the rows differ in their figures; if not, the name of the memory says it all.
  bool differs() const;
  // The lines of the holders at and below a row: for the clipboard.
  QString Paths(const QModelIndex& index) const;
  // The line of a source that a row names: "train.py:10".
  std::optional<analysis::SourceFrame> Place(const QModelIndex& index) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  using Node = analysis::HolderTree::Node;

  // Null for the row of the memory that no look found.
  const Node* node(const QModelIndex& index) const;
  int IdOf(const QModelIndex& index) const { return static_cast<int>(index.internalId()); }
  bool has_rest() const;
  QString Text(const QModelIndex& index) const;
  QString ToolTip(const QModelIndex& index) const;

  std::shared_ptr<const analysis::HolderTree> tree_;
  HeldMemory memory_;
};

// Why there are no holders of a block to show, in a line; "" if that is no question: of a log
// without looks, and of memory that is never looked at.
QString WhyNoHolder(const analysis::Holders& holders, analysis::AllocationId id);

// The allocation whose holders are those of `id`: of a tensor, its block.
analysis::AllocationId HeldBlock(const analysis::Session& session, analysis::AllocationId id);

}  // namespace memprof::viewer
