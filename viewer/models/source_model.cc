// The lines of a source file with the memory of each.
#include "viewer/models/source_model.h"

#include <QFontDatabase>
#include <QGuiApplication>
#include <algorithm>
#include <utility>

#include "viewer/geometry/units.h"

namespace memprof::viewer {

QFont CodeFont() {
  QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
  font.setPointSizeF(QGuiApplication::font().pointSizeF());
  return font;
}

void SourceModel::SetPicture(SourcePicture picture) {
  beginResetModel();
  picture_ = std::move(picture);
  rows_.clear();
  longest_ = 0;
  const std::size_t known = picture_.text == nullptr ? 0 : picture_.text->lines.size();
  for (std::size_t i = 0; i < known; ++i) {
    rows_.push_back(static_cast<int>(i) + 1);
    longest_ = std::max(longest_, static_cast<int>(picture_.text->lines[i].size()));
  }
  for (const analysis::SourceLine& line : picture_.lines)
    if (line.line > static_cast<int>(known)) rows_.push_back(line.line);
  Changed();
  endResetModel();
}

void SourceModel::SetInclusive(bool inclusive) {
  if (inclusive_ == inclusive) return;
  inclusive_ = inclusive;
  Changed();
  if (rowCount() > 0) emit dataChanged(index(0, 0), index(rowCount() - 1, kLeaked));
}

void SourceModel::SetMarked(int line) {
  if (marked_ == line) return;
  const int rows[] = {RowOf(std::exchange(marked_, line)), RowOf(line)};
  for (const int row : rows)
    if (row >= 0) emit dataChanged(index(row, 0), index(row, kText));
}

void SourceModel::Changed() {
  for (int column = kLive; column < kLine; ++column) {
    largest_[column] = 0;
    for (const analysis::SourceLine& line : picture_.lines)
      largest_[column] = std::max(largest_[column], Figure(line, column));
  }
}

int SourceModel::RowOf(int line) const {
  const auto at = std::lower_bound(rows_.begin(), rows_.end(), line);
  return at == rows_.end() || *at != line ? -1 : static_cast<int>(at - rows_.begin());
}

const analysis::SourceLine* SourceModel::Found(int row) const {
  const auto at = std::lower_bound(
      picture_.lines.begin(), picture_.lines.end(), LineOf(row),
      [](const analysis::SourceLine& line, int number) { return line.line < number; });
  return at == picture_.lines.end() || at->line != LineOf(row) ? nullptr : &*at;
}

const std::vector<analysis::StackId>& SourceModel::Stacks(int row) const {
  static const std::vector<analysis::StackId> kNone;
  const analysis::SourceLine* line = Found(row);
  return line == nullptr ? kNone : inclusive_ ? line->through : line->sites;
}

int SourceModel::LargestLine() const {
  const auto most = [this](const analysis::SourceLine& line) {
    return (inclusive_ ? line.inclusive : line.self).most();
  };
  const auto at =
      std::max_element(picture_.lines.begin(), picture_.lines.end(),
                       [&](const analysis::SourceLine& a, const analysis::SourceLine& b) {
                         return most(a) < most(b);
                       });
  return at == picture_.lines.end() ? 0 : at->line;
}

bool SourceModel::Has(Column figure) const { return figure < kLine && largest_[figure] > 0; }

std::uint64_t SourceModel::Figure(const analysis::SourceLine& line, int column) const {
  const analysis::LineBytes& bytes = inclusive_ ? line.inclusive : line.self;
  return column == kLive ? bytes.live : column == kPeak ? bytes.peak : bytes.leaked;
}

QString SourceModel::Text(int row) const {
  const auto line = static_cast<std::size_t>(LineOf(row));
  if (picture_.text == nullptr || line > picture_.text->lines.size()) return {};
  return ToQString(picture_.text->lines[line - 1]);
}

QString SourceModel::Tip(int row) const {
  const analysis::SourceLine* line = Found(row);
  if (line == nullptr) return {};
  const auto figures = [](const analysis::LineBytes& bytes) {
    return tr("%1 live, %2 at the peak, %3 leaked")
        .arg(FormatBytes(bytes.live), FormatBytes(bytes.peak), FormatBytes(bytes.leaked));
  };
  QString tip = tr("Allocated at this line: %1\nWith this line on the stack: %2")
                    .arg(figures(line->self), figures(line->inclusive));
  const std::size_t stacks = Stacks(row).size();
  if (stacks > 1)
    tip +=
        tr("\nThrough %1; each click selects the next").arg(FormatPlural(stacks, tr("call stack")));
  return tip;
}

int SourceModel::rowCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int SourceModel::columnCount(const QModelIndex& parent) const {
  return parent.isValid() ? 0 : kColumnCount;
}

QVariant SourceModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid() || index.row() >= rowCount()) return {};
  const int column = index.column();
  const bool figure = column < kLine;
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue(Qt::AlignVCenter |
                               (column == kText ? Qt::AlignLeft : Qt::AlignRight));
  if (role == Qt::ToolTipRole) return Tip(index.row());
  if (role == Qt::FontRole && column >= kLine) {
    QFont font = CodeFont();
    font.setBold(LineOf(index.row()) == marked_);
    return font;
  }
  if (figure) {
    const analysis::SourceLine* line = Found(index.row());
    const std::uint64_t bytes = line == nullptr ? 0 : Figure(*line, column);
    if (role == kPlainRole) return QString::number(bytes);
    if (bytes == 0) return {};
    if (role == Qt::DisplayRole) return FormatBytes(bytes);
    if (role == kShareRole)
      return static_cast<double>(bytes) / static_cast<double>(largest_[column]);
    return {};
  }
  if (role != Qt::DisplayRole && role != kPlainRole) return {};
  return column == kLine ? QString::number(LineOf(index.row())) : Text(index.row());
}

QVariant SourceModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == kPlainRole) {
    const char* const plain[] = {"live_bytes", "peak_bytes", "leaked_bytes", "line", "text"};
    return QString::fromUtf8(plain[section]);
  }
  if (role == Qt::TextAlignmentRole)
    return QVariant::fromValue(Qt::AlignVCenter |
                               (section == kText ? Qt::AlignLeft : Qt::AlignRight));
  if (role == Qt::ToolTipRole && section < kLine) {
    const QString tips[] = {tr("Live at the instant"), tr("Live at the peak of the memory in use"),
                            tr("What survives of leaks: definite, suspected and growing")};
    return tips[section];
  }
  if (role != Qt::DisplayRole) return {};
  const QString titles[] = {tr("Now"), tr("At peak"), tr("Leaked"), tr("Line"), tr("Source")};
  return titles[section];
}

}  // namespace memprof::viewer
