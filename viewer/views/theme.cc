// Colours, fonts and spacing.
#include "viewer/views/theme.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace memprof::viewer {
namespace {

QColor Mix(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](int x, int y) {
    return static_cast<int>(std::lround(x + (y - x) * share));
  };
  return QColor(mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue()));
}

// Okabe & Ito, "Color Universal Design", without black; order chosen so that neighbours differ
// most. Blue and yellow are toned to keep contrast with text on either background.
constexpr std::array<QRgb, Theme::kCategories> kOkabeIto = {
    0xff0072b2, 0xffe69f00, 0xff009e73, 0xffcc79a7, 0xff56b4e9, 0xffd55e00, 0xffe3d33c};

}  // namespace

Theme Theme::From(const QPalette& palette) {
  Theme theme;
  theme.window = palette.color(QPalette::Window);
  theme.surface = palette.color(QPalette::Base);
  theme.text = palette.color(QPalette::Text);
  theme.dark = theme.surface.lightness() < 128;
  theme.border = Mix(theme.surface, theme.text, theme.dark ? 0.22 : 0.16);
  theme.grid = Mix(theme.surface, theme.text, theme.dark ? 0.13 : 0.09);
  theme.muted = Mix(theme.surface, theme.text, theme.dark ? 0.66 : 0.60);
  theme.accent = theme.dark ? QColor(0x6c, 0xb8, 0xf0) : QColor(0x00, 0x5f, 0xa8);
  theme.danger = theme.dark ? QColor(0xff, 0x8a, 0x4c) : QColor(0xbf, 0x45, 0x00);
  theme.warning = theme.dark ? QColor(0xf2, 0xb8, 0x3c) : QColor(0x8f, 0x5f, 0x00);
  theme.good = theme.dark ? QColor(0x3c, 0xc8, 0x9c) : QColor(0x00, 0x7a, 0x58);
  theme.hole = Mix(theme.surface, theme.text, theme.dark ? 0.10 : 0.06);
  return theme;
}

QColor Theme::Band(BandRole role) const {
  const auto tone = [this](QRgb rgb) {
    const QColor color = QColor::fromRgb(rgb);
    return Mix(color, QColor(Qt::white), dark ? 0.08 : 0.14);
  };
  switch (role) {
    case BandRole::kTensors:
      return tone(0xff0072b2);
    case BandRole::kBlocks:
      return tone(0xff56b4e9);
    case BandRole::kCached:
      return Mix(surface, text, dark ? 0.28 : 0.20);
    case BandRole::kLinear:
      return tone(0xffe69f00);
    case BandRole::kStreamOrdered:
      return tone(0xff009e73);
    case BandRole::kManaged:
      return tone(0xffcc79a7);
    case BandRole::kVmm:
      return tone(0xff3fb892);
    case BandRole::kArray:
      return tone(0xffd55e00);
    case BandRole::kPitched:
      return tone(0xffe3d33c);
    case BandRole::kGraph:
      return tone(0xff9a6fb0);
    case BandRole::kPool:
      return Mix(surface, text, dark ? 0.42 : 0.34);
    case BandRole::kPinned:
      return tone(0xff009e73);
    case BandRole::kRegistered:
      return tone(0xffcc79a7);
    case BandRole::kGroup:
    case BandRole::kOther:
      return Mix(surface, text, dark ? 0.52 : 0.42);
    case BandRole::kOtherDriver:
      return Mix(surface, text, dark ? 0.36 : 0.28);
    case BandRole::kFilteredOut:
      return Mix(surface, text, dark ? 0.13 : 0.10);
  }
  return muted;
}

QColor Theme::Categorical(int index) const {
  if (index < 0 || index >= kCategories) return Mix(surface, text, dark ? 0.46 : 0.42);
  const QColor color = QColor::fromRgb(kOkabeIto[static_cast<std::size_t>(index)]);
  return dark ? Mix(color, QColor(Qt::white), 0.08) : color;
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

QColor Theme::Frame(bool python, const QString& function) const {
  std::uint32_t hash = 2166136261u;
  for (const QChar c : function) hash = (hash ^ c.unicode()) * 16777619u;
  const double vary = (hash >> 8) % 1000 / 1000.0;
  const QColor from = python ? QColor(0x56, 0xb4, 0xa0) : QColor(0xf0, 0xb0, 0x4a);
  const QColor to = python ? QColor(0x6f, 0xb8, 0xe4) : QColor(0xe8, 0x8c, 0x50);
  return Mix(Mix(from, to, vary), surface, dark ? 0.22 : 0.12);
}

QColor Theme::TextOn(const QColor& fill) {
  // Relative luminance of WCAG 2; 0.36 is where black and white read about equally well here.
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  const double luminance =
      0.2126 * linear(fill.redF()) + 0.7152 * linear(fill.greenF()) + 0.0722 * linear(fill.blueF());
  return luminance > 0.24 ? QColor(0x10, 0x14, 0x18) : QColor(Qt::white);
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

QString FlatStyle() {
  return QStringLiteral(
      "QTabWidget::pane { border: none; }"
      "QTabBar { background: transparent; }"
      "QTabBar::tab { background: transparent; border: none; border-bottom: 2px solid transparent;"
      " padding: 7px 14px; margin: 0; }"
      "QTabBar::tab:selected { border-bottom: 2px solid palette(highlight); font-weight: 600; }"
      "QTabBar::tab:hover:!selected { border-bottom: 2px solid palette(mid); }"
      "QHeaderView::section { background: palette(base); border: none;"
      " border-bottom: 1px solid palette(midlight); padding: 4px 6px; }"
      "QListWidget#navigation { background: palette(window); border: none; outline: none; }"
      "QListWidget#navigation::item { padding: 5px 12px; border: none;"
      " border-left: 3px solid transparent; }"
      "QListWidget#navigation::item:selected { background: palette(base); color: palette(text);"
      " border-left: 3px solid palette(highlight); font-weight: 600; }"
      "QListWidget#navigation::item:hover:!selected { background: palette(midlight); }"
      "QTreeView { border: none; }"
      "QTreeView::item { padding: 2px 3px; }"
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
  palette.setColor(QPalette::PlaceholderText, Mix(base, text, 0.5));
  palette.setColor(QPalette::Highlight, dark ? QColor(0x2b, 0x5c, 0x86) : QColor(0x1f, 0x74, 0xb8));
  palette.setColor(QPalette::HighlightedText, Qt::white);
  palette.setColor(QPalette::Link, dark ? QColor(0x6c, 0xb8, 0xf0) : QColor(0x00, 0x5f, 0xa8));
  const QColor faint = Mix(window, text, 0.4);
  for (const QPalette::ColorRole role :
       {QPalette::Text, QPalette::WindowText, QPalette::ButtonText}) {
    palette.setColor(QPalette::Disabled, role, faint);
  }
  return palette;
}

}  // namespace memprof::viewer
