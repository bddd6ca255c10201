// The frames of one call stack, innermost first. Frames of libraries and allocators are folded into
// one row: those between the allocation and its site where there are many, and outside of the site
// any that follow on each other, as the interpreter's between two lines of Python.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

class StackModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kFunction, kPlace, kColumnCount };

  explicit StackModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  // `site` is the frame to point out: the one that a person would name.
  void SetFrames(std::vector<analysis::SourceFrame> frames, const analysis::SourceFrame& site);
  void Clear() { SetFrames({}, {}); }
  // Of a row that stands for folded frames: the innermost of them.
  const analysis::SourceFrame& frame(int row) const { return frames_[RowAt(row).begin]; }
  bool IsFold(int row) const { return RowAt(row).count > 1; }
  void Unfold(int row);
  // All frames as text, one a line, for the clipboard.
  QString Text() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  // One frame, or several that are folded.
  struct Row {
    std::size_t begin, count;
  };
  const Row& RowAt(int row) const { return rows_[static_cast<std::size_t>(row)]; }
  void Fold();
  QVariant FoldData(const Row& row, int column, int role) const;

  std::vector<analysis::SourceFrame> frames_;
  std::vector<Row> rows_;
  std::size_t site_ = 0;  // index into frames_; their number if it is none of them
};

}  // namespace memprof::viewer
