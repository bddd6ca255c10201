// Findings as rows under headings: changes without a cost and trade-offs, or patterns, or call
// sites.
#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <vector>

#include "viewer/models/advice_picture.h"

namespace memprof::viewer {

enum class AdviceGrouping { kCost, kPattern, kSite };

class AdviceModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column { kWhat, kSite, kPeak, kHeld, kMoved, kSure, kColumnCount };
  static constexpr int kShareRole = Qt::UserRole + 1;

  explicit AdviceModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  void SetPicture(std::shared_ptr<const AdvicePicture> picture);
  void SetGrouping(AdviceGrouping grouping);
  void SetNoiseShown(bool shown);
  // By entry of the picture; null = all pass.
  void SetPassing(std::shared_ptr<const std::vector<bool>> passing);

  bool filters() const { return passing_ != nullptr; }

  // Null for headings.
  const AdviceEntry* entry(const QModelIndex& index) const;
  // The first finding shown at a site.
  QModelIndex FindSite(analysis::StackId site) const;
  // The first finding shown.
  QModelIndex First() const;
  std::size_t shown() const { return shown_; }
  // Entries of the picture that the filter hides.
  std::size_t filtered() const { return filtered_; }
  QStringList Headings() const;
  QStringList RawRow(const AdviceEntry& entry) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  void sort(int column, Qt::SortOrder order) override;

 private:
  struct Group {
    QString title;
    std::vector<std::size_t> rows;  // of the picture
  };

  void Build();
  QString GroupOf(const AdviceEntry& entry) const;
  QVariant GroupData(const Group& group, int column, int role) const;
  QVariant EntryData(const AdviceEntry& entry, int column, int role) const;
  double Share(const AdviceEntry& entry, int column) const;

  std::shared_ptr<const AdvicePicture> picture_;
  std::shared_ptr<const std::vector<bool>> passing_;
  AdviceGrouping grouping_ = AdviceGrouping::kCost;
  bool noise_shown_ = false;
  int sorted_by_ = -1;
  Qt::SortOrder direction_ = Qt::DescendingOrder;
  std::vector<Group> groups_;  // in the order of their best finding
  std::size_t shown_ = 0, filtered_ = 0;
  double largest_[kColumnCount] = {};
};

}  // namespace memprof::viewer
