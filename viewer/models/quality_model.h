// Findings on the reliability of a log, as a table.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "viewer/models/quality_rows.h"

namespace memprof::viewer {

class QualityModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kArea, kSubject, kGrade, kFinding, kAdvice, kColumnCount };
  // The Grade as an int; for files, with the area in every row.
  static constexpr int kGradeRole = Qt::UserRole + 1;
  static constexpr int kPlainRole = Qt::UserRole + 2;

  explicit QualityModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetRows(std::vector<QualityRow> rows);
  const QualityRow& row(int index) const { return rows_[static_cast<std::size_t>(index)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::vector<QualityRow> rows_;
};

}  // namespace memprof::viewer
