// A window without a display on the demo log, and what tests ask of its pictures.
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
  // Writes a log of the test's own and opens it.
  void OpenLog(const analysis::testing::LogBuilder& log, ViewKind view = ViewKind::kTimeline);
  // A file of the test's own folder with these bytes; its path.
  QString WriteFile(const QString& name, const QByteArray& bytes);

  Theme theme() const { return Theme::From(window_.palette()); }

  QTemporaryDir directory_;
  MainWindow window_{MainWindow::Settings::kIgnored};
};

// Whether two colours are the same but for rounding.
bool Near(const QColor& a, const QColor& b, int tolerance = 6);
// `over` painted on `under` with an opacity.
QColor Blend(const QColor& over, const QColor& under, double opacity);
// How many pixels of a rectangle have a colour.
int Count(const QImage& image, const QRect& area, const QColor& color);
// How many pixels are not as that in the corner: of a picture that is a sentence and no more.
int TextPixels(const QImage& image);
// Number of different colours of a picture (every third pixel).
int Colors(const QImage& image);
// The widget as it is drawn now, one pixel per unit.
QImage Grab(QWidget* widget);
// The text of the tooltip at a point of a widget.
QString TipAt(QWidget* widget, const QPoint& at);
// One turn of the wheel, in eighths of a degree, at a point.
void Wheel(QWidget* widget, QPointF at, QPoint angle, Qt::KeyboardModifiers modifiers = {});

}  // namespace memprof::viewer::testing
