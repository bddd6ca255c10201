// Findings as rows.
#include "viewer/models/advice_model.h"

#include <QColor>
#include <QFont>
#include <QLocale>
#include <algorithm>
#include <map>
#include <utility>

#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

using analysis::Finding;

// Internal ids: 0 for headings, else 1 + the row's group.
constexpr quintptr kTop = 0;

// The sort key of a column of figures.
double FigureOf(const AdviceEntry& entry, int column) {
  switch (column) {
    case AdviceModel::kPeak:
      return static_cast<double>(entry.finding.saves_bytes);
    case AdviceModel::kHeld:
      return entry.held;
    case AdviceModel::kMoved:
      return static_cast<double>(entry.finding.moved_bytes);
    case AdviceModel::kSure:
      return static_cast<double>(entry.finding.confidence);
    default:
      return 0;
  }
}

QString PeakText(const AdviceEntry& entry) {
  const Finding& f = entry.finding;
  if (!f.peak_of && f.saves_bytes == 0) return QStringLiteral("–");
  if (f.saves_bytes == 0) return QStringLiteral("0 B");
  return (f.upper_bound ? QStringLiteral("≤ ") : QString()) + FormatBytes(f.saves_bytes);
}

QString BytesOrDash(double bytes) {
  return bytes < 1 ? QStringLiteral("–") : FormatBytes(static_cast<std::uint64_t>(bytes));
}

}  // namespace

void AdviceModel::SetPicture(std::shared_ptr<const AdvicePicture> picture) {
  picture_ = std::move(picture);
  passing_.reset();
  Build();
}

void AdviceModel::SetGrouping(AdviceGrouping grouping) {
  grouping_ = grouping;
  Build();
}

void AdviceModel::SetNoiseShown(bool shown) {
  noise_shown_ = shown;
  Build();
}

void AdviceModel::SetPassing(std::shared_ptr<const std::vector<bool>> passing) {
  passing_ = std::move(passing);
  Build();
}

QString AdviceModel::GroupOf(const AdviceEntry& entry) const {
  switch (grouping_) {
    case AdviceGrouping::kCost:
      return IsTradeOff(entry.finding.pattern) ? tr("Trade-offs and bounds") : tr("At no cost");
    case AdviceGrouping::kPattern:
      return Capitalised(Words(PatternName(entry.finding.pattern)));
    case AdviceGrouping::kSite:
      break;
  }
  return entry.site;
}

void AdviceModel::Build() {
  beginResetModel();
  groups_.clear();
  shown_ = filtered_ = 0;
  std::fill(std::begin(largest_), std::end(largest_), 0.0);
  std::map<QString, std::size_t> known;
  const std::size_t count = picture_ == nullptr ? 0 : picture_->entries.size();
  for (std::size_t i = 0; i < count; ++i) {
    const AdviceEntry& entry = picture_->entries[i];
    if (entry.finding.below_noise && !noise_shown_) continue;
    if (passing_ != nullptr && i < passing_->size() && !(*passing_)[i]) {
      ++filtered_;
      continue;
    }
    ++shown_;
    for (int column = kPeak; column <= kMoved; ++column)
      largest_[column] = std::max(largest_[column], FigureOf(entry, column));
    const QString title = GroupOf(entry);
    const std::size_t group = known.try_emplace(title, groups_.size()).first->second;
    if (group == groups_.size()) groups_.push_back({title, {}});
    groups_[group].rows.push_back(i);
  }
  if (sorted_by_ >= 0) {
    const auto less = [this](std::size_t a, std::size_t b) {
      const AdviceEntry& x = picture_->entries[a];
      const AdviceEntry& y = picture_->entries[b];
      if (sorted_by_ == kWhat) return x.finding.pattern < y.finding.pattern;
      if (sorted_by_ == kSite) return QString::localeAwareCompare(x.site, y.site) < 0;
      return FigureOf(x, sorted_by_) < FigureOf(y, sorted_by_);
    };
    for (Group& group : groups_)
      std::stable_sort(group.rows.begin(), group.rows.end(), [&](std::size_t a, std::size_t b) {
        return direction_ == Qt::AscendingOrder ? less(a, b) : less(b, a);
      });
  }
  endResetModel();
}

void AdviceModel::sort(int column, Qt::SortOrder order) {
  sorted_by_ = column;
  direction_ = order;
  Build();
}

const AdviceEntry* AdviceModel::entry(const QModelIndex& index) const {
  if (!index.isValid() || picture_ == nullptr) return nullptr;
  if (index.internalId() == kTop) return nullptr;
  const Group& group = groups_[index.internalId() - 1];
  return &picture_->entries[group.rows[static_cast<std::size_t>(index.row())]];
}

QModelIndex AdviceModel::FindSite(analysis::StackId site) const {
  if (!site.valid()) return {};
  for (std::size_t g = 0; g < groups_.size(); ++g)
    for (std::size_t i = 0; i < groups_[g].rows.size(); ++i)
      if (picture_->entries[groups_[g].rows[i]].finding.stack == site)
        return createIndex(static_cast<int>(i), 0, g + 1);
  return {};
}

QModelIndex AdviceModel::First() const {
  if (shown_ == 0) return {};
  return createIndex(0, 0, quintptr{1});
}

