// The lines of a source file with the memory of each, as a table: bytes, line number, text.
#pragma once

#include <QAbstractTableModel>
#include <QFont>
#include <QString>
#include <memory>
#include <vector>

#include "analysis/source/line_bytes.h"
#include "analysis/source/source_text.h"

namespace memprof::viewer {

// Made off the GUI thread; immutable.
struct SourcePicture {
  std::string file;                                  // as the log names it; "" = none
  std::shared_ptr<const analysis::SourceText> text;  // null: not found
  QString missing;                                   // why there is no text
  std::vector<analysis::SourceLine> lines;           // with bytes, by number
};

// Of equally wide letters, as large as the others.
QFont CodeFont();

class SourceModel : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { kLive, kPeak, kLeaked, kLine, kText, kColumnCount };
  // Share of the largest figure of the column in [0, 1], for bars.
  static constexpr int kShareRole = Qt::UserRole + 1;
  // Figures as plain numbers, for files.
  static constexpr int kPlainRole = Qt::UserRole + 2;

  explicit SourceModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}

  void SetPicture(SourcePicture picture);
  const SourcePicture& picture() const { return picture_; }
  // Figures of stacks that have the line anywhere, in place of those whose site it is.
  void SetInclusive(bool inclusive);
  // The line of the chosen frame; 0 = none.
  void SetMarked(int line);
  int marked() const { return marked_; }

  // All lines if the text is known, else those with bytes.
  int RowOf(int line) const;  // -1: no row
  int LineOf(int row) const { return rows_[static_cast<std::size_t>(row)]; }
  // The stacks of the line's figures, largest first.
  const std::vector<analysis::StackId>& Stacks(int row) const;
  int LargestLine() const;  // the line with most of any figure; 0 = none
  // Whether any line has a figure.
  bool Has(Column figure) const;
  // The longest text, in characters.
  int longest() const { return longest_; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

 private:
  const analysis::SourceLine* Found(int row) const;  // null: no bytes
  std::uint64_t Figure(const analysis::SourceLine& line, int column) const;
  QString Text(int row) const;
  QString Tip(int row) const;
  void Changed();

  SourcePicture picture_;
  std::vector<int> rows_;              // line numbers, ascending
  std::uint64_t largest_[kLine] = {};  // of each column of figures
  bool inclusive_ = false;
  int marked_ = 0, longest_ = 0;
};

}  // namespace memprof::viewer
