// The sentence with links: keys, focus, and what it does without space.
#include "viewer/views/link_line.h"

#include <gtest/gtest.h>

#include <QAbstractButton>
#include <QApplication>
#include <QTest>

#include "tests/viewer/window_fixture.h"

namespace memprof::viewer {
namespace {

class LinkLineTest : public ::testing::Test {
 protected:
  LinkLineTest() {
    connection_ = QObject::connect(&line_, &LinkLine::Followed, &line_,
                                   [this](const VerdictTarget& target) { followed_ = target; });
    VerdictTarget leaks, instant;
    leaks.view = VerdictView::kLeaks;
    instant.instant = 7;
    line_.Show({{QStringLiteral("1 suspected leak"), {}, {}},
                {QStringLiteral(": "), {}, {}},
                {QStringLiteral("A::very::long::name::of::Function (history.cc:9)"), leaks,
                 QStringLiteral("Select it"), true},
                {QStringLiteral(", then much more at "), {}, {}, false, 1},
                {QStringLiteral("step 3"), instant, QStringLiteral("Go there"), false, 1}},
               VerdictTone::kBad);
    line_.resize(line_.sizeHint());
    line_.show();
    line_.activateWindow();
    QApplication::setActiveWindow(&line_);
  }
  QList<QAbstractButton*> Links() {
    QList<QAbstractButton*> links;
    for (QAbstractButton* link : line_.findChildren<QAbstractButton*>())
      if (link->isVisible()) links << link;
    return links;
  }

  LinkLine line_;
  std::optional<VerdictTarget> followed_;
  QMetaObject::Connection connection_;
};

TEST_F(LinkLineTest, TabReachesLinksAndEnterFollowsThem) {
  ASSERT_EQ(Links().size(), 2);
  Links()[0]->setFocus();
  QTest::keyClick(Links()[0], Qt::Key_Return);
  ASSERT_TRUE(followed_.has_value());
  EXPECT_EQ(followed_->view, VerdictView::kLeaks);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
  EXPECT_EQ(QApplication::focusWidget(), Links()[1]);
  QTest::keyClick(QApplication::focusWidget(), Qt::Key_Space);
  EXPECT_EQ(followed_->instant, 7u);
  QTest::mouseClick(Links()[0], Qt::LeftButton);
  EXPECT_EQ(followed_->view, VerdictView::kLeaks);
}

TEST_F(LinkLineTest, TheFocusHasARing) {
  Links()[1]->setFocus();
  const QImage without = testing::Grab(Links()[0]);
  Links()[0]->setFocus();
  EXPECT_NE(testing::Grab(Links()[0]), without);
}

TEST_F(LinkLineTest, WithoutSpaceItShortensNamesThenLeavesGroupsOut) {
  const QString whole = line_.Text();
  EXPECT_EQ(line_.ShownText(), whole);
  line_.resize(line_.width() - 60, line_.height());
  EXPECT_TRUE(line_.ShownText().contains(QStringLiteral("(history.cc:9)")))
      << qPrintable(line_.ShownText());
  EXPECT_TRUE(line_.ShownText().endsWith(QStringLiteral("step 3")));
  line_.resize(300, line_.height());
  EXPECT_TRUE(line_.ShownText().endsWith(QStringLiteral("history.cc:9")) ||
              line_.ShownText().endsWith(QStringLiteral("(history.cc:9)")))
      << qPrintable(line_.ShownText());
  EXPECT_EQ(Links().size(), 1) << "what is not shown cannot have the focus";
  EXPECT_EQ(line_.Text(), whole);
}

TEST_F(LinkLineTest, WhatIsCutEndsWithDots) {
  line_.resize(130, line_.height());
  const QString shown = line_.ShownText();
  EXPECT_TRUE(shown.endsWith(QStringLiteral("…"))) << qPrintable(shown);
  EXPECT_TRUE(shown.startsWith(QStringLiteral("1 suspected"))) << qPrintable(shown);
  EXPECT_FALSE(shown.contains(QStringLiteral("step 3")));
  for (const QAbstractButton* link : Links()) EXPECT_LE(link->geometry().right(), 130);
  line_.resize(line_.sizeHint());
  EXPECT_EQ(line_.ShownText(), line_.Text());
}

TEST_F(LinkLineTest, AScreenReaderReadsTheWholeSentence) {
  EXPECT_EQ(line_.accessibleName(), line_.Text());
  EXPECT_EQ(Links()[1]->accessibleName(), QStringLiteral("step 3"));
  EXPECT_EQ(Links()[1]->accessibleDescription(), QStringLiteral("Go there"));
}

// While a log grows, the sentence is replaced every few seconds.
TEST_F(LinkLineTest, ANewSentenceKeepsTheFocus) {
  Links()[1]->setFocus();
  VerdictTarget target;
  line_.Show({{QStringLiteral("2 suspected leaks"), {}, {}},
              {QStringLiteral(": "), {}, {}},
              {QStringLiteral("Other (a.cc:1)"), target, QStringLiteral("Select it"), true},
              {QStringLiteral(" at "), {}, {}},
              {QStringLiteral("step 4"), target, QStringLiteral("Go there")}},
             VerdictTone::kBad);
  QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
  ASSERT_NE(QApplication::focusWidget(), nullptr);
  EXPECT_EQ(QApplication::focusWidget()->accessibleName(), QStringLiteral("step 4"));
}

}  // namespace
}  // namespace memprof::viewer
