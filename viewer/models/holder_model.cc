// Who holds memory, as rows from the memory to the roots.
#include "viewer/models/holder_model.h"

#include <QFont>
#include <QRegularExpression>
#include <algorithm>
#include <utility>

#include "analysis/timeline/accesses.h"
#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"

namespace memprof::viewer {
namespace {

using analysis::HolderKind;

constexpr std::size_t kMostCopied = 1000, kMostInTip = 6;

// An end in words: what kind of holder it is, and which.
QString EndText(const analysis::HolderTree::Node& node) {
  const QString text = Words(node.text);
  switch (node.kind) {
    case HolderKind::kPython:
      return HolderModel::tr("Python: %1").arg(text);
    case HolderKind::kAutograd:
      return HolderModel::tr("autograd: %1").arg(text);
    case HolderKind::kCpp:
      return text == QLatin1String("native code") ? text
                                                  : HolderModel::tr("native code: %1").arg(text);
    case HolderKind::kCycle:
      return text == QLatin1String("cycle") ? HolderModel::tr("↺ waits for the collector")
                                            : HolderModel::tr("↺ cycle: %1").arg(text);
    case HolderKind::kUnknown:
      break;
  }
  return text;
}

}  // namespace

void HolderModel::SetTree(std::shared_ptr<const analysis::HolderTree> tree, HeldMemory memory) {
  beginResetModel();
  tree_ = std::move(tree);
  if (tree_ != nullptr && tree_->empty()) tree_.reset();
  memory_ = std::move(memory);
  endResetModel();
}

int HolderModel::size() const {
  return tree_ == nullptr ? 0 : static_cast<int>(tree_->nodes.size()) + (has_rest() ? 1 : 0);
}

bool HolderModel::differs() const {
  return tree_ != nullptr &&
         std::any_of(tree_->nodes.begin(), tree_->nodes.end(),
                     [this](const Node& node) { return node.blocks != memory_.blocks; });
}

// The row of the rest comes after the children of the memory, and its id after those of the nodes.
bool HolderModel::has_rest() const { return memory_.blocks > tree_->nodes[0].blocks; }

const HolderModel::Node* HolderModel::node(const QModelIndex& index) const {
  const auto id = static_cast<std::size_t>(IdOf(index));
  return id < tree_->nodes.size() ? &tree_->nodes[id] : nullptr;
}

QModelIndex HolderModel::index(int row, int column, const QModelIndex& parent) const {
  if (!hasIndex(row, column, parent)) return {};
  if (!parent.isValid()) return createIndex(row, column, quintptr{0});
  const std::vector<int>& children = node(parent)->children;
  const auto at = static_cast<std::size_t>(row);
  return createIndex(row, column,
                     at < children.size() ? static_cast<quintptr>(children[at])
                                          : static_cast<quintptr>(tree_->nodes.size()));
}

QModelIndex HolderModel::parent(const QModelIndex& index) const {
  if (!index.isValid()) return {};
  const Node* own = node(index);
  const int parent = own == nullptr ? 0 : own->parent;
  if (parent < 0) return {};
  if (parent == 0) return createIndex(0, 0, quintptr{0});
  const Node& outer = tree_->nodes[static_cast<std::size_t>(parent)];
  const std::vector<int>& siblings = tree_->nodes[static_cast<std::size_t>(outer.parent)].children;
  const auto row = std::find(siblings.begin(), siblings.end(), parent) - siblings.begin();
  return createIndex(static_cast<int>(row), 0, static_cast<quintptr>(parent));
}

int HolderModel::rowCount(const QModelIndex& parent) const {
  if (tree_ == nullptr || parent.column() > 0) return 0;
  if (!parent.isValid()) return 1;
  const Node* own = node(parent);
  if (own == nullptr) return 0;
  return static_cast<int>(own->children.size()) + (own->parent < 0 && has_rest() ? 1 : 0);
}

int HolderModel::columnCount(const QModelIndex&) const { return kColumnCount; }

QString HolderModel::Text(const QModelIndex& index) const {
  const Node* own = node(index);
  if (index.column() == kObject) {
    if (own == nullptr) return tr("no look found what holds the rest");
    if (own->parent < 0) return memory_.name;
    return own->is_end() ? EndText(*own) : Words(own->text);
  }
  const Node& held = tree_->nodes[0];
  const std::uint64_t bytes = own == nullptr ? memory_.bytes - std::min(memory_.bytes, held.bytes)
                              : own->parent < 0 ? memory_.bytes
                                                : own->bytes;
  const std::uint64_t blocks = own == nullptr    ? memory_.blocks - held.blocks
                               : own->parent < 0 ? memory_.blocks
                                                 : own->blocks;
  return index.column() == kBytes ? FormatBytes(bytes) : FormatCount(blocks);
}

QString HolderModel::Paths(const QModelIndex& index) const {
  if (!index.isValid() || node(index) == nullptr) return {};
  QStringList lines;
  for (const std::string& path : tree_->PathsBelow(IdOf(index), kMostCopied))
    lines << ToQString(path);
  return lines.join(QLatin1Char('\n'));
}

QString HolderModel::ToolTip(const QModelIndex& index) const {
  if (node(index) == nullptr)
    return tr("Born after the last look, freed before the next one, or held by what is not seen");
  const std::vector<std::string> paths = tree_->PathsBelow(IdOf(index), kMostInTip + 1);
  QStringList lines;
  for (std::size_t i = 0; i < std::min(kMostInTip, paths.size()); ++i) lines << Words(paths[i]);
  if (paths.size() > kMostInTip) lines << QStringLiteral("…");
  return lines.join(QLatin1Char('\n'));
}

std::optional<analysis::SourceFrame> HolderModel::Place(const QModelIndex& index) const {
  static const QRegularExpression kPlace(QStringLiteral("([\\w.+-]+\\.\\w+):(\\d+)"),
                                         QRegularExpression::UseUnicodePropertiesOption);
  if (!index.isValid() || node(index) == nullptr) return std::nullopt;
  QRegularExpressionMatch last;
  auto matches = kPlace.globalMatch(Text(index.siblingAtColumn(kObject)));
  while (matches.hasNext()) last = matches.next();
  if (!last.hasMatch()) return std::nullopt;
  analysis::SourceFrame frame;
  frame.file = last.captured(1).toStdString();
  frame.line = last.captured(2).toInt();
  return frame;
}

QVariant HolderModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || tree_ == nullptr) return {};
  const Node* own = node(index);
  switch (role) {
    case Qt::DisplayRole:
      return Text(index);
    case Qt::ToolTipRole:
      return ToolTip(index);
    case Qt::TextAlignmentRole:
      return index.column() == kObject ? QVariant()
                                       : QVariant(int(Qt::AlignRight | Qt::AlignVCenter));
    case Qt::FontRole: {
      QFont font;
      font.setItalic(true);
      return own == nullptr ? QVariant(font) : QVariant();
    }
    default:
      return {};
  }
}

