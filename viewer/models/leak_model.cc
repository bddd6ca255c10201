// Suspected leaks and what merely lives at the end, by tier.
#include "viewer/models/leak_model.h"

#include <QFont>
#include <algorithm>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

using analysis::Leak;
using analysis::LeakTier;

// Internal id of a heading; rows of leaks carry their tier's index instead.
constexpr quintptr kHeading = ~quintptr{0};

QVariant SortValue(const Leak& leak, int column) {
  switch (column) {
    case LeakModel::kScore:
      return leak.score;
    case LeakModel::kBytes:
      return static_cast<qulonglong>(leak.bytes);
    case LeakModel::kSlope:
      return leak.bytes_per_step;
    case LeakModel::kBlocks:
      return static_cast<qulonglong>(leak.blocks);
    case LeakModel::kFirstStep:
      return static_cast<qlonglong>(leak.first_step);
    default:
      return {};
  }
}

QString LeakText(const LeakRow& row, int column) {
  const Leak& leak = row.leak;
  switch (column) {
    case LeakModel::kSite:
      if (!leak.stack.valid()) return LeakModel::tr("(no call stack)");
      return ShortSite(analysis::CallSite{row.site, row.library});
    case LeakModel::kExample:
      return row.example;
    case LeakModel::kLayer:
      return ToQString(analysis::LayerName(leak.layer));
    case LeakModel::kScore:
      return leak.tier == LeakTier::kLiveAtExit && !row.rising
                 ? QString()
                 : QString::number(leak.score, 'f', 0);
    case LeakModel::kBytes:
      return FormatBytes(leak.bytes);
    case LeakModel::kSlope:
      return leak.bytes_per_step > 0 ? FormatSignedBytes(leak.bytes_per_step) : QString();
    case LeakModel::kBlocks:
      return FormatCount(leak.blocks);
    case LeakModel::kFirstStep:
      return leak.first_step >= 0 ? QString::number(leak.first_step) : QStringLiteral("–");
    default:
      return {};
  }
}

}  // namespace

QString TierTitle(LeakTier tier) {
  switch (tier) {
    case LeakTier::kDefinite:
      return LeakModel::tr("Definite");
    case LeakTier::kSuspected:
      return LeakModel::tr("Suspected");
    case LeakTier::kGrowing:
      return LeakModel::tr("Growing");
    case LeakTier::kLiveAtExit:
      return LeakModel::tr("Alive at the end");
  }
  return {};
}

QString TierMeaning(LeakTier tier) {
  switch (tier) {
    case LeakTier::kDefinite:
      return LeakModel::tr("Nothing can free this memory any more, or its growth is certain.");
    case LeakTier::kSuspected:
      return LeakModel::tr("Allocations of many steps survive; each step adds to them.");
    case LeakTier::kGrowing:
      return LeakModel::tr(
          "Grows with the steps, but less regularly or not long enough to be sure.");
    case LeakTier::kLiveAtExit:
      return LeakModel::tr(
          "Not freed when the log ended, and no sign of a leak: weights, "
          "optimizer state, caches.");
  }
  return {};
}

QString RisingMeaning() {
  return LeakModel::tr(
      "Not level, and no leak by the rule either, or too slow to be judged in so short a run.");
}

void LeakModel::SetReport(std::shared_ptr<const ReportData> report, const ShownFunction& shown) {
  beginResetModel();
  report_ = std::move(report);
  tiers_.clear();
  largest_ = 0;
  if (report_ != nullptr) {
    for (Tier branch : {Tier{LeakTier::kDefinite}, Tier{LeakTier::kSuspected},
                        Tier{LeakTier::kGrowing}, Tier{.rising = true}, Tier{}}) {
      for (const std::vector<LeakRow>* rows : report_->rows()) {
        for (const LeakRow& row : *rows) {
          if (row.leak.tier != branch.tier || row.rising != branch.rising) continue;
          if (shown && !shown(row)) continue;
          branch.rows.push_back(&row);
          branch.bytes += row.leak.bytes;
          largest_ = std::max(largest_, row.leak.bytes);
        }
      }
      SortTier(branch);
      if (!branch.rows.empty()) tiers_.push_back(std::move(branch));
    }
  }
  endResetModel();
}

void LeakModel::SortTier(Tier& tier) const {
  if (sort_column_ < 0) return;
  const bool text = sort_column_ <= kLayer;
  const auto less = [&](const LeakRow* a, const LeakRow* b) {
    if (text) return LeakText(*a, sort_column_).localeAwareCompare(LeakText(*b, sort_column_)) < 0;
    return SortValue(a->leak, sort_column_).toDouble() <
           SortValue(b->leak, sort_column_).toDouble();
  };
  std::stable_sort(tier.rows.begin(), tier.rows.end(), [&](const LeakRow* a, const LeakRow* b) {
    return sort_order_ == Qt::AscendingOrder ? less(a, b) : less(b, a);
  });
}

