// One colour for a call site in all views and with all filters: given in the order in which sites
// are seen, or pinned by the user. Thread-safe.
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <mutex>
#include <vector>

namespace memprof::viewer {

// Colours of sites by SiteColors::PinOf.
using SitePins = QHash<QString, int>;

class SiteColors {
 public:
  static constexpr int kColors = 7;  // Theme::kCategories

  explicit SiteColors(const SitePins& pins = {}) : pins_(pins) {}

  // The colours of the sites of one picture, largest first, identified by NamedSite keys. A pinned
  // site has its colour, whatever the others have. Another site keeps its colour, and the first
  // kColors sites have different colours: if two of them have the same one, the smaller gets
  // another one in this picture. Further sites: -1.
  std::vector<int> Of(const QStringList& keys);

  // -1: not pinned.
  int Pinned(const QString& key) const;
  // 0 … kColors - 1; any other number removes the pin.
  void Pin(const QString& key, int color);
  SitePins pins() const;
  // What identifies a site among pins: short, without names of the program.
  static QString PinOf(const QString& key);

 private:
  mutable std::mutex mutex_;
  SitePins pins_;
  QHash<QString, int> known_;
  int given_[kColors] = {};  // how many sites have each colour
};

// The pins of a log, or of several that are opened together, in the user's settings. What is no pin
// is left out.
SitePins LoadSitePins(const QStringList& paths);
// None: the log's entry is removed.
void SaveSitePins(const QStringList& paths, const SitePins& pins);

}  // namespace memprof::viewer