QVariant HolderModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::TextAlignmentRole && section != kObject)
    return int(Qt::AlignRight | Qt::AlignVCenter);
  if (role != Qt::DisplayRole) return {};
  return section == kObject ? tr("Held by") : section == kBytes ? tr("Bytes") : tr("Blocks");
}

QString WhyNoHolder(const analysis::Holders& holders, analysis::AllocationId id) {
  const analysis::Session& session = holders.session();
  const analysis::AllocationRecord& record = session.record(id);
  const bool looked_at = record.layer == analysis::Layer::kBlock ||
                         (analysis::HasAddress(record.layer) && record.device >= 0 &&
                          record.layer != analysis::Layer::kSegment && !session.IsSuballocated(id));
  if (!holders.any() || !looked_at) return {};
  if (holders.LooksDuring(id) > 0) return HolderModel::tr("Held by: no look found what holds it");
  return record.alive() ? HolderModel::tr("Held by: not known, it was born after the last look")
                        : HolderModel::tr("Held by: not known, it lived between two looks");
}

analysis::AllocationId HeldBlock(const analysis::Session& session, analysis::AllocationId id) {
  const analysis::AllocationRecord& record = session.record(id);
  return record.layer == analysis::Layer::kTensor && record.parent.valid() ? record.parent : id;
}

}  // namespace memprof::viewer
