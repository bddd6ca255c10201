// The frames of one call stack, innermost first. Frames of libraries and allocators are folded into
// one row: those between the allocation and its site if there are many, and outside of the site any
// consecutive ones, such as the interpreter's between two Python lines.
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

  // `site`: the frame to highlight: the user's place.
  void SetFrames(std::vector<analysis::SourceFrame> frames, const analysis::SourceFrame& site);
  void Clear() { SetFrames({}, {}); }
  // For a row of folded frames: the innermost of them.
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
  std::size_t site_ = 0;  // index into frames_; their number if there is none
};

}  // namespace memprof::viewer
