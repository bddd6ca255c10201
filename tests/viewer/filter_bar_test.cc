// The window's filter: typed, chosen, removed, undone; and what passes it.
#include "viewer/views/filter_bar.h"

#include <gmock/gmock.h>

#include <QKeyEvent>
#include <QLineEdit>
#include <QToolButton>

#include "analysis/store/allocation_set.h"
#include "tests/viewer/window_fixture.h"

namespace memprof::viewer {
namespace {

using analysis::AllocationId;
using testing::WindowFixture;

class FilterBarTest : public WindowFixture {
 protected:
  int Passing() {
    const analysis::AllocationSet* set = window_.document().passing().get();
    int count = 0;
    for (std::uint32_t i = 0; i < window_.document().session()->records().size(); ++i)
      count += Passes(set, AllocationId(i));
    return count;
  }
  int All() { return static_cast<int>(window_.document().session()->records().size()); }
};

TEST_F(FilterBarTest, ATextFiltersOnceTypingPauses) {
  Open();
  EXPECT_EQ(window_.document().passing(), nullptr);
  QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier);
  QTest::keyClicks(window_.filter_bar()->text(), QStringLiteral("losshistory"));
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.document().passing() != nullptr; }));
  EXPECT_GT(Passing(), 0);
  EXPECT_LT(Passing(), All() / 2);
  EXPECT_TRUE(window_.filter_bar()->Conditions().isEmpty()) << "the text is already in the field";
  QTest::keyClick(&window_, Qt::Key_Left, Qt::AltModifier);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.document().passing(), nullptr);
  EXPECT_EQ(window_.filter_bar()->text()->text(), QString()) << "what was undone is not shown";
}

TEST_F(FilterBarTest, EscapeEmptiesTheFieldAndKeysOfTheMenuGoOn) {
  Open();
  QLineEdit* field = window_.filter_bar()->text();
  QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier);
  QTest::keyClicks(field, QStringLiteral("losshistory"));
  QTest::keyClick(field, Qt::Key_Return);
  window_.WaitUntilSettled();
  ASSERT_NE(window_.document().passing(), nullptr);
  QTest::keyClick(field, Qt::Key_Escape);
  EXPECT_EQ(field->text(), QString());
  ASSERT_TRUE(QTest::qWaitFor([&] { return window_.selection().filter().everything(); }));
  // The field leaves shortcuts of the menu to the menu.
  QKeyEvent export_key(QEvent::ShortcutOverride, Qt::Key_E, Qt::ControlModifier,
                       QStringLiteral("e"));
  export_key.ignore();
  QCoreApplication::sendEvent(field, &export_key);
  EXPECT_FALSE(export_key.isAccepted());
  QKeyEvent paste(QEvent::ShortcutOverride, Qt::Key_V, Qt::ControlModifier);
  paste.ignore();
  QCoreApplication::sendEvent(field, &paste);
  EXPECT_TRUE(paste.isAccepted()) << "the field keeps its own keys";
}

TEST_F(FilterBarTest, ACallSiteIsNamedOnceItIsKnown) {
  Open();
  analysis::AllocationFilter filter;
  filter.site = window_.document().report()->leaks.front().leak.stack;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  ASSERT_EQ(window_.filter_bar()->Conditions().size(), 1);
  EXPECT_TRUE(window_.filter_bar()->Conditions()[0].contains(QStringLiteral("LossHistory::Append")))
      << window_.filter_bar()->Conditions()[0].toStdString();
}

TEST_F(FilterBarTest, ConditionsAreChipsThatTakeThemAway) {
  Open();
  analysis::AllocationFilter filter;
  filter.least_bytes = 1 << 20;
  filter.alive_at_end = true;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_EQ(window_.filter_bar()->Conditions(),
            QStringList({QStringLiteral("at least 1.00 MiB"), QStringLiteral("alive at the end")}));
  const int both = Passing();
  QToolButton* chip = nullptr;
  for (auto* button : window_.filter_bar()->findChildren<QToolButton*>())
    if (button->text().startsWith(QStringLiteral("alive"))) chip = button;
  ASSERT_NE(chip, nullptr);
  chip->click();
  window_.WaitUntilSettled();
  EXPECT_FALSE(window_.selection().filter().alive_at_end);
  EXPECT_EQ(window_.selection().filter().least_bytes, 1u << 20);
  EXPECT_GT(Passing(), both);
  QTest::keyClick(&window_, Qt::Key_L, Qt::ControlModifier | Qt::ShiftModifier);
  EXPECT_TRUE(window_.selection().filter().everything());
  window_.selection().Back();
  window_.selection().Back();
  EXPECT_TRUE(window_.selection().filter().alive_at_end) << "two steps back";
}

TEST_F(FilterBarTest, AnotherLogIsNotFiltered) {
  Open();
  analysis::AllocationFilter filter;
  filter.least_bytes = 1 << 20;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  ASSERT_NE(window_.document().passing(), nullptr);
  Open();
  EXPECT_TRUE(window_.selection().filter().everything());
  EXPECT_EQ(window_.document().passing(), nullptr);
}

TEST_F(FilterBarTest, ACategoryIsFilteredOnceItIsKnown) {
  Open();
  analysis::AllocationFilter filter;
  filter.category = analysis::Category::kUnknown;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  ASSERT_NE(window_.document().categories(), nullptr);
  const int unknown = Passing();
  filter.category = analysis::Category::kParameters;
  window_.selection().SetFilter(filter);
  window_.WaitUntilSettled();
  EXPECT_LT(Passing() + unknown, All() + 1);
}

}  // namespace
}  // namespace memprof::viewer