QStringList AdviceModel::Headings() const {
  return {QStringLiteral("pattern"),
          QStringLiteral("site"),
          QStringLiteral("device"),
          QStringLiteral("layer"),
          QStringLiteral("off_peak_bytes"),
          QStringLiteral("new_peak_bytes"),
          QStringLiteral("byte_seconds"),
          QStringLiteral("held_bytes"),
          QStringLiteral("moved_bytes"),
          QStringLiteral("count"),
          QStringLiteral("bytes"),
          QStringLiteral("confidence"),
          QStringLiteral("below_noise"),
          QStringLiteral("why"),
          QStringLiteral("fix"),
          QStringLiteral("assumption")};
}

QStringList AdviceModel::RawRow(const AdviceEntry& entry) const {
  const Finding& f = entry.finding;
  return {ToQString(PatternId(f.pattern)),
          entry.site,
          QString::number(f.device),
          ToQString(LayerName(f.layer)),
          QString::number(f.saves_bytes),
          f.peak_of ? QString::number(f.new_peak.bytes) : QString(),
          QString::number(f.byte_seconds, 'f', QLocale::FloatingPointShortest),
          QString::number(entry.held, 'f', 0),
          QString::number(f.moved_bytes),
          QString::number(f.count),
          QString::number(f.bytes),
          ToQString(ConfidenceName(f.confidence)),
          QString::number(f.below_noise ? 1 : 0),
          ToQString(f.why),
          ToQString(f.fix),
          ToQString(f.assumption)};
}

QModelIndex AdviceModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  return createIndex(row, column,
                     parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : kTop);
}

QModelIndex AdviceModel::parent(const QModelIndex& index) const {
  if (!index.isValid() || index.internalId() == kTop) return {};
  return createIndex(static_cast<int>(index.internalId() - 1), 0, kTop);
}

int AdviceModel::rowCount(const QModelIndex& parent) const {
  if (!parent.isValid()) return static_cast<int>(groups_.size());
  if (parent.internalId() != kTop || parent.column() != 0) return 0;
  return static_cast<int>(groups_[static_cast<std::size_t>(parent.row())].rows.size());
}

int AdviceModel::columnCount(const QModelIndex&) const { return kColumnCount; }

double AdviceModel::Share(const AdviceEntry& entry, int column) const {
  if (column < kPeak || column > kMoved || largest_[column] <= 0) return -1;
  return FigureOf(entry, column) / largest_[column];
}

QVariant AdviceModel::GroupData(const Group& group, int column, int role) const {
  if (role == Qt::FontRole) {
    QFont font;
    font.setBold(true);
    return font;
  }
  if (role == Qt::TextAlignmentRole && column >= kPeak && column <= kMoved)
    return QVariant::fromValue(Qt::AlignVCenter | Qt::AlignRight);
  if (role != Qt::DisplayRole) return {};
  if (column == kWhat) return group.title;
  if (column == kSite) return FormatPlural(group.rows.size(), tr("finding"));
  return {};
}

QVariant AdviceModel::EntryData(const AdviceEntry& entry, int column, int role) const {
  const Finding& f = entry.finding;
  switch (role) {
    case Qt::DisplayRole:
      switch (column) {
        case kWhat:
          return Capitalised(Words(PatternName(f.pattern)));
        case kSite:
          return entry.site;
        case kPeak:
          return PeakText(entry);
        case kHeld:
          return BytesOrDash(entry.held);
        case kMoved:
          return BytesOrDash(static_cast<double>(f.moved_bytes));
        case kSure:
          return ToQString(ConfidenceName(f.confidence));
        default:
          return {};
      }
    case Qt::ToolTipRole:
      return Words(f.why);
    case Qt::TextAlignmentRole:
      return QVariant::fromValue(
          Qt::AlignVCenter |
          (column >= kPeak && column <= kMoved ? Qt::AlignRight : Qt::AlignLeft));
    case Qt::FontRole: {
      if (!f.below_noise) return {};
      QFont font;
      font.setItalic(true);
      return font;
    }
    case kShareRole: {
      const double share = Share(entry, column);
      return share < 0 ? QVariant() : QVariant(share);
    }
    default:
      return {};
  }
}

QVariant AdviceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  if (const AdviceEntry* found = entry(index)) return EntryData(*found, index.column(), role);
  return GroupData(groups_[static_cast<std::size_t>(index.row())], index.column(), role);
}

QVariant AdviceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole && section >= kPeak && section <= kMoved)
    return QVariant::fromValue(Qt::AlignVCenter | Qt::AlignRight);
  if (role == Qt::ToolTipRole) {
    switch (section) {
      case kPeak:
        return tr("How much lower the peak would be, exactly, had all of it been changed");
      case kHeld:
        return tr("Bytes less held, on average of the run (byte·seconds by its length)");
      case kMoved:
        return tr("Bytes of copies and memsets that would no longer be made");
      case kSure:
        return tr(
            "Certain: proved by the events alone. Likely: true unless pointers in device memory or "
            "other streams contradict it. Possible: under the assumption named below.");
      default:
        return {};
    }
  }
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case kWhat:
      return tr("Pattern");
    case kSite:
      return tr("Call site");
    case kPeak:
      return tr("Off the peak");
    case kHeld:
      return tr("Less held");
    case kMoved:
      return tr("Less moved");
    case kSure:
      return tr("Sure");
    default:
      return {};
  }
}

}  // namespace memprof::viewer
