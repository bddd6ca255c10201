// Where this machine has the sources of logs.
#include "viewer/models/source_maps.h"

#include <QSettings>
#include <algorithm>

#include "viewer/geometry/units.h"

namespace memprof::viewer {
namespace {

constexpr qsizetype kMostKept = 20;  // the latest

QString Key() { return QStringLiteral("source/maps"); }

QStringList& OfCommandLine() {
  static QStringList maps;
  return maps;
}

}  // namespace

void SetSourceMaps(const QStringList& maps) { OfCommandLine() = maps; }

analysis::SourcePlaces PlacesOf(const analysis::Session& session) {
  analysis::SourcePlaces places{
      session.run().working_directory, session.run().executable, {}, session.run().start_unix_ns};
  for (const QString& text : OfCommandLine() + QSettings().value(Key()).toStringList()) {
    auto map = analysis::ParseSourceMap(text.toStdString());
    if (map.ok()) places.maps.push_back(*std::move(map));
  }
  return places;
}

absl::Status LearnSourceFile(const QString& file, const QString& path) {
  const auto map = analysis::LearnSourceMap(file.toStdString(), path.toStdString());
  if (!map.ok()) return map.status();
  const QString text = ToQString(analysis::SourceMapText(*map));
  QSettings store;
  QStringList kept = store.value(Key()).toStringList();
  kept.removeAll(text);
  kept.prepend(text);
  store.setValue(Key(), QStringList(kept.mid(0, kMostKept)));
  return absl::OkStatus();
}

}  // namespace memprof::viewer
