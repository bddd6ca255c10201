// The details in a window of their own, and back.
#include "viewer/window/pane_window.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QMenu>
#include <QMenuBar>
#include <QSettings>
#include <QSplitter>
#include <QToolButton>

#include "tests/viewer/window_fixture.h"
#include "viewer/views/details_panel.h"

namespace memprof::viewer {
namespace {

class PaneWindowTest : public testing::WindowFixture {
 protected:
  PaneWindowTest() {
    QCoreApplication::setOrganizationName(QStringLiteral("memprof-test"));
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, directory_.path());
  }
  static PaneWindow* Apart(MainWindow& window) { return window.findChild<PaneWindow*>(); }
  static DetailsPanel* Details(MainWindow& window) { return window.findChild<DetailsPanel*>(); }
  QAction* Action() {
    for (QAction* menu : window_.menuBar()->actions())
      for (QAction* action : menu->menu()->actions())
        if (action->shortcut() == QKeySequence(Qt::Key_F9)) return action;
    return nullptr;
  }
  QToolButton* Button() {
    for (auto* button : Details(window_)->findChildren<QToolButton*>())
      if (button->accessibleName().contains(QStringLiteral("F9"))) return button;
    return nullptr;
  }
};

TEST_F(PaneWindowTest, IsTornOffAndPutBackAsItWas) {
  Open();
  window_.resize(1280, 800);
  auto* splitter = qobject_cast<QSplitter*>(Details(window_)->parentWidget());
  ASSERT_NE(splitter, nullptr);
  splitter->setSizes({700, 400});
  const QList<int> sizes = splitter->sizes();
  PaneWindow* apart = Apart(window_);
  EXPECT_FALSE(apart->isVisible());
  QTest::mouseClick(Button(), Qt::LeftButton);
  EXPECT_TRUE(apart->isVisible());
  EXPECT_TRUE(apart->windowTitle().contains(window_.windowTitle().section(QLatin1Char(' '), 0, 0)));
  EXPECT_EQ(Details(window_)->window(), apart);
  EXPECT_EQ(splitter->count(), 1);
  EXPECT_TRUE(Action()->isChecked());
  apart->resize(900, 600);
  QCoreApplication::processEvents();
  EXPECT_EQ(Details(window_)->width(), 900) << "no limit of the main window's";
  window_.resize(1200, 800);
  QCoreApplication::processEvents();
  EXPECT_EQ(Details(window_)->width(), 900);
  window_.resize(1280, 800);
  Action()->trigger();
  EXPECT_FALSE(apart->isVisible());
  EXPECT_EQ(Details(window_)->parentWidget(), splitter);
  EXPECT_EQ(splitter->sizes(), sizes);
  EXPECT_LE(Details(window_)->maximumWidth(), 440);
  EXPECT_FALSE(Action()->isChecked());
}

TEST_F(PaneWindowTest, StaysWithEveryViewWhileThereIsALog) {
  PaneWindow* apart = Apart(window_);
  window_.show();
  Action()->trigger();
  EXPECT_FALSE(apart->isVisible()) << "there is nothing to tell details of";
  Open();
  EXPECT_TRUE(apart->isVisible());
  window_.ShowView(ViewKind::kLeaks);
  EXPECT_TRUE(Details(window_)->isVisible()) << "this view has no panel beside it";
  Action()->trigger();
  EXPECT_FALSE(Details(window_)->isVisible());
  window_.ShowView(ViewKind::kTimeline);
  EXPECT_TRUE(Details(window_)->isVisible());
}

TEST_F(PaneWindowTest, ClosingPutsItBackAlsoByKey) {
  Open();
  PaneWindow* apart = Apart(window_);
  apart->SetApart(true);
  QTest::keyClick(Details(window_), Qt::Key_W, Qt::ControlModifier);
  QCoreApplication::processEvents();
  EXPECT_FALSE(apart->apart());
  EXPECT_TRUE(window_.isVisible()) << "Ctrl+W is of the window in front";
  EXPECT_TRUE(Details(window_)->isVisible());
  apart->SetApart(true);
  window_.close();
  EXPECT_FALSE(apart->isVisible()) << "it does not stay alone";
}

TEST_F(PaneWindowTest, IsKept) {
  const QString log = testing::WriteDemoLog(directory_, {.steps = 5});
  const QRect place(40, 50, 500, 600);
  QByteArray home;
  for (const bool first : {true, false}) {
    MainWindow window(MainWindow::Settings::kKept);
    PaneWindow* apart = Apart(window);
    EXPECT_EQ(apart->apart(), !first);
    window.show();
    window.Open(log);
    window.WaitUntilSettled();
    if (first) {
      home = apart->HomeState();
      apart->SetApart(true);
      apart->setGeometry(place);
    } else {
      EXPECT_TRUE(apart->isVisible());
      EXPECT_EQ(apart->geometry(), place);
      EXPECT_EQ(apart->HomeState(), home) << "the width to which it goes back";
    }
    // As quitting does, in whatever order.
    apart->close();
    window.close();
  }
  MainWindow ignored(MainWindow::Settings::kIgnored);
  EXPECT_FALSE(Apart(ignored)->apart()) << "screenshots";
  QSettings().setValue(QStringLiteral("window/details_window"), QStringLiteral("nonsense"));
  QSettings().setValue(QStringLiteral("window/details_apart"), QStringLiteral("maybe"));
  MainWindow spoilt(MainWindow::Settings::kKept);
  spoilt.show();
  EXPECT_TRUE(spoilt.isVisible());
}

}  // namespace
}  // namespace memprof::viewer
