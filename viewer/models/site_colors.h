// One colour for a call site in all views and with all filters: given by the site's rank in the
// whole log, or pinned by the user. Thread-safe.
#pragma once

#include <QHash>
#include <QString>
#include <QStringList>
#include <functional>
#include <mutex>
#include <utility>
#include <vector>

#include "analysis/store/session.h"
#include "analysis/symbols/symbols.h"

namespace memprof::viewer {

// Colours of sites by SiteColors::PinOf.
using SitePins = QHash<QString, int>;

class SiteColors {
 public:
  static constexpr int kColors = 7;  // Theme::kCategories
  // The largest stacks, whose sites have a rank. Colours of others conflict more often.
  static constexpr std::size_t kNamedStacks = 400;

  // NamedSite keys, largest first.
  using Ranking = std::function<QStringList()>;

  // `ranking` is called once, by the first Of() or Prepare(), and may take long. Without it, the
  // order in a picture is the rank.
  explicit SiteColors(const SitePins& pins = {}, Ranking ranking = nullptr)
      : ranking_(std::move(ranking)), pins_(pins) {}

  // The colours of the sites of one picture, largest first, identified by NamedSite keys. They
  // depend on the ranking, the pins and `keys` alone, never on what was asked before. A pinned site
  // has its colour, whatever the others have. Of the others, the first kColors of the picture have
  // different colours: if two want the same one, the one of lower rank gets another in this
  // picture. So the first kColors of the ranking are the same in all pictures. Further sites: -1.
  std::vector<int> Of(const QStringList& keys);
  // Calls the ranking, which is not kept.
  void Prepare();

  // -1: not pinned.
  int Pinned(const QString& key) const;
  // 0 … kColors - 1; any other number removes the pin.
  void Pin(const QString& key, int color);
  SitePins pins() const;
  // What identifies a site among pins: short, without names of the program.
  static QString PinOf(const QString& key);

 private:
  // Of a site at this place in a picture.
  int Rank(const QString& key, int place) const;

  std::once_flag ranked_once_;
  Ranking ranking_;
  bool ranked_ = false;
  QHash<QString, int> rank_;  // constant once ranked_
  mutable std::mutex mutex_;
  SitePins pins_;
};

// The sites of a log by what they held, bytes times lifetime, largest first: a ranking. Slow.
QStringList RankSitesOfLog(const analysis::Session& session, analysis::Symbols& symbols);

// The pins of a log, or of several that are opened together, in the user's settings. What is no pin
// is left out.
SitePins LoadSitePins(const QStringList& paths);
// None: the log's entry is removed.
void SaveSitePins(const QStringList& paths, const SitePins& pins);

}  // namespace memprof::viewer
