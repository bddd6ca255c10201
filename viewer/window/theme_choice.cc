// The theme of all windows.
#include "viewer/window/theme_choice.h"

#include <QAction>
#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QSettings>
#include <QWidget>
#include <utility>
#include <vector>

#include "viewer/views/theme.h"

namespace memprof::viewer {
namespace {

constexpr ThemeChoice kThemes[] = {ThemeChoice::kSystem, ThemeChoice::kLight, ThemeChoice::kDark};

ThemeChoice& Applied() {
  static ThemeChoice applied = ThemeChoice::kSystem;
  return applied;
}

}  // namespace

QString ThemeName(ThemeChoice choice) {
  return choice == ThemeChoice::kSystem  ? QStringLiteral("system")
         : choice == ThemeChoice::kLight ? QStringLiteral("light")
                                         : QStringLiteral("dark");
}

std::optional<ThemeChoice> ThemeOfName(const QString& name) {
  for (const ThemeChoice choice : kThemes)
    if (name == ThemeName(choice)) return choice;
  return std::nullopt;
}

ThemeChoice KeptTheme() {
  return ThemeOfName(QSettings().value(QStringLiteral("window/theme")).toString())
      .value_or(ThemeChoice::kSystem);
}

void ApplyTheme(ThemeChoice choice) {
  Applied() = choice;
  // A style sheet keeps the colours with which it was read: taken off, and put on again.
  std::vector<std::pair<QWidget*, QString>> styled;
  for (QWidget* window : QApplication::topLevelWidgets()) {
    if (window->styleSheet().isEmpty()) continue;
    styled.emplace_back(window, window->styleSheet());
    window->setStyleSheet({});
  }
  // An empty palette is the system's, and follows it.
  const bool system = choice == ThemeChoice::kSystem;
  QApplication::setPalette(system ? QPalette() : MakePalette(choice == ThemeChoice::kDark));
  for (const auto& [window, style] : styled) window->setStyleSheet(style);
}

ThemeChoice AppliedTheme() { return Applied(); }

void AddThemeMenu(QMenu* menu, bool keep) {
  QMenu* themes = menu->addMenu(QObject::tr("&Theme"));
  auto* group = new QActionGroup(themes);
  const QString titles[] = {QObject::tr("&System"), QObject::tr("&Light"), QObject::tr("&Dark")};
  for (const ThemeChoice choice : kThemes) {
    QAction* action = themes->addAction(titles[static_cast<int>(choice)]);
    action->setCheckable(true);
    action->setData(static_cast<int>(choice));
    group->addAction(action);
    QObject::connect(action, &QAction::triggered, themes, [choice, keep] {
      ApplyTheme(choice);
      if (keep) QSettings().setValue(QStringLiteral("window/theme"), ThemeName(choice));
    });
  }
  // Another window may have changed it.
  QObject::connect(themes, &QMenu::aboutToShow, group, [group] {
    for (QAction* action : group->actions())
      action->setChecked(action->data().toInt() == static_cast<int>(AppliedTheme()));
  });
}

}  // namespace memprof::viewer
