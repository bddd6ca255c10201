// Draws rectangles that do not overlap, such that even the smallest is visible: every pixel has the
// mean colour of its content, and its opacity is the covered share, but at least a minimum if it
// has any content. Pure; not thread-safe.
#pragma once

#include <QImage>
#include <QRgb>
#include <cstdint>
#include <span>
#include <vector>

namespace memprof::viewer {

class CoverageGrid {
 public:
  // The opacity of a pixel with hardly any content.
  static constexpr double kMinOpacity = 0.42;

  CoverageGrid(int width, int height);

  int width() const { return width_; }
  int height() const { return height_; }

  // Adds [x0, x1) × [y0, y1), in pixels from the top left; parts outside are cut off. A rectangle
  // with an area below 1/4096 of a pixel counts as that. O(pixels along its vertical sides): wide
  // ones cost no more than narrow ones of the same height.
  void Add(double x0, double x1, double y0, double y1, QRgb color);

  // The covered share of a pixel, in [0, 1]. For tests.
  double Coverage(int x, int y) const;

  // The picture, over `under` if that has the same size, else over nothing. The opacity is at least
  // `least` and at most `most`.
  QImage Compose(const QImage& under = QImage(), double least = kMinOpacity, double most = 1) const;

 private:
  static constexpr int kSub = 64;  // places within a pixel, along each side
  // Sums of weight and colour over the pixels from the left edge up to here.
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
