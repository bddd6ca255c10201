// A call tree as rows that come into being when they are opened.
#include "viewer/models/call_tree_model.h"

#include <QFont>
#include <algorithm>
#include <numeric>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

using analysis::CallTree;

// The number of rows that are searched for matches: a tree can be very large.
constexpr int kMaxRowsSearched = 200'000;

}  // namespace

std::vector<bool> MatchingFunctions(const analysis::CallStacks& stacks, const QString& text) {
  const auto functions = stacks.functions();
  std::vector<bool> matches(functions.size(), false);
  if (text.isEmpty()) return matches;
  for (std::size_t i = 0; i < functions.size(); ++i) {
    matches[i] = ToQString(functions[i].function).contains(text, Qt::CaseInsensitive) ||
                 ToQString(functions[i].file).contains(text, Qt::CaseInsensitive) ||
                 ToQString(functions[i].module).contains(text, Qt::CaseInsensitive);
  }
  return matches;
}

void CallTreeModel::SetTree(std::shared_ptr<const CallTree> tree, bool by_count) {
  beginResetModel();
  tree_ = std::move(tree);
  by_count_ = by_count;
  Restart();
  endResetModel();
}

void CallTreeModel::SetSearch(const QString& text) {
  if (text == search_) return;
  beginResetModel();
  search_ = text;
  Restart();
  endResetModel();
}

void CallTreeModel::Restart() {
  items_.clear();
  matches_.clear();
  matched_before_.clear();
  if (tree_ == nullptr) return;
  Item root;
  root.node = tree_->Root();
  items_.push_back(std::move(root));
  if (search_.isEmpty()) return;
  const analysis::CallStacks& stacks = tree_->stacks();
  matches_ = MatchingFunctions(stacks, search_);
  matched_before_.assign(stacks.size() + 1, 0);
  for (std::uint32_t place = 0; place < stacks.size(); ++place) {
    const auto path = stacks.path(tree_->stack(place));
    const bool match = std::any_of(path.begin(), path.end(), [&](std::uint32_t frame) {
      return matches_[stacks.FunctionOf(frame)];
    });
    matched_before_[place + 1] = matched_before_[place] + (match ? 1 : 0);
  }
}

double CallTreeModel::matched() const {
  if (tree_ == nullptr || search_.isEmpty()) return -1;
  return analysis::MatchedShare(tree_->stacks(), matches_, by_count_);
}

bool CallTreeModel::Visible(const CallTree::Node& node) const {
  return matched_before_.empty() || matched_before_[node.end] > matched_before_[node.begin];
}

bool CallTreeModel::Matches(const CallTree::Node& node) const {
  return node.depth > 0 && !matches_.empty() && matches_[tree_->stacks().FunctionOf(node.frame)];
}

const CallTreeModel::Item& CallTreeModel::Open(int item) const {
  const auto at = static_cast<std::size_t>(item);
  if (!items_[at].opened) {
    std::vector<int> children;
    const CallTree::Node node = items_[at].node;
    for (const CallTree::Node& child : tree_->Children(node, by_count_)) {
      if (!Visible(child)) continue;
      children.push_back(static_cast<int>(items_.size()));
      Item fresh;
      fresh.node = child;
      fresh.parent = item;
      items_.push_back(std::move(fresh));
    }
    SortChildren(children);
    items_[at].children = std::move(children);
    items_[at].opened = true;
  }
  return items_[at];
}

void CallTreeModel::SortChildren(std::vector<int>& children) const {
  const auto node = [this](int item) -> const CallTree::Node& {
    return items_[static_cast<std::size_t>(item)].node;
  };
  const auto number = [this](const CallTree::Node& n) {
    return sort_column_ == kBlocks ? n.inclusive.blocks
           : sort_column_ == kSelf ? n.self.bytes
                                   : n.inclusive.bytes;
  };
  const auto text = [this](const CallTree::Node& n) { return Text(n, sort_column_); };
  const auto less = [&](int a, int b) {
    if (sort_column_ != kFunction && sort_column_ != kPlace)
      return number(node(a)) < number(node(b));
    return text(node(a)).localeAwareCompare(text(node(b))) < 0;
  };
  std::stable_sort(children.begin(), children.end(), [&](int a, int b) {
    return sort_order_ == Qt::AscendingOrder ? less(a, b) : less(b, a);
  });
  for (std::size_t row = 0; row < children.size(); ++row)
    items_[static_cast<std::size_t>(children[row])].row = static_cast<int>(row);
}

