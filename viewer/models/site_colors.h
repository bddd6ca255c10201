// One colour for a call site in all views and with all filters. Thread-safe.
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

  // The colours of the sites of one picture, largest first, identified by NamedSite keys. A site
  // keeps its colour, and the first kColors sites have different colours: if two of them have the
  // same one, the smaller gets another one in this picture. Further sites: -1.
  std::vector<int> Of(const QStringList& keys);

 private:
  std::mutex mutex_;
  QHash<QString, int> known_;
  int given_[kColors] = {};  // how many sites have each colour
};

}  // namespace memprof::viewer
