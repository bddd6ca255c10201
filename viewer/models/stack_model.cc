// The frames of one call stack, innermost first.
#include "viewer/models/stack_model.h"

#include <QFont>
#include <algorithm>
#include <utility>

#include "analysis/symbols/site_choice.h"
#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

// Fewer frames than these are not folded: between an allocation and its site they may show the
// operator.
constexpr std::size_t kFoldInner = 5, kFoldOuter = 2;

QString WholePlace(const analysis::SourceFrame& frame) {
  if (frame.file.empty() || frame.line <= 0)
    return ToQString(frame.file.empty() ? frame.module : frame.file);
  return QStringLiteral("%1:%2").arg(ToQString(frame.file)).arg(frame.line);
}

}  // namespace

void StackModel::SetFrames(std::vector<analysis::SourceFrame> frames,
                           const analysis::SourceFrame& site) {
  beginResetModel();
  frames_ = std::move(frames);
  const auto found =
      std::find_if(frames_.begin(), frames_.end(), [&](const analysis::SourceFrame& frame) {
        return frame.function == site.function && frame.file == site.file &&
               frame.line == site.line;
      });
  site_ = static_cast<std::size_t>(found - frames_.begin());
  Fold();
  endResetModel();
}

// If all known frames are of libraries, everything outside of the site is shown.
void StackModel::Fold() {
  rows_.clear();
  const bool known = site_ < frames_.size() && !analysis::IsPlumbing(frames_[site_]);
  for (std::size_t i = 0; i < frames_.size();) {
    std::size_t count = 1;
    if (i == 0 && site_ >= kFoldInner && site_ < frames_.size()) {
      count = site_;
    } else if (known && i > site_) {
      std::size_t end = i;
      while (end < frames_.size() && analysis::IsPlumbing(frames_[end])) ++end;
      if (end - i >= kFoldOuter) count = end - i;
    }
    rows_.push_back({i, count});
    i += count;
  }
}

void StackModel::Unfold(int row) {
  if (row >= rowCount() || !IsFold(row)) return;
  beginResetModel();
  const Row fold = RowAt(row);
  std::vector<Row> single;
  for (std::size_t i = 0; i < fold.count; ++i) single.push_back({fold.begin + i, 1});
  const auto at = rows_.erase(rows_.begin() + row);
  rows_.insert(at, single.begin(), single.end());
  endResetModel();
}

QString StackModel::Text() const {
  QString text;
  for (const analysis::SourceFrame& frame : frames_) {
    text += ToQString(analysis::Symbols::Describe(frame)) + QLatin1Char('\n');
  }
  return text;
}

int StackModel::rowCount(const QModelIndex& parent) const {
  if (parent.isValid()) return 0;
  return static_cast<int>(rows_.size());
}

int StackModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant StackModel::FoldData(const Row& row, int column, int role) const {
  if (role == Qt::DisplayRole && column == kFunction)
    return (row.begin == 0 ? tr("%1 inner frames") : tr("%1 frames of libraries")).arg(row.count);
  if (role == Qt::ToolTipRole) {
    QString text = tr("Of libraries and allocators. Enter or a double click shows them:");
    for (std::size_t i = 0; i < row.count; ++i)
      text += QLatin1Char('\n') + ShortFunction(ToQString(frames_[row.begin + i].function));
    return text;
  }
  if (role != Qt::FontRole) return {};
  QFont font;
  font.setItalic(true);
  return font;
}

QVariant StackModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const Row& row = RowAt(index.row());
  if (row.count > 1) return FoldData(row, index.column(), role);
  const analysis::SourceFrame& frame = frames_[row.begin];
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kFunction ? ShortFunction(ToQString(frame.function))
                                         : ShortPlace(frame);
    case Qt::ToolTipRole:
      return ToQString(frame.function) + QLatin1Char('\n') + WholePlace(frame) +
             (frame.inlined ? tr("\ninlined into its caller") : QString());
    case Qt::FontRole: {
      QFont font;
      font.setBold(row.begin == site_);
      font.setItalic(frame.inlined);
      if (!font.bold() && !font.italic()) return {};
      return font;
    }
    default:
      return {};
  }
}

QVariant StackModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
  return section == kFunction ? tr("Function") : tr("Place");
}

}  // namespace memprof::viewer
