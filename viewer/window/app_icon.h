// The icon of the viewer's windows.
#pragma once

#include <QIcon>

namespace memprof::viewer {

// Also the name of the installed icon, without ".svg", and of the desktop file, without ".desktop".
inline constexpr char kDesktopName[] = "memprof-viewer";

// Drawn from the SVG that is installed for the desktop. Needs a QGuiApplication.
QIcon AppIcon();

}  // namespace memprof::viewer
