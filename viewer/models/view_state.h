// What a view shows beyond the selection, as the words of a link (models/link.h). Each view has its
// own words; "" = none, or, when it is to be shown so, as it is.
#pragma once

#include <QString>

namespace memprof::viewer {

struct ViewState {
  QString page, by, content;
  QString file;  // of the source, as the log names it

  bool operator==(const ViewState&) const = default;
  bool empty() const { return *this == ViewState(); }
};

// A view by its name of --view.
struct ShownView {
  QString name;
  ViewState state;
};

}  // namespace memprof::viewer