void LeakModel::sort(int column, Qt::SortOrder order) {
  if (column >= kColumnCount) return;
  emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
  sort_column_ = column;
  sort_order_ = order;
  const QModelIndexList before = persistentIndexList();
  std::vector<const LeakRow*> rows;
  for (const QModelIndex& index : before) rows.push_back(leak(index));
  for (Tier& tier : tiers_) SortTier(tier);
  QModelIndexList after;
  for (qsizetype i = 0; i < before.size(); ++i) {
    const LeakRow* row = rows[static_cast<std::size_t>(i)];
    int place = before[i].row();
    if (row != nullptr) {
      const auto& in = tiers_[before[i].internalId()].rows;
      place = static_cast<int>(std::find(in.begin(), in.end(), row) - in.begin());
    }
    after << createIndex(place, before[i].column(), before[i].internalId());
  }
  changePersistentIndexList(before, after);
  emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

const LeakRow* LeakModel::leak(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == kHeading) return nullptr;
  return tiers_[index.internalId()].rows[static_cast<std::size_t>(index.row())];
}

QModelIndex LeakModel::FindSite(analysis::StackId site) const {
  if (!site.valid()) return {};
  for (std::size_t t = 0; t < tiers_.size(); ++t) {
    for (std::size_t r = 0; r < tiers_[t].rows.size(); ++r) {
      if (tiers_[t].rows[r]->leak.stack == site) {
        return createIndex(static_cast<int>(r), 0, static_cast<quintptr>(t));
      }
    }
  }
  return {};
}

QModelIndex LeakModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  if (!parent.isValid()) return createIndex(row, column, kHeading);
  return createIndex(row, column, static_cast<quintptr>(parent.row()));
}

QModelIndex LeakModel::parent(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == kHeading) return {};
  return createIndex(static_cast<int>(index.internalId()), 0, kHeading);
}

int LeakModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(tiers_.size());
  if (parent.internalId() != kHeading || parent.column() != 0) return 0;
  return static_cast<int>(tiers_[static_cast<std::size_t>(parent.row())].rows.size());
}

int LeakModel::columnCount(const QModelIndex&) const { return kColumnCount; }

QVariant LeakModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (role == Qt::TextAlignmentRole && index.column() > kLayer) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  const LeakRow* row = leak(index);
  if (row != nullptr) return LeakData(*row, index.column(), role);
  return TierData(tiers_[static_cast<std::size_t>(index.row())], index.column(), role);
}

QVariant LeakModel::TierData(const Tier& tier, int column, int role) const {
  if (role == Qt::FontRole) {
    QFont font;
    font.setBold(true);
    return font;
  }
  if (role == Qt::ToolTipRole) return tier.rising ? RisingMeaning() : TierMeaning(tier.tier);
  if (role != Qt::DisplayRole) return {};
  if (column == kSite) {
    const QString title = tier.rising ? tr("Rising, not sure to leak") : TierTitle(tier.tier);
    return QStringLiteral("%1 (%2)").arg(title).arg(tier.rows.size());
  }
  if (column == kBytes) return FormatBytes(tier.bytes);
  return {};
}

QVariant LeakModel::LeakData(const LeakRow& row, int column, int role) const {
  switch (role) {
    case Qt::DisplayRole:
      return LeakText(row, column);
    case kSortRole:
      return SortValue(row.leak, column);
    case Qt::ToolTipRole:
      if (column == kExample) return row.example;
      if (column != kSite) return Words(row.leak.why);
      return row.library.function.empty() ? ToQString(row.site.function)
                                          : ShortSite(analysis::CallSite{row.site, row.library});
    case kShareRole:
      if (column != kBytes || largest_ == 0) return {};
      return static_cast<double>(row.leak.bytes) / static_cast<double>(largest_);
    default:
      return {};
  }
}

QVariant LeakModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole && section > kLayer) {
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  }
  static const char* const kTitles[] = {"Allocated at", "For instance", "Layer",  "Score",
                                        "Surviving",    "Per step",     "Blocks", "Since step"};
  static const char* const kHelp[] = {"Where the surviving memory was allocated",
                                      "A tensor that survived",
                                      "Which kind of memory it is",
                                      "How strong the evidence is, 0 to 100",
                                      "Bytes that were still alive when the log ended",
                                      "Memory that is never freed, for each training step",
                                      "Number of surviving allocations",
                                      "Birth step of the oldest survivor that is evidence"};
  if (role == Qt::DisplayRole) return QString::fromUtf8(kTitles[section]);
  if (role == Qt::ToolTipRole) return QString::fromUtf8(kHelp[section]);
  return {};
}

}  // namespace memprof::viewer
