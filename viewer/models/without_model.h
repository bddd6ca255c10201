// The peak without each of several groups, as a table: the selected site first.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <vector>

#include "analysis/peak/without.h"

namespace memprof::viewer {

// A ranking with its texts. Made in a job.
struct WithoutData {
  analysis::WithoutBy by = analysis::WithoutBy::kSite;
  analysis::WithoutRanking ranking;
  std::vector<QString> names;    // of the rows
  std::vector<QString> details;  // for tooltips
  std::vector<QString> when;     // where in the run the new peak would be
};
std::shared_ptr<const WithoutData> DescribeWithout(const analysis::Session& session,
                                                   analysis::WithoutRanking ranking,
                                                   analysis::WithoutBy by);

class WithoutModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kName, kAllocations, kAtPeak, kNewPeak, kSaves, kShare, kWhen, kColumnCount };
  static constexpr int kSortRole = Qt::UserRole + 1;
  static constexpr int kShareRole = Qt::UserRole + 2;  // of the peak in [0, 1], for bars (kSaves)
  // Further rows, with the smallest savings, are left out.
  static constexpr int kMaxRows = 20'000;

  explicit WithoutModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetData(std::shared_ptr<const WithoutData> data);
  // Puts the row of this site first; none = by saving only.
  void SetSelected(analysis::StackId site);
  const std::shared_ptr<const WithoutData>& ranking() const { return data_; }
  const analysis::WithoutRow& row(int index) const;
  // Whether the first row is that of the selected site.
  bool first_is_selected() const { return selected_ >= 0; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  std::size_t Place(int index) const;  // row of the ranking
  QString Text(std::size_t place, int column) const;

  std::shared_ptr<const WithoutData> data_;
  analysis::StackId site_;
  int selected_ = -1;  // row of the ranking that comes first
};

}  // namespace memprof::viewer
