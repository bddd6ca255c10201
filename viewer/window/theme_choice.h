// The theme of all windows: the system's, or light or dark by the user's choice.
#pragma once

#include <QString>
#include <optional>

#include "viewer/window/options.h"

class QMenu;

namespace memprof::viewer {

// "system", "light", "dark": of --theme, and of the settings.
QString ThemeName(ThemeChoice choice);
std::optional<ThemeChoice> ThemeOfName(const QString& name);

// The choice in the settings; the system's without one.
ThemeChoice KeptTheme();

// Shows all windows in the theme, now and later. GUI thread.
void ApplyTheme(ThemeChoice choice);
ThemeChoice AppliedTheme();

// A submenu that applies a theme; `keep` writes the choice to the settings.
void AddThemeMenu(QMenu* menu, bool keep);

}  // namespace memprof::viewer
