// A call tree as rows, which are created when they are expanded.
#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "analysis/peak/call_tree.h"

namespace memprof::viewer {

// By function: whether its name, file or module contains the text, ignoring case; none for an empty
// text.
std::vector<bool> MatchingFunctions(const analysis::CallStacks& stacks, const QString& text);

class CallTreeModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { kFunction, kInclusive, kSelf, kBlocks, kPlace, kColumnCount };
  // The share of the whole in [0, 1] (in the current measure), whether the frame is Python's, and
  // whether it matches the search.
  static constexpr int kShareRole = Qt::UserRole + 1;
  static constexpr int kPythonRole = Qt::UserRole + 2;
  static constexpr int kMatchRole = Qt::UserRole + 3;

  explicit CallTreeModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void SetTree(std::shared_ptr<const analysis::CallTree> tree, bool by_count);
  const analysis::CallTree* tree() const { return tree_.get(); }
  // Shows only rows whose stacks contain a matching function, with unchanged figures.
  void SetSearch(const QString& text);
  // Share of the whole in stacks with a match; -1 without a search.
  double matched() const;

  // Null for no row.
  const analysis::CallTree::Node* node(const QModelIndex& index) const;
  const analysis::SourceFrame& frame(const QModelIndex& index) const;
  // The costliest stack of a row.
  analysis::StackId Stack(const QModelIndex& index) const;
  // The row where a stack begins or ends (the innermost of the tree's rows); invalid if it has
  // none.
  QModelIndex FindStack(analysis::StackId stack) const;
  // The next matching row, from top to bottom, after `from` or from the beginning.
  QModelIndex NextMatch(const QModelIndex& from) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  bool hasChildren(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  struct Item {
    analysis::CallTree::Node node;
    int parent = -1;
    int row = 0;
    bool opened = false;
    std::vector<int> children;
  };

  void Restart();
  const Item& Open(int item) const;
  void SortChildren(std::vector<int>& children) const;
  int ItemOf(const QModelIndex& index) const {
    return index.isValid() ? static_cast<int>(index.internalId()) : 0;
  }
  bool Visible(const analysis::CallTree::Node& node) const;
  bool Matches(const analysis::CallTree::Node& node) const;
  QString Text(const analysis::CallTree::Node& node, int column) const;
  QString ToolTip(const analysis::CallTree::Node& node) const;

  std::shared_ptr<const analysis::CallTree> tree_;
  bool by_count_ = false;
  int sort_column_ = kInclusive;
  Qt::SortOrder sort_order_ = Qt::DescendingOrder;
  QString search_;
  std::vector<bool> matches_;                  // by function
  std::vector<std::uint32_t> matched_before_;  // stacks with a match before a place
  // Grows when rows are created, also in const functions: the first is the invisible root.
  mutable std::vector<Item> items_;
};

}  // namespace memprof::viewer
