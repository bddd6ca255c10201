// One colour for a call site.
#include "viewer/models/site_colors.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include <QSettings>
#include <algorithm>

namespace memprof::viewer {
namespace {

constexpr qsizetype kMaxPins = 200;  // of a log

QString Digest(const QString& text) {
  const QByteArray hash = QCryptographicHash::hash(text.toUtf8(), QCryptographicHash::Sha1);
  return QString::fromLatin1(hash.toHex().left(16));
}

QString SettingOf(const QStringList& paths) {
  QStringList absolute;
  for (const QString& path : paths) absolute << QFileInfo(path).absoluteFilePath();
  return QStringLiteral("pinned_colors/") + Digest(absolute.join(QLatin1Char('\n')));
}

}  // namespace

std::vector<int> SiteColors::Of(const QStringList& keys) {
  const std::lock_guard lock(mutex_);
  std::vector<int> colors(static_cast<std::size_t>(keys.size()), -1);
  const std::size_t shown = std::min<std::size_t>(colors.size(), kColors);
  bool taken[kColors] = {};
  for (std::size_t i = 0; !pins_.isEmpty() && i < colors.size(); ++i) {
    colors[i] = pins_.value(PinOf(keys[static_cast<qsizetype>(i)]), -1);
    if (colors[i] >= 0) taken[colors[i]] = true;
  }
  for (std::size_t i = 0; i < shown; ++i) {
    const auto known = known_.constFind(keys[static_cast<qsizetype>(i)]);
    if (colors[i] >= 0 || known == known_.constEnd() || taken[*known]) continue;
    colors[i] = *known;
    taken[*known] = true;
  }
  for (std::size_t i = 0; i < shown; ++i) {
    if (colors[i] >= 0) continue;
    int color = -1;
    for (int c = 0; c < kColors; ++c)
      if (!taken[c] && (color < 0 || given_[c] < given_[color])) color = c;
    if (color < 0) continue;  // pins of smaller sites have taken them all
    colors[i] = color;
    taken[color] = true;
    const QString& key = keys[static_cast<qsizetype>(i)];
    if (known_.contains(key)) continue;
    known_.insert(key, color);
    ++given_[color];
  }
  return colors;
}

int SiteColors::Pinned(const QString& key) const {
  const std::lock_guard lock(mutex_);
  return pins_.value(PinOf(key), -1);
}

void SiteColors::Pin(const QString& key, int color) {
  const std::lock_guard lock(mutex_);
  if (color < 0 || color >= kColors) {
    pins_.remove(PinOf(key));
  } else if (pins_.size() < kMaxPins || pins_.contains(PinOf(key))) {
    pins_[PinOf(key)] = color;
  }
}

SitePins SiteColors::pins() const {
  const std::lock_guard lock(mutex_);
  return pins_;
}

QString SiteColors::PinOf(const QString& key) { return Digest(key); }

SitePins LoadSitePins(const QStringList& paths) {
  const QVariantMap stored = QSettings().value(SettingOf(paths)).toMap();
  SitePins pins;
  for (auto at = stored.begin(); at != stored.end() && pins.size() < kMaxPins; ++at) {
    bool number = false;
    const int color = at.value().toInt(&number);
    if (number && color >= 0 && color < SiteColors::kColors && at.key().size() == 16)
      pins[at.key()] = color;
  }
  return pins;
}

void SaveSitePins(const QStringList& paths, const SitePins& pins) {
  QSettings store;
  QVariantMap map;
  for (auto at = pins.begin(); at != pins.end(); ++at) map[at.key()] = at.value();
  if (map.isEmpty()) {
    store.remove(SettingOf(paths));
  } else {
    store.setValue(SettingOf(paths), map);
  }
}

}  // namespace memprof::viewer
