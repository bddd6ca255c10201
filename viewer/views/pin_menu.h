// The menu in which users choose the colour of a call site.
#pragma once

#include <QMenu>
#include <functional>

#include "viewer/models/document.h"

namespace memprof::viewer {

// Adds "Pin colour", a menu of colours, and "Unpin colour". `key`: the NamedSite::key of the site,
// asked when the user chooses; "" does nothing. The document outlives the menu.
void AddPinMenu(QMenu* menu, Document* document, std::function<QString()> key);

}  // namespace memprof::viewer
