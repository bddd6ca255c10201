// Draws the icon at the sizes that window managers ask for: Qt's own way from SVG to an icon is a
// plugin, which may not be installed.
#include "viewer/window/app_icon.h"

#include <QPainter>
#include <QPixmap>
#include <QSvgRenderer>

namespace memprof::viewer {

QIcon AppIcon() {
  QSvgRenderer renderer(QStringLiteral(":/memprof-viewer.svg"));
  QIcon icon;
  for (const int size : {16, 24, 32, 48, 64, 128, 256}) {
    QPixmap pixmap(size, size);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    renderer.render(&painter);
    painter.end();
    icon.addPixmap(pixmap);
  }
  return icon;
}

}  // namespace memprof::viewer
