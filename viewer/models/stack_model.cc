// The frames of one call stack, innermost first.
#include "viewer/models/stack_model.h"

#include <QFont>
#include <utility>

#include "viewer/geometry/names.h"
#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

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
  site_row_ = -1;
  for (std::size_t i = 0; i < frames_.size() && site_row_ < 0; ++i) {
    if (frames_[i].function == site.function && frames_[i].file == site.file &&
        frames_[i].line == site.line) {
      site_row_ = static_cast<int>(i);
    }
  }
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
  return parent.isValid() ? 0 : static_cast<int>(frames_.size());
}

int StackModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant StackModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const analysis::SourceFrame& frame = frames_[static_cast<std::size_t>(index.row())];
  switch (role) {
    case Qt::DisplayRole:
      return index.column() == kFunction ? ShortFunction(ToQString(frame.function))
                                         : Place(frame, false);
    case Qt::ToolTipRole:
      return ToQString(frame.function) + QLatin1Char('\n') + Place(frame, true) +
             (frame.inlined ? tr("\ninlined into its caller") : QString());
    case Qt::FontRole: {
      QFont font;
      font.setBold(index.row() == site_row_);
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
