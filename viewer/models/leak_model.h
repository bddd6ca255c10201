// Suspected leaks, and memory that is merely alive at the end, as a tree with a branch per tier.
#pragma once

#include <QAbstractItemModel>
#include <functional>
#include <memory>

#include "viewer/models/document.h"

namespace memprof::viewer {

class LeakModel : public QAbstractItemModel {
  Q_OBJECT

 public:
  enum Column {
    kSite,
    kExample,
    kLayer,
    kScore,
    kBytes,
    kSlope,
    kBlocks,
    kFirstStep,
    kColumnCount
  };
  // A number to sort by, and the share of the largest in [0, 1] for bars (kBytes).
  static constexpr int kSortRole = Qt::UserRole + 1;
  static constexpr int kShareRole = Qt::UserRole + 2;

  explicit LeakModel(QObject* parent = nullptr) : QAbstractItemModel(parent) {}

  using ShownFunction = std::function<bool(const LeakRow&)>;

  // `shown` is called for each leak; empty = all are shown.
  void SetReport(std::shared_ptr<const ReportData> report, const ShownFunction& shown = {});
  // The leak of a row; null for the headings of tiers.
  const LeakRow* leak(const QModelIndex& index) const;
  // The row of a site; invalid where none is.
  QModelIndex FindSite(analysis::StackId site) const;

  QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
  QModelIndex parent(const QModelIndex& index) const override;
  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;
  // Within each tier.
  void sort(int column, Qt::SortOrder order) override;

 private:
  struct Tier {
    analysis::LeakTier tier = analysis::LeakTier::kLiveAtExit;
    bool rising = false;
    std::vector<const LeakRow*> rows;
    std::uint64_t bytes = 0;
  };

  void SortTier(Tier& tier) const;
  QVariant TierData(const Tier& tier, int column, int role) const;
  QVariant LeakData(const LeakRow& row, int column, int role) const;

  std::shared_ptr<const ReportData> report_;
  std::vector<Tier> tiers_;
  std::uint64_t largest_ = 0;
  int sort_column_ = -1;  // -1 = as the report has them, worst first
  Qt::SortOrder sort_order_ = Qt::DescendingOrder;
};

// "Definite", … with an explanation.
QString TierTitle(analysis::LeakTier tier);
QString TierMeaning(analysis::LeakTier tier);
QString RisingMeaning();

}  // namespace memprof::viewer
