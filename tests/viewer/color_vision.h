// Colours as numbers, for tests: distances (CIEDE2000) for normal vision, protanopia and
// deuteranopia (simulated with the matrices of Machado, Oliveira and Fernandes, 2009).
#pragma once

#include <QColor>
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace memprof::viewer::testing {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

inline constexpr Matrix kNormal = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
inline constexpr Matrix kProtanope = {{{0.152286, 1.052583, -0.204868},
                                       {0.114503, 0.786281, 0.099216},
                                       {-0.003882, -0.048116, 1.051998}}};
inline constexpr Matrix kDeuteranope = {{{0.367322, 0.860646, -0.227968},
                                         {0.280085, 0.672501, 0.047413},
                                         {-0.011820, 0.042940, 0.968881}}};

inline Vector Times(const Matrix& m, const Vector& v) {
  Vector out{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j) out[i] += m[i][j] * v[j];
  return out;
}

// CIE L*a*b* as seen with this kind of vision.
inline Vector Lab(const QColor& color, const Matrix& eye) {
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

inline double Radians(double degrees) { return degrees * std::numbers::pi / 180; }

inline double Ciede2000(const Vector& one, const Vector& other) {
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

}  // namespace memprof::viewer::testing
