// QWidget::addAction with a text, which Qt has only from 6.3 on: the widget owns the action.
#pragma once

#include <QAction>
#include <QKeySequence>
#include <QString>
#include <QWidget>

namespace memprof::viewer {

inline QAction* AddAction(QWidget* widget, const QString& text) {
  auto* action = new QAction(text, widget);
  widget->addAction(action);
  return action;
}

template <typename Receiver, typename Slot>
QAction* AddAction(QWidget* widget, const QString& text, const QKeySequence& key,
                   const Receiver* receiver, Slot slot) {
  QAction* action = AddAction(widget, text);
  action->setShortcut(key);
  QObject::connect(action, &QAction::triggered, receiver, slot);
  return action;
}

}  // namespace memprof::viewer
