// A window without a display on the demo log, and queries on its images.
#pragma once

#include <gtest/gtest.h>

#include <QHelpEvent>
#include <QImage>
#include <QTemporaryDir>
#include <QTest>
#include <QToolTip>
#include <QWheelEvent>

#include "tests/viewer/demo_log.h"
#include "viewer/views/theme.h"
#include "viewer/window/main_window.h"

namespace memprof::viewer::testing {

class WindowFixture : public ::testing::Test {
 protected:
  // Opens the demo log and waits until every view shows it.
  void Open(const DemoOptions& options = {}, ViewKind view = ViewKind::kTimeline);
  void OpenPath(const QString& path, ViewKind view = ViewKind::kTimeline);
  // Writes a log of the test and opens it.
  void OpenLog(const analysis::testing::LogBuilder& log, ViewKind view = ViewKind::kTimeline);
  // Writes a file with these bytes into the test's folder; returns its path.
  QString WriteFile(const QString& name, const QByteArray& bytes);

  Theme theme() const { return Theme::From(window_.palette()); }

  QTemporaryDir directory_;
  MainWindow window_{MainWindow::Settings::kIgnored};
};

// Whether two colours are equal up to rounding.
bool Near(const QColor& a, const QColor& b, int tolerance = 6);
// `over` painted on `under` with an opacity.
QColor Blend(const QColor& over, const QColor& under, double opacity);
// The number of pixels in a rectangle that have a colour.
int Count(const QImage& image, const QRect& area, const QColor& color);
// The number of pixels that differ from the corner's, for images that contain only text.
int TextPixels(const QImage& image);
// The number of different colours of an image (every third pixel).
int Colors(const QImage& image);
// The widget as currently drawn, one pixel per unit.
QImage Grab(QWidget* widget);
// The tooltip's text at a point of a widget.
QString TipAt(QWidget* widget, const QPoint& at);
// One wheel event, in eighths of a degree, at a point.
void Wheel(QWidget* widget, QPointF at, QPoint angle, Qt::KeyboardModifiers modifiers = {});

}  // namespace memprof::viewer::testing