void CallTreeModel::sort(int column, Qt::SortOrder order) {
  if (column < 0 || column >= kColumnCount) return;
  if (column == sort_column_ && order == sort_order_) return;
  emit layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
  const QModelIndexList before = persistentIndexList();
  sort_column_ = column;
  sort_order_ = order;
  for (Item& item : items_) SortChildren(item.children);
  QModelIndexList after;
  for (const QModelIndex& index : before) {
    const Item& item = items_[static_cast<std::size_t>(index.internalId())];
    after << createIndex(item.row, index.column(), index.internalId());
  }
  changePersistentIndexList(before, after);
  emit layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

const CallTree::Node* CallTreeModel::node(const QModelIndex& index) const {
  if (!index.isValid()) return nullptr;
  return &items_[static_cast<std::size_t>(index.internalId())].node;
}

const analysis::SourceFrame& CallTreeModel::frame(const QModelIndex& index) const {
  return tree_->stacks().frame(node(index)->frame);
}

analysis::StackId CallTreeModel::Stack(const QModelIndex& index) const {
  return index.isValid() ? tree_->Costliest(*node(index)) : analysis::StackId();
}

QModelIndex CallTreeModel::FindStack(analysis::StackId stack) const {
  if (tree_ == nullptr || !stack.valid()) return {};
  const auto size = static_cast<std::uint32_t>(tree_->stacks().size());
  std::uint32_t place = 0;
  while (place < size && tree_->stacks().site(tree_->stack(place)) != stack) ++place;
  if (place == size) return {};
  QModelIndex found;
  for (int item = 0;;) {
    const std::vector<int>& children = Open(item).children;
    const auto next = std::find_if(children.begin(), children.end(), [&](int child) {
      const CallTree::Node& at = items_[static_cast<std::size_t>(child)].node;
      return at.begin <= place && place < at.end;
    });
    if (next == children.end()) return found;
    item = *next;
    found = createIndex(items_[static_cast<std::size_t>(item)].row, 0, static_cast<quintptr>(item));
  }
}

QModelIndex CallTreeModel::NextMatch(const QModelIndex& from) const {
  if (tree_ == nullptr || search_.isEmpty()) return {};
  int item = ItemOf(from);
  for (int looked = 0; looked < kMaxRowsSearched; ++looked) {
    // The next row is the first child, otherwise the next sibling, otherwise the next sibling of
    // the nearest ancestor that has one.
    const std::vector<int>& children = Open(item).children;
    if (!children.empty()) {
      item = children.front();
    } else {
      for (;;) {
        const int parent = items_[static_cast<std::size_t>(item)].parent;
        if (parent < 0) return {};
        const std::vector<int>& beside = Open(parent).children;
        const auto next = static_cast<std::size_t>(items_[static_cast<std::size_t>(item)].row) + 1;
        item = parent;
        if (next >= beside.size()) continue;
        item = beside[next];
        break;
      }
    }
    const Item& at = items_[static_cast<std::size_t>(item)];
    if (Matches(at.node)) return createIndex(at.row, 0, static_cast<quintptr>(item));
  }
  return {};
}

QModelIndex CallTreeModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  const int item = Open(ItemOf(parent)).children[static_cast<std::size_t>(row)];
  return createIndex(row, column, static_cast<quintptr>(item));
}

QModelIndex CallTreeModel::parent(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  const int parent = items_[static_cast<std::size_t>(index.internalId())].parent;
  if (parent <= 0) return {};
  return createIndex(items_[static_cast<std::size_t>(parent)].row, 0,
                     static_cast<quintptr>(parent));
}

