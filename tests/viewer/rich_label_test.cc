// Labels that are laid out once: their height, their links, and which layouts they affect.
#include "viewer/views/rich_label.h"

#include <gtest/gtest.h>

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QVBoxLayout>

namespace memprof::viewer {
namespace {

// Counts how often the layout of a widget was invalidated.
class LayoutRequests : public QObject {
 public:
  explicit LayoutRequests(QWidget* widget) { widget->installEventFilter(this); }
  int Count() {
    QCoreApplication::sendPostedEvents();
    return std::exchange(count_, 0);
  }

 protected:
  bool eventFilter(QObject*, QEvent* event) override {
    count_ += event->type() == QEvent::LayoutRequest;
    return false;
  }

 private:
  int count_ = 0;
};

class RichLabelTest : public ::testing::Test {
 protected:
  RichLabelTest() {
    auto* column = new QVBoxLayout(&page_);
    label_ = new RichLabel(&page_);
    column->addWidget(label_);
    column->addStretch(1);
    page_.resize(300, 400);
    page_.show();
  }

  static QString Words(int count) {
    QString text;
    for (int i = 0; i < count; ++i) text += QStringLiteral("word%1 ").arg(i % 10);
    return text;
  }

  QWidget page_;
  RichLabel* label_;
};

TEST_F(RichLabelTest, IsAsHighAsALabelOfQt) {
  QLabel other;
  other.setWordWrap(true);
  other.setTextFormat(Qt::RichText);
  for (const int count : {1, 5, 30, 200}) {
    label_->setText(Words(count));
    other.setText(Words(count));
    int last = 1 << 20;
    for (const int width : {80, 200, 500, 1500}) {
      const int height = label_->heightForWidth(width);
      EXPECT_NEAR(height, other.heightForWidth(width), 2) << count << " words, " << width;
      EXPECT_LE(height, last);
      // The result does not depend on the number and order of calls.
      EXPECT_EQ(label_->heightForWidth(width), height);
      last = height;
    }
    EXPECT_EQ(label_->heightForWidth(200), [&] {
      RichLabel fresh;
      fresh.setText(Words(count));
      return fresh.heightForWidth(200);
    }());
  }
}

TEST_F(RichLabelTest, AsksForAnotherPlaceOnlyWhenItNeedsOne) {
  label_->setText(Words(3));
  LayoutRequests requests(&page_);
  requests.Count();
  label_->setText(Words(4));  // still one line
  EXPECT_EQ(requests.Count(), 0);
  label_->setText(Words(100));
  EXPECT_GT(requests.Count(), 0);
  EXPECT_EQ(label_->height(), label_->heightForWidth(label_->width()));
  label_->setText(Words(100));
  EXPECT_EQ(requests.Count(), 0);
  label_->clear();
  EXPECT_GT(requests.Count(), 0);
}

TEST_F(RichLabelTest, LinksAreFollowedWhereTheyAre) {
  label_->setText(QStringLiteral("<a href='there'>%1</a>").arg(Words(2)));
  QCoreApplication::sendPostedEvents();
  QSignalSpy spy(label_, &RichLabel::linkActivated);
  const QPoint on_it(10, label_->height() / 2);
  QTest::mouseMove(label_, on_it);
  QTest::mouseClick(label_, Qt::LeftButton, {}, on_it);
  ASSERT_EQ(spy.size(), 1);
  EXPECT_EQ(spy[0][0].toString(), QStringLiteral("there"));
  QTest::mouseClick(label_, Qt::LeftButton, {}, QPoint(label_->width() - 2, on_it.y()));
  QTest::mouseClick(label_, Qt::RightButton, {}, on_it);
  EXPECT_EQ(spy.size(), 1);
}

TEST_F(RichLabelTest, IsReadAndCopiedWithoutMarks) {
  label_->setText(QStringLiteral("<span style='color:#ff0000'>in&nbsp;use</span> <b>3 GiB</b>"));
  EXPECT_EQ(label_->accessibleName(), label_->PlainText());
  ASSERT_EQ(label_->actions().size(), 1);
  label_->actions()[0]->trigger();
  QString copied = QApplication::clipboard()->text();
  EXPECT_EQ(copied.replace(QChar(0xa0), QLatin1Char(' ')), QStringLiteral("in use 3 GiB"));
}

TEST_F(RichLabelTest, PaintsItsColours) {
  label_->setText(QStringLiteral("<span style='color:#ff0000'>■■■■</span>"));
  QCoreApplication::sendPostedEvents();
  const QImage picture = label_->grab().toImage();
  int red = 0;
  for (int y = 0; y < picture.height(); ++y)
    for (int x = 0; x < picture.width(); ++x) red += picture.pixelColor(x, y) == QColor(255, 0, 0);
  EXPECT_GT(red, 50);
}

}  // namespace
}  // namespace memprof::viewer
