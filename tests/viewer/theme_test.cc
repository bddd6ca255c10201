// Contrast (WCAG 2) of text and marks, and distances (CIEDE2000) between categorical colours for
// normal vision, protanopia and deuteranopia.
#include "viewer/views/theme.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/viewer/color_vision.h"

namespace memprof::viewer {
namespace {

using testing::Ciede2000;
using testing::kDeuteranope;
using testing::kNormal;
using testing::kProtanope;
using testing::Lab;
using testing::Matrix;

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
  for (int i = 0; i < Theme::kGroups; ++i) used.push_back(theme_.Group(i));
  for (const QColor& band : used) {
    for (const QColor& color : {band, theme_.AtTimes(band)}) {
      EXPECT_GE(Theme::Contrast(color, cached), 3) << color.name().toStdString();
      EXPECT_GE(Theme::Contrast(color, theme_.surface), 3) << color.name().toStdString();
    }
  }
}

TEST_P(ThemeTest, CategoriesDifferForAnyColourVision) {
  for (const Matrix* eye : {&kNormal, &kProtanope, &kDeuteranope}) {
    for (int i = 0; i < Theme::kGroups; ++i) {
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
