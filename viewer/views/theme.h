// Colours, fonts and spacing: dark or light as the system's palette. Categorical colours can be
// distinguished with any colour vision, and from their background: see theme_test.cc.
#pragma once

#include <QColor>
#include <QFont>
#include <QPalette>
#include <QString>
#include <QStyleOptionViewItem>

#include "viewer/geometry/timeline_bands.h"

namespace memprof::viewer {

// `a` for a share of 0, `b` for 1.
QColor Mix(const QColor& a, const QColor& b, double share);

struct Theme {
  bool dark = false;
  QColor window;   // behind everything
  QColor surface;  // panels, plots
  QColor border;
  QColor grid;  // lines inside plots
  QColor text;
  QColor muted;   // secondary text
  QColor accent;  // selection, links
  QColor danger, warning, good;
  QColor hole;  // free space in maps and bands

  static Theme From(const QPalette& palette);

  // Fill of a band of the timeline.
  QColor Band(BandRole role) const;
  // The same where a column of the timeline has it only at times: paler, but still visible before
  // cached memory.
  QColor AtTimes(const QColor& color) const;
  // The i-th of seven colours; beyond, a neutral grey ("everything else").
  QColor Categorical(int index) const;
  static constexpr int kCategories = 7;
  // With an eighth colour, for eight kinds, and a ninth, black or white, for what is to be seen
  // first.
  QColor Group(int index) const;
  static constexpr int kGroups = kCategories + 2;
  // A sequential ramp, light to strong, for 0 … 1.
  QColor Ramp(double share) const;
  // From -1 (less, blue) over 0 (a grey that is not the surface) to 1 (more, orange).
  QColor Diverging(double share) const;
  // Frames of a flame graph: warm for native, green-blue for Python; varied by name so that
  // neighbours differ.
  QColor Frame(bool python, const QString& function) const;
  // Black or white, whichever has more contrast with `fill`.
  static QColor TextOn(const QColor& fill);
  // The contrast of WCAG 2: 1 for equal colours, 21 for black on white.
  static double Contrast(const QColor& a, const QColor& b);
};

// The background of a cell with a drawing: the surface for which its colours were chosen, also in a
// selected row, which two lines mark.
void PaintDrawnCell(QPainter* painter, const QStyleOptionViewItem& option);

// Spacing unit of all layouts, in device-independent pixels.
inline constexpr int kSpace = 8;

QFont SmallFont(const QFont& base);
QFont StrongFont(const QFont& base);
QFont TitleFont(const QFont& base);

// Style sheet: flat tabs and headers in the palette's colours, for the whole window.
QString FlatStyle();

// The palette of a forced theme, for pictures and for the user's choice.
QPalette MakePalette(bool dark);

}  // namespace memprof::viewer
