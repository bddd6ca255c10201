// Colours as numbers: contrast (WCAG 2) of text and marks, and distances (CIEDE2000) between
// categorical colours for normal vision, protanopia and deuteranopia (simulated with the matrices
// of Machado, Oliveira and Fernandes, 2009).
#include "viewer/views/theme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace memprof::viewer {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
constexpr Matrix kProtanope = {{{0.152286, 1.052583, -0.204868},
                                {0.114503, 0.786281, 0.099216},
                                {-0.003882, -0.048116, 1.051998}}};
constexpr Matrix kDeuteranope = {{{0.367322, 0.860646, -0.227968},
                                  {0.280085, 0.672501, 0.047413},
                                  {-0.011820, 0.042940, 0.968881}}};

Vector Times(const Matrix& m, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) out[i] += m[i][j] * v[j];
  return out;
}

// CIE L*a*b* as seen with this kind of vision.
Vector Lab(const QColor& color, const Matrix& eye) {
  const auto linear = [](double c) {
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  Vector rgb = Times(eye, {linear(color.redF()), linear(color.greenF()), linear(color.blueF())});
  for (double& c : rgb) c = std::clamp(c, 0.0, 1.0);
  constexpr Matrix kToXyz = {{{0.4124564, 0.3575761, 0.1804375},
                              {0.2126729, 0.7151522, 0.0721750},
                              {0.0193339, 0.1191920, 0.9503041}}};
  const Vector xyz = Times(kToXyz, rgb);
  const auto f = [](double t) { return t > 0.008856 ? std::cbrt(t) : 7.787 * t + 16.0 / 116; };
  const double x = f(xyz[0] / 0.95047), y = f(xyz[1]), z = f(xyz[2] / 1.08883);
  return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

double Radians(double degrees) { return degrees * std::numbers::pi / 180; }

double Ciede2000(const Vector& one, const Vector& other) {
  const auto pow7 = [](double c) { return std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7)); };
  const double mean = (std::hypot(one[1], one[2]) + std::hypot(other[1], other[2])) / 2;
  const double g = 0.5 * (1 - std::sqrt(pow7(mean)));
  const double a1 = one[1] * (1 + g), a2 = other[1] * (1 + g);
  const double c1 = std::hypot(a1, one[2]), c2 = std::hypot(a2, other[2]);
  const auto hue = [](double b, double a) {
    const double degrees = std::atan2(b, a) * 180 / std::numbers::pi;
    return degrees < 0 ? degrees + 360 : degrees;
  };
  const double h1 = hue(one[2], a1), h2 = hue(other[2], a2);
  double turn = h2 - h1, h = (h1 + h2) / 2;
  if (c1 * c2 == 0) {
    turn = 0;
    h = h1 + h2;
  } else if (std::abs(h1 - h2) > 180) {
    turn += turn > 0 ? -360 : 360;
    h += h1 + h2 < 360 ? 180 : -180;
  }
  const double l = (one[0] + other[0]) / 2, c = (c1 + c2) / 2;
  const double t = 1 - 0.17 * std::cos(Radians(h - 30)) + 0.24 * std::cos(Radians(2 * h)) +
                   0.32 * std::cos(Radians(3 * h + 6)) - 0.2 * std::cos(Radians(4 * h - 63));
  const double sl = 1 + 0.015 * (l - 50) * (l - 50) / std::sqrt(20 + (l - 50) * (l - 50));
  const double sc = 1 + 0.045 * c, sh = 1 + 0.015 * c * t;
  const double rotation =
      -2 * std::sqrt(pow7(c)) * std::sin(Radians(60 * std::exp(-std::pow((h - 275) / 25, 2))));
  const double dl = (other[0] - one[0]) / sl, dc = (c2 - c1) / sc;
  const double dh = 2 * std::sqrt(c1 * c2) * std::sin(Radians(turn / 2)) / sh;
  return std::sqrt(dl * dl + dc * dc + dh * dh + rotation * dc * dh);
}

// From the published test data.
TEST(Ciede2000, IsThatOfItsAuthors) {
  EXPECT_NEAR(Ciede2000({50, 2.6772, -79.7751}, {50, 0, -82.7485}), 2.0425, 1e-4);
  EXPECT_NEAR(Ciede2000({50, 2.5, 0}, {73, 25, -18}), 27.1492, 1e-4);
  EXPECT_NEAR(Ciede2000({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}), 1.2644, 1e-4);
}

