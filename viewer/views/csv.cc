// Comma-separated values of rows.
#include "viewer/views/csv.h"

#include <QAbstractItemModel>

#include "viewer/views/view.h"

namespace memprof::viewer {

void WriteCsvLine(QTextStream* out, const QStringList& fields) {
  for (qsizetype i = 0; i < fields.size(); ++i) *out << (i == 0 ? "" : ",") << CsvField(fields[i]);
  *out << '\n';
}

bool WriteCsvRows(QTextStream* out, const QAbstractItemModel& model, int plain_role) {
  QList<int> columns;
  QStringList fields;
  for (int i = 0; i < model.columnCount(); ++i) {
    const QString heading = model.headerData(i, Qt::Horizontal, plain_role).toString();
    if (heading.isEmpty()) continue;
    columns << i;
    fields << heading;
  }
  WriteCsvLine(out, fields);
  for (int row = 0; row < model.rowCount(); ++row) {
    fields.clear();
    for (const int column : columns) fields << model.index(row, column).data(plain_role).toString();
    WriteCsvLine(out, fields);
  }
  return model.rowCount() > 0;
}

}  // namespace memprof::viewer
