// Findings about a log's trustworthiness as a table.
#include "viewer/models/quality_model.h"

#include <QFont>
#include <array>
#include <utility>

#include "viewer/geometry/words.h"

namespace memprof::viewer {

void QualityModel::SetRows(std::vector<QualityRow> rows) {
  beginResetModel();
  rows_ = std::move(rows);
  endResetModel();
}

int QualityModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int QualityModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant QualityModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const QualityRow& shown = row(index.row());
  switch (role) {
    case Qt::DisplayRole:
    case kPlainRole:
      switch (index.column()) {
        case kArea: {
          // Once for the rows of an area that follow each other.
          const bool again = index.row() > 0 && row(index.row() - 1).area == shown.area;
          return again && role == Qt::DisplayRole ? QString() : shown.area;
        }
        case kSubject:
          return shown.subject;
        case kGrade:
          return role == kPlainRole ? GradeName(shown.grade) : GradeLabel(shown.grade);
        default: {
          const QString& text = index.column() == kFinding ? shown.finding : shown.advice;
          return role == kPlainRole ? text : WithUnits(text);
        }
      }
    case Qt::ToolTipRole:
      return index.column() == kAdvice ? shown.advice : shown.finding;
    case Qt::TextAlignmentRole:
      return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    case Qt::FontRole:
      if (index.column() == kArea) {
        QFont font;
        font.setBold(true);
        return font;
      }
      return {};
    case kGradeRole:
      return static_cast<int>(shown.grade);
    default:
      return {};
  }
}

QVariant QualityModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal || section < 0 || section >= kColumnCount) return {};
  static constexpr std::array<const char*, kColumnCount> kTitles = {"Area", "Subject", "Verdict",
                                                                    "Finding", "What to do"};
  static constexpr std::array<const char*, kColumnCount> kPlain = {"area", "subject", "verdict",
                                                                   "finding", "advice"};
  const auto i = static_cast<std::size_t>(section);
  if (role == Qt::DisplayRole) return tr(kTitles[i]);
  if (role == kPlainRole) return QString::fromUtf8(kPlain[i]);
  if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
  return {};
}

}  // namespace memprof::viewer
