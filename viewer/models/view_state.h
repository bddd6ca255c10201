// What a view shows beyond the selection, as the words of a link (models/link.h). Each view has its
// own words; "" = none, or, when it is to be shown so, as it is.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <optional>

namespace memprof::viewer {

struct ViewState {
  QString page, by, content;
  QString file;                         // of the source, as the log names it
  QString frames;                       // of call sites: all, or the program's own
  QString zoom;                         // JoinNames() of the functions from the root
  QString with;                         // JoinNames() of the logs of the other run
  std::optional<std::uint64_t> before;  // the pinned moment, ns since the log's start

  bool operator==(const ViewState&) const = default;
  bool empty() const { return *this == ViewState(); }
};

// Several names as one word, and back.
QString JoinNames(const QStringList& names);
QStringList SplitNames(const QString& word);

// A view by its name of --view.
struct ShownView {
  QString name;
  ViewState state;
};

}  // namespace memprof::viewer
