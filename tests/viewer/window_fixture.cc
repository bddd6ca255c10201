// A window without a display on the demo log.
#include "tests/viewer/window_fixture.h"

#include <QFile>
#include <cmath>
#include <set>

namespace memprof::viewer::testing {

void WindowFixture::Open(const DemoOptions& options, ViewKind view) {
  ASSERT_TRUE(directory_.isValid());
  const QString path = WriteDemoLog(directory_, options);
  ASSERT_FALSE(path.isEmpty());
  OpenPath(path, view);
  ASSERT_EQ(window_.document().state(), Document::State::kReady)
      << window_.document().error().toStdString();
}

void WindowFixture::OpenPath(const QString& path, ViewKind view) {
  window_.resize(1200, 760);
  window_.ShowView(view);
  window_.show();
  window_.Open(path);
  window_.WaitUntilSettled();
}

void WindowFixture::OpenLog(const analysis::testing::LogBuilder& log, ViewKind view) {
  const QString path = directory_.filePath(QStringLiteral("own.mprof"));
  ASSERT_TRUE(log.WriteTo(path.toStdString()).ok());
  OpenPath(path, view);
  ASSERT_EQ(window_.document().state(), Document::State::kReady);
}

QString WindowFixture::WriteFile(const QString& name, const QByteArray& bytes) {
  QFile file(directory_.filePath(name));
  EXPECT_TRUE(file.open(QIODevice::WriteOnly));
  EXPECT_EQ(file.write(bytes), bytes.size());
  return file.fileName();
}

bool Near(const QColor& a, const QColor& b, int tolerance) {
  return std::abs(a.red() - b.red()) <= tolerance && std::abs(a.green() - b.green()) <= tolerance &&
         std::abs(a.blue() - b.blue()) <= tolerance;
}

QColor Blend(const QColor& over, const QColor& under, double opacity) {
  const auto mix = [opacity](int a, int b) {
    return static_cast<int>(std::lround(a * opacity + b * (1 - opacity)));
  };
  return QColor(mix(over.red(), under.red()), mix(over.green(), under.green()),
                mix(over.blue(), under.blue()));
}

int Count(const QImage& image, const QRect& area, const QColor& color) {
  int count = 0;
  const QRect inside = area.intersected(image.rect());
  for (int y = inside.top(); y <= inside.bottom(); ++y) {
    for (int x = inside.left(); x <= inside.right(); ++x) {
      count += Near(image.pixelColor(x, y), color, 4);
    }
  }
  return count;
}

int TextPixels(const QImage& image) {
  return image.width() * image.height() - Count(image, image.rect(), image.pixelColor(1, 1));
}

int Colors(const QImage& image) {
  std::set<QRgb> colors;
  for (int y = 0; y < image.height(); y += 3) {
    for (int x = 0; x < image.width(); x += 3) colors.insert(image.pixel(x, y));
  }
  return static_cast<int>(colors.size());
}

QImage Grab(QWidget* widget) { return widget->grab().toImage(); }

QString TipAt(QWidget* widget, const QPoint& at) {
  // Removed tooltips fade out: an unchanged text means that the tooltip was removed or never shown.
  const QString none = QStringLiteral("(none)");
  QToolTip::showText(widget->mapToGlobal(at), none, widget);
  QHelpEvent event(QEvent::ToolTip, at, widget->mapToGlobal(at));
  QCoreApplication::sendEvent(widget, &event);
  return QToolTip::text() == none ? QString() : QToolTip::text();
}

void Wheel(QWidget* widget, QPointF at, QPoint angle, Qt::KeyboardModifiers modifiers) {
  QWheelEvent event(at, widget->mapToGlobal(at), {}, angle, Qt::NoButton, modifiers,
                    Qt::NoScrollPhase, false);
  QCoreApplication::sendEvent(widget, &event);
}

}  // namespace memprof::viewer::testing
