// Functions and their costs: all of them, or the callers or callees of one.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "analysis/peak/call_tree.h"

namespace memprof::viewer {

class FunctionModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kFunction, kInclusive, kSelf, kBlocks, kPlace, kColumnCount };
  // As those of CallTreeModel.
  static constexpr int kShareRole = Qt::UserRole + 1;
  static constexpr int kPythonRole = Qt::UserRole + 2;

  // `title`: the heading of the names.
  explicit FunctionModel(QString title, QObject* parent = nullptr);

  void SetRows(std::shared_ptr<const analysis::CallStacks> stacks,
               std::vector<analysis::FunctionCost> costs, bool by_count);
  // Shows only functions whose name, file or module contains the text.
  void SetSearch(const QString& text);
  const analysis::CallStacks* stacks() const { return stacks_.get(); }
  const analysis::FunctionCost& row(int row) const {
    return costs_[shown_[static_cast<std::size_t>(row)]];
  }
  const analysis::SourceFrame& frame(int row) const;
  // The row of a function; -1 if it is not shown.
  int FindFunction(std::uint32_t function) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  void Arrange();  // which rows are shown, in what order
  QString Text(const analysis::FunctionCost& cost, int column) const;

  const QString title_;
  std::shared_ptr<const analysis::CallStacks> stacks_;
  std::vector<analysis::FunctionCost> costs_;
  std::vector<std::size_t> shown_;
  bool by_count_ = false;
  QString search_;
  int sort_column_ = kInclusive;
  Qt::SortOrder sort_order_ = Qt::DescendingOrder;
};

}  // namespace memprof::viewer
