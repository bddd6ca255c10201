// One colour for a call site, whatever view shows it and whatever is filtered. Thread-safe.
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <mutex>
#include <vector>

namespace memprof::viewer {

class SiteColors {
 public:
  static constexpr int kColors = 7;  // Theme::kCategories

  // The colours of what one picture shows, largest first, by what the sites are (NamedSite): a site
  // has the colour that it had before, and no two of the first kColors have the same one. Where two
  // that meet here for the first time had the same, the smaller has another in this picture. Those
  // beyond: -1.
  std::vector<int> Of(const QStringList& keys);

 private:
  std::mutex mutex_;
  QHash<QString, int> known_;
  int given_[kColors] = {};  // how many sites have each
};

}  // namespace memprof::viewer
