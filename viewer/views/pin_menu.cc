// The menu in which users choose the colour of a call site.
#include "viewer/views/pin_menu.h"

#include <QCoreApplication>
#include <QPixmap>
#include <utility>

#include "viewer/views/theme.h"

namespace memprof::viewer {
void AddPinMenu(QMenu* menu, Document* document, std::function<QString()> key) {
  const auto tr = [](const char* text) { return QCoreApplication::translate("PinMenu", text); };
  // In the order of Theme::Categorical.
  static constexpr const char* kNames[Theme::kCategories] = {"Blue", "Mustard", "Green", "Rose",
                                                             "Sky",  "Red",     "Yellow"};
  const Theme theme = Theme::From(menu->palette());
  const auto pin = [document, key = std::move(key)](int color) {
    if (const QString site = key(); !site.isEmpty()) document->PinSiteColor(site, color);
  };
  QMenu* colors = menu->addMenu(tr("&Pin colour"));
  for (int i = 0; i < Theme::kCategories; ++i) {
    QPixmap swatch(16, 16);
    swatch.fill(theme.Categorical(i));
    colors->addAction(swatch, tr(kNames[i]), document, [pin, i] { pin(i); });
  }
  menu->addAction(tr("&Unpin colour"), document, [pin] { pin(-1); });
}

}  // namespace memprof::viewer
