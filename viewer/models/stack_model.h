// The frames of one call stack, innermost first. Many frames of libraries and allocators between
// the allocation and its site are folded into one row, so that the site is seen without scrolling.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "analysis/symbols.h"

namespace memprof::viewer {

class StackModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kFunction, kPlace, kColumnCount };

  explicit StackModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  // `site` is the frame to point out: the one that a person would name.
  void SetFrames(std::vector<analysis::SourceFrame> frames, const analysis::SourceFrame& site);
  void Clear() { SetFrames({}, {}); }
  // Of the row that stands for folded frames: the innermost of them.
  const analysis::SourceFrame& frame(int row) const { return frames_[IndexOf(row)]; }
  bool IsFold(int row) const { return folded_ > 0 && row == 0; }
  void Unfold();
  // All frames as text, one a line, for the clipboard.
  QString Text() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::size_t IndexOf(int row) const {
    return static_cast<std::size_t>(folded_ > 0 && row > 0 ? row - 1 + folded_ : row);
  }
  QVariant FoldData(int column, int role) const;

  std::vector<analysis::SourceFrame> frames_;
  int site_ = -1;   // index into frames_
  int folded_ = 0;  // frames, from the innermost on
};

}  // namespace memprof::viewer