int CallTreeModel::rowCount(const QModelIndex& parent) const {
  if (tree_ == nullptr || parent.column() > 0) return 0;
  return static_cast<int>(Open(ItemOf(parent)).children.size());
}

int CallTreeModel::columnCount(const QModelIndex&) const { return kColumnCount; }

bool CallTreeModel::hasChildren(const QModelIndex& parent) const {
  if (tree_ == nullptr || parent.column() > 0) return false;
  const Item& item = items_[static_cast<std::size_t>(ItemOf(parent))];
  if (item.opened) return !item.children.empty();
  // During a search, only rows exist that match or have a match below them.
  return tree_->HasChildren(item.node) &&
         (search_.isEmpty() || !Open(ItemOf(parent)).children.empty());
}

QString CallTreeModel::Text(const CallTree::Node& node, int column) const {
  const analysis::SourceFrame& frame = tree_->stacks().frame(node.frame);
  switch (column) {
    case kFunction:
      return ShortFunction(ToQString(frame.function));
    case kInclusive:
      return FormatBytes(node.inclusive.bytes);
    case kSelf:
      return node.self.blocks == 0 ? QString() : FormatBytes(node.self.bytes);
    case kBlocks:
      return FormatCount(node.inclusive.blocks);
    default:
      return ShortPlace(frame);
  }
}

QString CallTreeModel::ToolTip(const CallTree::Node& node) const {
  const analysis::SourceFrame& frame = tree_->stacks().frame(node.frame);
  const double whole = static_cast<double>(tree_->stacks().total().value(by_count_));
  const double share = whole > 0 ? static_cast<double>(node.inclusive.value(by_count_)) / whole : 0;
  QString text = ToQString(frame.function);
  if (!frame.file.empty())
    text += QStringLiteral("\n%1:%2").arg(ToQString(frame.file)).arg(frame.line);
  else if (!frame.module.empty())
    text += QLatin1Char('\n') + ToQString(frame.module);
  text += tr("\n%1 in %2  ·  %3 of all")
              .arg(FormatBytes(node.inclusive.bytes),
                   FormatPlural(node.inclusive.blocks, tr("allocation")), FormatPercent(share));
  return text + (frame.python ? tr("\nPython") : tr("\nnative"));
}

QVariant CallTreeModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const CallTree::Node& at = *node(index);
  const bool number = index.column() > kFunction && index.column() < kPlace;
  switch (role) {
    case Qt::DisplayRole:
      return Text(at, index.column());
    case Qt::ToolTipRole:
      return ToolTip(at);
    case Qt::TextAlignmentRole:
      if (number) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
      return {};
    case Qt::FontRole: {
      if (index.column() != kFunction || !Matches(at)) return {};
      QFont font;
      font.setBold(true);
      return font;
    }
    case kShareRole: {
      const bool count = index.column() == kBlocks;
      const double whole = static_cast<double>(tree_->stacks().total().value(count));
      if (!number || whole <= 0) return {};
      const analysis::CallCost& cost = index.column() == kSelf ? at.self : at.inclusive;
      return static_cast<double>(cost.value(count)) / whole;
    }
    case kPythonRole:
      return tree_->stacks().frame(at.frame).python;
    case kMatchRole:
      return Matches(at);
    default:
      return {};
  }
}

QVariant CallTreeModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  if (role == Qt::TextAlignmentRole && section > kFunction && section < kPlace)
    return QVariant(Qt::AlignRight | Qt::AlignVCenter);
  static const char* const kTitles[] = {"Function", "Inclusive", "Self", "Allocations", "Place"};
  static const char* const kHelp[] = {
      "The function, with what is allocated through it below it",
      "Bytes allocated in this function and in what it called",
      "Bytes of the stacks that end here: in the bottom-up tree those that begin here",
      "Number of allocations, in this function and in what it called",
      "File and line, or the module where no source is known"};
  if (role == Qt::DisplayRole) return tr(kTitles[section]);
  if (role == Qt::ToolTipRole) return tr(kHelp[section]);
  return {};
}

}  // namespace memprof::viewer
