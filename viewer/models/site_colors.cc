// One colour for a call site.
#include "viewer/models/site_colors.h"

#include <QCryptographicHash>
#include <QFileInfo>
#include <QSettings>
#include <algorithm>
#include <map>

#include "viewer/geometry/names.h"

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

void SiteColors::Prepare() {
  std::call_once(ranked_once_, [this] {
    const Ranking ranking = std::exchange(ranking_, nullptr);  // it keeps a session
    if (ranking == nullptr) return;
    const QStringList keys = ranking();
    for (const QString& key : keys) rank_.insert(key, static_cast<int>(rank_.size()));
    ranked_ = true;
  });
}

int SiteColors::Rank(const QString& key, int place) const {
  if (!ranked_) return place;
  const auto rank = rank_.constFind(key);
  if (rank != rank_.constEnd()) return *rank;
  return static_cast<int>(rank_.size()) + static_cast<int>(Digest(key).left(4).toUInt(nullptr, 16));
}

std::vector<int> SiteColors::Of(const QStringList& keys) {
  Prepare();
  const SitePins pins = this->pins();
  std::vector<int> colors(static_cast<std::size_t>(keys.size()), -1);
  bool taken[kColors] = {};
  for (std::size_t i = 0; !pins.isEmpty() && i < colors.size(); ++i) {
    colors[i] = pins.value(PinOf(keys[static_cast<qsizetype>(i)]), -1);
    if (colors[i] >= 0) taken[colors[i]] = true;
  }
  std::vector<std::pair<int, std::size_t>> order;  // rank, place
  for (std::size_t i = 0; i < std::min<std::size_t>(colors.size(), kColors); ++i)
    if (colors[i] < 0)
      order.emplace_back(Rank(keys[static_cast<qsizetype>(i)], static_cast<int>(i)), i);
  std::sort(order.begin(), order.end());
  const auto take = [&](std::size_t place, int color) {
    if (colors[place] >= 0 || taken[color]) return;
    colors[place] = color;
    taken[color] = true;
  };
  for (const auto& [rank, place] : order) take(place, rank % kColors);
  // None is free if pins of smaller sites have taken them all.
  for (const auto& [rank, place] : order)
    for (int step = 1; step < kColors; ++step) take(place, (rank + step) % kColors);
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

QStringList RankSitesOfLog(const analysis::Session& session, analysis::Symbols& symbols) {
  const auto records = session.records();
  // What contains blocks is not counted a second time.
  std::vector<bool> divided(records.size(), false);
  for (const analysis::AllocationRecord& record : records)
    if (record.layer != analysis::Layer::kTensor && record.parent.valid())
      divided[record.parent.value] = true;
  std::vector<double> held(session.stack_count(), 0);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const analysis::AllocationRecord& record = records[i];
    if (record.layer == analysis::Layer::kTensor || divided[i]) continue;
    if (record.stack.value >= held.size()) continue;
    const std::size_t end = record.alive() ? session.events().size() : record.death.value;
    held[record.stack.value] +=
        static_cast<double>(record.bytes) * static_cast<double>(end - record.birth.value);
  }
  std::vector<analysis::StackId> stacks;
  for (std::uint32_t i = 0; i < held.size(); ++i)
    if (held[i] > 0) stacks.push_back(analysis::StackId(i));
  std::stable_sort(stacks.begin(), stacks.end(),
                   [&held](auto a, auto b) { return held[a.value] > held[b.value]; });
  if (stacks.size() > SiteColors::kNamedStacks) stacks.resize(SiteColors::kNamedStacks);
  const std::vector<NamedSite> named = NameSites(symbols, stacks);
  std::map<QString, double> by_key;
  for (std::size_t i = 0; i < named.size(); ++i) by_key[named[i].key] += held[stacks[i].value];
  QStringList keys;
  for (const auto& [key, sum] : by_key) keys << key;
  std::stable_sort(keys.begin(), keys.end(), [&by_key](const QString& a, const QString& b) {
    return by_key.at(a) > by_key.at(b);
  });
  return keys;
}

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
