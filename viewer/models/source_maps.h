// Where this machine has the sources of logs: the maps of the command line, then those that were
// learned and kept in the settings. For the GUI thread.
#pragma once

#include <QStringList>

#include "absl/status/status.h"
#include "analysis/source/source_text.h"
#include "analysis/store/session.h"

namespace memprof::viewer {

// The maps of --source-map, which come first. Invalid ones are left out.
void SetSourceMaps(const QStringList& maps);

// The places of the sources of a log.
analysis::SourcePlaces PlacesOf(const analysis::Session& session);

// The user chose `path` as the file of a log: keeps the map. Errors: one line, if it is another
// file.
absl::Status LearnSourceFile(const QString& file, const QString& path);

}  // namespace memprof::viewer
