// Shared by tests of models: texts, and models as text.
#pragma once

#include <gtest/gtest.h>

#include <QAbstractItemModelTester>
#include <QString>
#include <QStringList>
#include <initializer_list>

#include "analysis/symbols/symbols.h"

namespace memprof::viewer::testing {

inline constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

inline QString S(const char* utf8) { return QString::fromUtf8(utf8); }

inline QStringList Lines(std::initializer_list<const char*> lines) {
  QStringList all;
  for (const char* line : lines) all << QString::fromUtf8(line);
  return all;
}

// The model as text: one line for each row, cells separated by |, children indented.
inline QStringList Print(const QAbstractItemModel& model, const QModelIndex& parent = {},
                         int depth = 0) {
  QStringList lines;
  for (int row = 0; row < model.rowCount(parent); ++row) {
    QStringList cells;
    for (int column = 0; column < model.columnCount(parent); ++column)
      cells << model.index(row, column, parent).data().toString();
    lines << QString(depth * 2, QLatin1Char(' ')) + cells.join(QLatin1Char('|'));
    const QModelIndex index = model.index(row, 0, parent);
    EXPECT_EQ(model.hasChildren(index), model.rowCount(index) > 0);
    lines << Print(model, index, depth + 1);
  }
  return lines;
}

inline analysis::SourceFrame Frame(const char* function, const char* file, int line) {
  analysis::SourceFrame frame;
  frame.function = function;
  frame.file = file;
  frame.line = line;
  frame.symbolised = true;
  return frame;
}

}  // namespace memprof::viewer::testing
