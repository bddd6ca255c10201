// A picture of rectangles that do not overlap, in which nothing is too small to be seen: every
// pixel has the mean colour of what lies in it, as opaque as the part of it that is covered, and at
// least a little opaque where anything lies in it at all. Pure; not thread-safe.
#pragma once

#include <QImage>
#include <QRgb>
#include <cstdint>
#include <span>
#include <vector>

namespace memprof::viewer {

class CoverageGrid {
 public:
  // Opacity of a pixel of which next to nothing is covered.
  static constexpr double kMinOpacity = 0.42;

  CoverageGrid(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  // Adds [x0, x1) × [y0, y1), in pixels from the top left; parts outside are cut off. A rectangle
  // of a smaller area than 1/4096 of a pixel counts as that. O(pixels that its sides pass
  // vertically): wide and flat ones cost no more than small ones.
  void Add(double x0, double x1, double y0, double y1, QRgb color);

  // Of 0 … 1: how much of a pixel is covered. For tests.
  double Coverage(int x, int y) const;

  // What was added, over `under` if that has the same size, else over nothing. The coverage is
  // shown with at least `least` opacity, at most `most`.
  QImage Compose(const QImage& under = QImage(), double least = kMinOpacity, double most = 1) const;

 private:
  static constexpr int kSub = 64;  // places within a pixel, along each side
  // Sums over the pixels from the left edge up to here give the pixel's weight and colour.
  struct Cell {
    std::uint32_t weight = 0, red = 0, green = 0, blue = 0;
    void Plus(std::uint32_t w, QRgb color) {
      weight += w;
      red += w * static_cast<std::uint32_t>(qRed(color));
      green += w * static_cast<std::uint32_t>(qGreen(color));
      blue += w * static_cast<std::uint32_t>(qBlue(color));
    }
    void Plus(const Cell& other) {
      weight += other.weight;
      red += other.red;
      green += other.green;
      blue += other.blue;
    }
  };

  void AddToRow(Cell* row, int x0, int x1, int part, QRgb color);

  int width_, height_, stride_;
  std::vector<Cell> cells_;
};

}  // namespace memprof::viewer
