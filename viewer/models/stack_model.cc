// The frames of one call stack, innermost first.
#include "viewer/models/stack_model.h"

#include <QFont>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

// Fewer frames than these are shown as they are.
constexpr int kFoldFrom = 5;

QString Place(const analysis::SourceFrame& frame, bool full_path) {
  if (frame.file.empty()) return ToQString(frame.module);
  const QString file = ToQString(frame.file);
  QString place = full_path ? file : BaseName(file);
  if (frame.line > 0) place += QStringLiteral(":%1").arg(frame.line);
  return place;
}

}  // namespace

void StackModel::SetFrames(std::vector<analysis::SourceFrame> frames,
                           const analysis::SourceFrame& site) {
  beginResetModel();
  frames_ = std::move(frames);
  site_ = -1;
  for (std::size_t i = 0; i < frames_.size() && site_ < 0; ++i) {
    if (frames_[i].function == site.function && frames_[i].file == site.file &&
        frames_[i].line == site.line) {
      site_ = static_cast<int>(i);
    }
  }
  folded_ = site_ >= kFoldFrom ? site_ : 0;
  endResetModel();
}

void StackModel::Unfold() {
  if (folded_ == 0) return;
  beginResetModel();
  folded_ = 0;
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
  return static_cast<int>(frames_.size()) - folded_ + (folded_ > 0 ? 1 : 0);
}

int StackModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant StackModel::FoldData(int column, int role) const {
  if (role == Qt::DisplayRole && column == kFunction) return tr("%1 inner frames").arg(folded_);
  if (role == Qt::ToolTipRole) {
    QString text = tr("Of libraries and allocators. Enter or a double click shows them:");
    for (int i = 0; i < folded_; ++i)
      text += QLatin1Char('\n') +
              ShortFunction(ToQString(frames_[static_cast<std::size_t>(i)].function));
    return text;
  }
  if (role != Qt::FontRole) return {};
  QFont font;
  font.setItalic(true);
  return font;
}

QVariant StackModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  if (IsFold(index.row())) return FoldData(index.column(), role);
  const analysis::SourceFrame& frame = frames_[IndexOf(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kFunction ? ShortFunction(ToQString(frame.function))
                                         : Place(frame, false);
    case Qt::ToolTipRole:
      return ToQString(frame.function) + QLatin1Char('\n') + Place(frame, true) +
             (frame.inlined ? tr("\ninlined into its caller") : QString());
    case Qt::FontRole: {
      QFont font;
      font.setBold(static_cast<int>(IndexOf(index.row())) == site_);
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
