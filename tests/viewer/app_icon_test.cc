#include "viewer/window/app_icon.h"

#include <gtest/gtest.h>

#include <QImage>

namespace memprof::viewer {
namespace {

TEST(AppIcon, ShowsTheBlockOfThePeakAtEverySize) {
  const QIcon icon = AppIcon();
  ASSERT_FALSE(icon.isNull());
  for (const int size : {16, 32, 48, 256}) {
    const QImage image = icon.pixmap(size).toImage();
    ASSERT_EQ(image.width(), size);
    EXPECT_EQ(image.pixelColor(size * 13 / 16, size * 5 / 16), QColor(0xff, 0x8a, 0x4c)) << size;
    EXPECT_EQ(image.pixelColor(0, 0).alpha() / 255, 0) << size << ": the corners are round";
  }
}

}  // namespace
}  // namespace memprof::viewer
