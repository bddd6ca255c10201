// Keys in fields of text.
#include "viewer/views/field_keys.h"

#include <QKeyEvent>
#include <QLineEdit>

namespace memprof::viewer {

FieldKeys::FieldKeys(QLineEdit* field) : QObject(field), field_(field) {
  field->installEventFilter(this);
}

bool FieldKeys::eventFilter(QObject* watched, QEvent* event) {
  const bool is_override = event->type() == QEvent::ShortcutOverride;
  if (!is_override && event->type() != QEvent::KeyPress)
    return QObject::eventFilter(watched, event);
  auto* key = static_cast<QKeyEvent*>(event);
  if (is_override && key->key() == Qt::Key_E && key->modifiers() == Qt::ControlModifier) {
    event->ignore();
    return true;
  }
  if (key->key() != Qt::Key_Escape || key->modifiers() != Qt::NoModifier ||
      !field_->isClearButtonEnabled() || field_->text().isEmpty())
    return QObject::eventFilter(watched, event);
  event->accept();
  if (!is_override) {
    field_->clear();
    emit field_->textEdited(QString());
  }
  return true;
}

}  // namespace memprof::viewer
