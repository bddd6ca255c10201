// The frames of one call stack, innermost first.
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
  const analysis::SourceFrame& frame(int row) const {
    return frames_[static_cast<std::size_t>(row)];
  }
  // All frames as text, one a line, for the clipboard.
  QString Text() const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<analysis::SourceFrame> frames_;
  int site_row_ = -1;
};

}  // namespace memprof::viewer
