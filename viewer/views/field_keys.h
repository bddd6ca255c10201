// Keys in text fields: shortcuts of the window keep working, Esc clears.
#pragma once

#include <QObject>

class QLineEdit;

namespace memprof::viewer {

// Passes Ctrl+E, which means "end of line" in text fields of some systems, to the window's menu;
// Esc clears a non-empty field that has a clear button.
class FieldKeys : public QObject {
  Q_OBJECT

 public:
  explicit FieldKeys(QLineEdit* field);

 protected:
  bool eventFilter(QObject* watched, QEvent* event) override;

 private:
  QLineEdit* const field_;
};

}  // namespace memprof::viewer
