// Comma-separated values of rows.
#pragma once

#include <QStringList>
#include <QTextStream>

class QAbstractItemModel;

namespace memprof::viewer {

// A line of them: each is quoted where it must be.
void WriteCsvLine(QTextStream* out, const QStringList& fields);

// The headings and the rows of a table, as `plain_role` says them; columns without a heading in
// that role are left out. False where there are no rows.
bool WriteCsvRows(QTextStream* out, const QAbstractItemModel& model, int plain_role);

}  // namespace memprof::viewer
