// Functions with what they cost.
#include "viewer/models/function_model.h"

#include <algorithm>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"
#include "viewer/models/call_tree_model.h"

namespace memprof::viewer {

using analysis::FunctionCost;

FunctionModel::FunctionModel(QString title, QObject* parent)
    : QAbstractTableModel(parent), title_(std::move(title)) {}

void FunctionModel::SetRows(std::shared_ptr<const analysis::CallStacks> stacks,
                            std::vector<FunctionCost> costs, bool by_count) {
  beginResetModel();
  stacks_ = std::move(stacks);
  costs_ = std::move(costs);
  by_count_ = by_count;
  Arrange();
  endResetModel();
}

void FunctionModel::SetSearch(const QString& text) {
  if (text == search_) return;
  beginResetModel();
  search_ = text;
  Arrange();
  endResetModel();
}

void FunctionModel::Arrange() {
  shown_.clear();
  if (stacks_ == nullptr) return;
  const std::vector<bool> matches =
      search_.isEmpty() ? std::vector<bool>() : MatchingFunctions(*stacks_, search_);
  for (std::size_t i = 0; i < costs_.size(); ++i)
    if (matches.empty() || matches[costs_[i].function]) shown_.push_back(i);
  const auto number = [this](const FunctionCost& cost) {
    return sort_column_ == kBlocks ? cost.inclusive.blocks
           : sort_column_ == kSelf ? cost.self.value(by_count_)
                                   : cost.inclusive.value(by_count_);
  };
  const bool text = sort_column_ == kFunction || sort_column_ == kPlace;
  std::vector<QString> names(text ? costs_.size() : 0);
  if (text)
    for (const std::size_t i : shown_) names[i] = Text(costs_[i], sort_column_);
  const auto less = [&](std::size_t a, std::size_t b) {
    return text ? names[a].localeAwareCompare(names[b]) < 0 : number(costs_[a]) < number(costs_[b]);
  };
  std::stable_sort(shown_.begin(), shown_.end(), [&](std::size_t a, std::size_t b) {
    return sort_order_ == Qt::AscendingOrder ? less(a, b) : less(b, a);
  });
}

void FunctionModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || column >= kColumnCount) return;
  if (column == sort_column_ && order == sort_order_) return;
  emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
  const QModelIndexList before = persistentIndexList();
  const std::vector<std::size_t> was = shown_;
  sort_column_ = column;
  sort_order_ = order;
  Arrange();
  std::vector<int> now(costs_.size(), -1);
  for (std::size_t row = 0; row < shown_.size(); ++row) now[shown_[row]] = static_cast<int>(row);
  QModelIndexList after;
  for (const QModelIndex& index : before)
    after << this->index(now[was[static_cast<std::size_t>(index.row())]], index.column());
  changePersistentIndexList(before, after);
  emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

const analysis::SourceFrame& FunctionModel::frame(int row) const {
  return stacks_->functions()[this->row(row).function];
}

int FunctionModel::FindFunction(std::uint32_t function) const {
  const auto at = std::find_if(shown_.begin(), shown_.end(),
                               [&](std::size_t i) { return costs_[i].function == function; });
  return at == shown_.end() ? -1 : static_cast<int>(at - shown_.begin());
}

int FunctionModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(shown_.size());
}

int FunctionModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QString FunctionModel::Text(const FunctionCost& cost, int column) const {
  const analysis::SourceFrame& frame = stacks_->functions()[cost.function];
  switch (column) {
    case kFunction:
      return ShortFunction(ToQString(frame.function));
    case kInclusive:
      return FormatBytes(cost.inclusive.bytes);
    case kSelf:
      return cost.self.blocks == 0 ? QString() : FormatBytes(cost.self.bytes);
    case kBlocks:
      return FormatCount(cost.inclusive.blocks);
    default:
      return ShortPlace(frame);
  }
}

QVariant FunctionModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const FunctionCost& cost = row(index.row());
  const analysis::SourceFrame& source = frame(index.row());
  const bool number = index.column() > kFunction && index.column() < kPlace;
  switch (role) {
    case Qt::DisplayRole:
      return Text(cost, index.column());
    case Qt::ToolTipRole:
      return ToQString(source.function) +
             (source.file.empty()
                  ? QString()
                  : QStringLiteral("\n%1:%2").arg(ToQString(source.file)).arg(source.line)) +
             (source.python ? tr("\nPython") : tr("\nnative"));
    case Qt::TextAlignmentRole:
      if (number) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
      return {};
    case kShareRole: {
      const bool count = index.column() == kBlocks;
      const double whole = static_cast<double>(stacks_->total().value(count));
      if (!number || whole <= 0) return {};
      const analysis::CallCost& shown = index.column() == kSelf ? cost.self : cost.inclusive;
      return static_cast<double>(shown.value(count)) / whole;
    }
    case kPythonRole:
      return source.python;
    default:
      return {};
  }
}

QVariant FunctionModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole && section > kFunction && section < kPlace)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  static const char* const kTitles[] = {"", "Inclusive", "Self", "Allocations", "Place"};
  return section == kFunction ? title_ : tr(kTitles[section]);
}

}  // namespace memprof::viewer
