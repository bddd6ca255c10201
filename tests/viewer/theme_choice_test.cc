// The choice of the theme: its names, its menu, and that nothing keeps the colours of the last one.
#include "viewer/window/theme_choice.h"

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QMenu>
#include <QSettings>
#include <QStandardPaths>

#include "tests/viewer/window_fixture.h"
#include "viewer/window/view_table.h"

namespace memprof::viewer {
namespace {

class ThemeChoiceTest : public ::testing::Test {
 protected:
  ~ThemeChoiceTest() override { ApplyTheme(ThemeChoice::kSystem); }

  // A window on a log, with something selected, in a view.
  static void Prepare(MainWindow& window, const QString& path, ViewKind view) {
    window.resize(1200, 760);
    window.ShowView(view);
    window.show();
    window.Open(path);
    window.WaitUntilSettled();
    const analysis::Leak& leak = window.document().report()->leaks[0].leak;
    // A table scrolls to what is selected, by what it showed before.
    if (view != ViewKind::kTensors) window.selection().SelectAllocation(leak.example, leak.stack);
    window.WaitUntilSettled();
  }
  static QList<QAction*> Actions(QMenu& menu) {
    QMenu* themes = menu.actions().front()->menu();
    emit themes->aboutToShow();
    return themes->actions();
  }

  QTemporaryDir directory_;
};

TEST_F(ThemeChoiceTest, NamesAreThoseOfTheOption) {
  for (const ThemeChoice choice : {ThemeChoice::kSystem, ThemeChoice::kLight, ThemeChoice::kDark})
    EXPECT_EQ(ThemeOfName(ThemeName(choice)), choice);
  EXPECT_FALSE(ThemeOfName(QStringLiteral("Dark")).has_value());
  EXPECT_FALSE(ThemeOfName({}).has_value());
}

TEST_F(ThemeChoiceTest, TheMenuAppliesAndKeeps) {
  QSettings::setPath(QSettings::NativeFormat, QSettings::UserScope, directory_.path());
  QCoreApplication::setOrganizationName(QStringLiteral("memprof-test"));
  EXPECT_EQ(KeptTheme(), ThemeChoice::kSystem);
  QMenu menu;
  AddThemeMenu(&menu, true);
  Actions(menu)[2]->trigger();
  EXPECT_EQ(AppliedTheme(), ThemeChoice::kDark);
  EXPECT_TRUE(Theme::From(QApplication::palette()).dark);
  EXPECT_EQ(KeptTheme(), ThemeChoice::kDark);
  QMenu other;
  AddThemeMenu(&other, false);
  EXPECT_TRUE(Actions(other)[2]->isChecked()) << "chosen in another window";
  Actions(other)[1]->trigger();
  EXPECT_FALSE(Theme::From(QApplication::palette()).dark);
  EXPECT_EQ(KeptTheme(), ThemeChoice::kDark) << "not kept by that window";
  QSettings().setValue(QStringLiteral("window/theme"), QStringLiteral("<b>pink"));
  EXPECT_EQ(KeptTheme(), ThemeChoice::kSystem);
}

TEST_F(ThemeChoiceTest, EveryViewFollowsAtOnce) {
  const QString path = testing::WriteDemoLog(directory_, {.steps = 12});
  for (const ViewEntry& view : ViewTable()) {
    ApplyTheme(ThemeChoice::kLight);
    MainWindow switched(MainWindow::Settings::kIgnored);
    Prepare(switched, path, view.kind);
    ApplyTheme(ThemeChoice::kDark);
    switched.WaitUntilSettled();
    MainWindow fresh(MainWindow::Settings::kIgnored);
    Prepare(fresh, path, view.kind);
    const QImage is = testing::Grab(&switched), should = testing::Grab(&fresh);
    EXPECT_TRUE(is == should) << view.name;
  }
}

}  // namespace
}  // namespace memprof::viewer