class ThemeTest : public ::testing::TestWithParam<bool> {
 protected:
  const QPalette palette_ = MakePalette(GetParam());
  const Theme theme_ = Theme::From(palette_);
};

INSTANTIATE_TEST_SUITE_P(Both, ThemeTest, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "Dark" : "Light"; });

TEST_P(ThemeTest, ContrastIsThatOfWcag) {
  EXPECT_NEAR(Theme::Contrast(Qt::black, Qt::white), 21, 1e-9);
  EXPECT_NEAR(Theme::Contrast(QColor(0x77, 0x77, 0x77), Qt::white), 4.478, 1e-3);
  EXPECT_EQ(Theme::Contrast(theme_.text, theme_.text), 1);
}

TEST_P(ThemeTest, WordsCanBeRead) {
  for (const QColor& back : {theme_.surface, theme_.window}) {
    for (const QColor& words : {theme_.text, theme_.muted, theme_.accent, theme_.danger,
                                theme_.warning, theme_.good, palette_.color(QPalette::Link)})
      EXPECT_GE(Theme::Contrast(words, back), 4.5) << words.name().toStdString();
  }
  EXPECT_GE(Theme::Contrast(palette_.color(QPalette::HighlightedText),
                            palette_.color(QPalette::Highlight)),
            4.5);
  EXPECT_GE(Theme::Contrast(palette_.color(QPalette::PlaceholderText), theme_.surface), 4.5);
  // On any background: boxes of the flame graph, blocks of the map.
  for (int grey = 0; grey < 256; ++grey) {
    const QColor fill(grey, (grey * 7) % 256, 255 - grey);
    EXPECT_GE(Theme::Contrast(Theme::TextOn(fill), fill), 4.5);
  }
}

// A peak may be one pixel wide. It must be visible against cached memory and against the
// background.
TEST_P(ThemeTest, SpikesAreSeen) {
  const QColor cached = theme_.Band(BandRole::kCached);
  std::vector<QColor> used;
  for (const BandRole role :
       {BandRole::kTensors, BandRole::kBlocks, BandRole::kLinear, BandRole::kStreamOrdered,
        BandRole::kManaged, BandRole::kVmm, BandRole::kArray, BandRole::kPitched, BandRole::kGraph,
        BandRole::kPinned, BandRole::kRegistered})
    used.push_back(theme_.Band(role));
  for (int i = 0; i <= Theme::kCategories; ++i) used.push_back(theme_.Group(i));
  for (const QColor& band : used) {
    for (const QColor& color : {band, theme_.AtTimes(band)}) {
      EXPECT_GE(Theme::Contrast(color, cached), 3) << color.name().toStdString();
      EXPECT_GE(Theme::Contrast(color, theme_.surface), 3) << color.name().toStdString();
    }
  }
}

TEST_P(ThemeTest, CategoriesDifferForAnyColourVision) {
  for (const Matrix* eye : {&kNormal, &kProtanope, &kDeuteranope}) {
    for (int i = 0; i <= Theme::kCategories; ++i) {
      for (int j = -1; j < i; ++j) {
        EXPECT_GE(Ciede2000(Lab(theme_.Group(i), *eye), Lab(theme_.Group(j), *eye)), 10)
            << i << " and " << j;
      }
    }
  }
}

// Less, more and as much are told apart, and each from no value (the surface).
TEST_P(ThemeTest, LessAndMoreDifferForAnyColourVision) {
  for (const Matrix* eye : {&kNormal, &kProtanope, &kDeuteranope}) {
    const auto seen = [&](double share) { return Lab(theme_.Diverging(share), *eye); };
    EXPECT_GE(Ciede2000(seen(-1), seen(1)), 40);
    EXPECT_GE(Ciede2000(seen(-0.5), seen(0.5)), 15);
    for (const double share : {-1.0, 1.0}) EXPECT_GE(Ciede2000(seen(share), seen(0)), 30) << share;
    for (double share = -1; share <= 1; share += 0.125)
      EXPECT_GE(Ciede2000(seen(share), Lab(theme_.surface, *eye)), 8) << share;
  }
}

}  // namespace
}  // namespace memprof::viewer
