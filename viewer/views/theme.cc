// Colours, fonts and spacing.
#include "viewer/views/theme.h"

#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

namespace memprof::viewer {
namespace {

// Blue, mustard, green, rose, sky, red, yellow, purple, as far as the background allows. They were
// found by a search that maximises the smallest distance (CIEDE2000) between any two colours, and
// between each and grey, for normal vision, protanopia and deuteranopia, among colours with a
// contrast of at least 3 to the colour of cached memory.
constexpr std::array<QRgb, Theme::kCategories + 1> kOnLight = {
    0xff0043c3, 0xff9a7f03, 0xff266952, 0xffcb466e, 0xff457da8, 0xff6d191a, 0xff86510a, 0xff542454};
constexpr std::array<QRgb, Theme::kCategories + 1> kOnDark = {
    0xff63bbff, 0xffd1ad05, 0xff08a978, 0xffff9aa6, 0xff8fd8ea, 0xfff54851, 0xfffae63a, 0xffb374b8};

// Relative luminance of WCAG 2.
double Luminance(const QColor& color) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
         0.0722 * linear(color.blueF());
}

// The least contrast at which a spike of one pixel's width is visible.
constexpr double kSeen = 3;

}  // namespace

QColor Mix(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](int x, int y) {
    return static_cast<int>(std::lround(x + (y - x) * share));
  };
  return QColor(mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue()));
}

Theme Theme::From(const QPalette& palette) {
  Theme theme;
  theme.window = palette.color(QPalette::Window);
  theme.surface = palette.color(QPalette::Base);
  theme.text = palette.color(QPalette::Text);
  theme.dark = theme.surface.lightness() < 128;
  theme.border = Mix(theme.surface, theme.text, theme.dark ? 0.22 : 0.16);
  theme.grid = Mix(theme.surface, theme.text, theme.dark ? 0.13 : 0.09);
  theme.muted = Mix(theme.surface, theme.text, theme.dark ? 0.70 : 0.70);
  theme.accent = theme.dark ? QColor(0x6c, 0xb8, 0xf0) : QColor(0x00, 0x5f, 0xa8);
  theme.danger = theme.dark ? QColor(0xff, 0x8a, 0x4c) : QColor(0xbf, 0x45, 0x00);
  theme.warning = theme.dark ? QColor(0xf2, 0xb8, 0x3c) : QColor(0x8f, 0x5f, 0x00);
  theme.good = theme.dark ? QColor(0x3c, 0xc8, 0x9c) : QColor(0x00, 0x7a, 0x58);
  theme.hole = Mix(theme.surface, theme.text, theme.dark ? 0.10 : 0.06);
  return theme;
}

QColor Theme::Band(BandRole role) const {
  switch (role) {
    case BandRole::kTensors:
      return Group(0);
    case BandRole::kLinear:
      return Group(1);
    case BandRole::kStreamOrdered:
    case BandRole::kPinned:
      return Group(2);
    case BandRole::kManaged:
    case BandRole::kRegistered:
      return Group(3);
    case BandRole::kBlocks:
    case BandRole::kVmm:  // never beside blocks
      return Group(4);
    case BandRole::kArray:
      return Group(5);
    case BandRole::kPitched:
      return Group(6);
    case BandRole::kGraph:
      return Group(7);
    case BandRole::kCached:
      return Mix(surface, text, 0.12);
    case BandRole::kPool:
      return Mix(surface, text, dark ? 0.28 : 0.20);
    case BandRole::kGroup:
    case BandRole::kOther:
      return Group(-1);
    case BandRole::kOtherDriver:
      return Mix(surface, text, dark ? 0.22 : 0.17);
    case BandRole::kFilteredOut:
      return Mix(surface, text, 0.10);
    case BandRole::kCode:
      return Mix(surface, text, dark ? 0.44 : 0.40);
    case BandRole::kUntracked:
      return Mix(surface, text, dark ? 0.36 : 0.32);
    case BandRole::kOtherProcesses:
      return Mix(surface, text, dark ? 0.28 : 0.24);
    case BandRole::kFree:
    case BandRole::kUnsampled:
      return surface;
  }
  return muted;
}

QColor Theme::AtTimes(const QColor& color) const {
  const QColor cached = Band(BandRole::kCached);
  QColor pale = color;
  for (double share = 0.05; share <= 0.4; share += 0.05) {
    const QColor paler = Mix(color, surface, share);
    if (Contrast(paler, cached) < kSeen || Contrast(paler, surface) < kSeen) break;
    pale = paler;
  }
  return pale;
}

QColor Theme::Categorical(int index) const { return Group(index < kCategories ? index : -1); }

QColor Theme::Group(int index) const {
  if (index == kGroups - 1) return dark ? Qt::white : text;
  if (index < 0 || index > kCategories) return Mix(surface, text, dark ? 0.50 : 0.52);
  return QColor::fromRgb((dark ? kOnDark : kOnLight)[static_cast<std::size_t>(index)]);
}

QColor Theme::Ramp(double share) const {
  // Through three tones of a perceptually even blue; reversed in the dark so that "much" always
  // stands out from the background.
  const QColor low = dark ? QColor(0x1f, 0x3d, 0x5c) : QColor(0xcf, 0xe3, 0xf2);
  const QColor middle = QColor(0x3a, 0x86, 0xc0);
  const QColor high = dark ? QColor(0xc6, 0xe4, 0xfb) : QColor(0x08, 0x30, 0x6b);
  share = std::clamp(share, 0.0, 1.0);
  return share < 0.5 ? Mix(low, middle, share * 2) : Mix(middle, high, share * 2 - 1);
}

