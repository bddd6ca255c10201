// Allocators compared in a table.
#pragma once

#include <QAbstractTableModel>
#include <map>

#include "viewer/models/what_if_rows.h"

namespace memprof::viewer {

class WhatIfModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column {
    kName,  // with a check box: whether its curve over time is drawn
    kReserved,
    kBar,  // painted by a delegate from row()
    kUnused,
    kSaving,
    kDoubt,
    kSegments,
    kCalls,
    kFits,
    kColumnCount
  };
  static constexpr int kSortRole = Qt::UserRole + 1;

  explicit WhatIfModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  // Keeps the drawn curves, by name. Remaining rows are changed, not replaced, so that a table
  // keeps its position.
  void SetDevice(WhatIfDevice device);
  const WhatIfDevice& device() const { return device_; }
  const WhatIfRow& row(int index) const { return device_.rows[static_cast<std::size_t>(index)]; }
  const WhatIfScale& scale() const { return scale_; }

  bool Drawn(int index) const { return drawn_.count(row(index).name) > 0; }
  void SetDrawn(int index, bool drawn);
  // The index of the colour of Theme::Categorical of a drawn row; -1 if it is not drawn, is the
  // recorded one, or all colours are used.
  int ColorOf(int index) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  bool setData(const QModelIndex& index, const QVariant& value, int role) override;
  Qt::ItemFlags flags(const QModelIndex& index) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 signals:
  void DrawnChanged();

 private:
  QString Text(const WhatIfRow& row, int column) const;
  QVariant SortValue(const WhatIfRow& row, int column) const;

  WhatIfDevice device_;
  WhatIfScale scale_;
  std::map<QString, int> drawn_;  // with their colours
};

}  // namespace memprof::viewer
