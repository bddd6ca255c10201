// Comma-separated values of rows.
#pragma once

#include <QStringList>
#include <QTextStream>

class QAbstractItemModel;

namespace memprof::viewer {

// Writes a line; quotes values where necessary.
void WriteCsvLine(QTextStream* out, const QStringList& fields);

// Writes the headings and the rows of a table in `plain_role`; skips columns without a heading in
// that role. False if there are no rows.
bool WriteCsvRows(QTextStream* out, const QAbstractItemModel& model, int plain_role);

}  // namespace memprof::viewer