QColor Theme::Diverging(double share) const {
  const QColor middle = Mix(surface, text, dark ? 0.20 : 0.18);
  const QColor less = dark ? QColor(0x4f, 0xb4, 0xff) : QColor(0x00, 0x43, 0xa8);
  const QColor more = dark ? QColor(0xff, 0xa6, 0x2b) : QColor(0xb8, 0x4a, 0x00);
  share = std::clamp(share, -1.0, 1.0);
  return Mix(middle, share < 0 ? less : more, std::abs(share));
}

QColor Theme::Frame(bool python, const QString& function) const {
  std::uint32_t hash = 2166136261u;
  for (const QChar c : function) hash = (hash ^ c.unicode()) * 16777619u;
  const double vary = (hash >> 8) % 1000 / 1000.0;
  const QColor from = python ? QColor(0x56, 0xb4, 0xa0) : QColor(0xf0, 0xb0, 0x4a);
  const QColor to = python ? QColor(0x6f, 0xb8, 0xe4) : QColor(0xe8, 0x8c, 0x50);
  return Mix(Mix(from, to, vary), surface, dark ? 0.22 : 0.12);
}

QColor Theme::TextOn(const QColor& fill) {
  return Contrast(fill, Qt::black) > Contrast(fill, Qt::white) ? QColor(Qt::black)
                                                               : QColor(Qt::white);
}

double Theme::Contrast(const QColor& a, const QColor& b) {
  const double x = Luminance(a) + 0.05, y = Luminance(b) + 0.05;
  return std::max(x, y) / std::min(x, y);
}

QFont SmallFont(const QFont& base) {
  QFont font = base;
  font.setPointSizeF(std::max(7.0, base.pointSizeF() * 0.88));
  return font;
}

QFont StrongFont(const QFont& base) {
  QFont font = base;
  font.setWeight(QFont::DemiBold);
  return font;
}

QFont TitleFont(const QFont& base) {
  QFont font = base;
  font.setPointSizeF(base.pointSizeF() * 1.3);
  font.setWeight(QFont::DemiBold);
  return font;
}

void PaintDrawnCell(QPainter* painter, const QStyleOptionViewItem& option) {
  if (!option.state.testFlag(QStyle::State_Selected)) return;
  const QRect inner = option.rect.adjusted(0, 2, 0, -2);
  painter->fillRect(inner, option.palette.color(QPalette::Base));
}

QString FlatStyle() {
  return QStringLiteral(
      "QTabWidget::pane { border: none; }"
      "QTabBar { background: transparent; qproperty-drawBase: 0; }"
      "QTabBar::tab { background: transparent; border: none; border-bottom: 2px solid transparent;"
      " padding: 7px 14px; margin: 0; }"
      "QTabBar::tab:selected { border-bottom: 2px solid palette(highlight); font-weight: 600; }"
      "QTabBar::tab:hover:!selected { border-bottom: 2px solid palette(mid); }"
      "QHeaderView { background: palette(base); }"
      "QHeaderView::section { background: palette(base); border: none;"
      " border-bottom: 1px solid palette(midlight); padding: 4px 6px; }"
      "QListWidget#navigation { background: palette(window); border: none; outline: none; }"
      "QListWidget#navigation::item { padding: 5px 12px; border: none;"
      " border-left: 3px solid transparent; }"
      "QListWidget#navigation::item:selected { background: palette(base); color: palette(text);"
      " border-left: 3px solid palette(highlight); font-weight: 600; }"
      "QListWidget#navigation::item:hover:!selected { background: palette(midlight); }"
      "QTreeView { border: none; }"
      "QTreeView::item { padding: 2px 0; }"
      "QSplitter::handle { background: transparent; }"
      "QMenuBar { background: palette(window); }");
}

QPalette MakePalette(bool dark) {
  const QColor window = dark ? QColor(0x1b, 0x1e, 0x23) : QColor(0xf4, 0xf5, 0xf7);
  const QColor base = dark ? QColor(0x22, 0x26, 0x2c) : QColor(0xff, 0xff, 0xff);
  const QColor text = dark ? QColor(0xe4, 0xe7, 0xeb) : QColor(0x1c, 0x21, 0x28);
  const QColor button = dark ? QColor(0x2c, 0x31, 0x38) : QColor(0xf0, 0xf1, 0xf3);
  QPalette palette(text, button, button.lighter(dark ? 150 : 105), button.darker(150),
                   button.darker(120), text, text, base, window);
  palette.setColor(QPalette::Midlight, Mix(base, text, 0.12));
  palette.setColor(QPalette::Mid, Mix(base, text, 0.3));
  palette.setColor(QPalette::AlternateBase, Mix(base, text, 0.035));
  palette.setColor(QPalette::ToolTipBase, base);
  palette.setColor(QPalette::ToolTipText, text);
  palette.setColor(QPalette::PlaceholderText, Mix(base, text, 0.66));
  palette.setColor(QPalette::Highlight, dark ? QColor(0x2b, 0x5c, 0x86) : QColor(0x1f, 0x74, 0xb8));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, dark ? QColor(0x6c, 0xb8, 0xf0) : QColor(0x00, 0x5f, 0xa8));
  const QColor faint = Mix(window, text, 0.5);
  for (const QPalette::ColorRole role :
       {QPalette::Text, QPalette::WindowText, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, faint);
  }
  return palette;
}

}  // namespace memprof::viewer
