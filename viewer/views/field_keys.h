// Keys in fields of text: those of the window stay the window's, Esc clears.
#pragma once

#include <QObject>

class QLineEdit;

namespace memprof::viewer {

// Ctrl+E, which fields take for "end of line" on some systems, reaches the window's menu; Esc
// empties a field that has a button for it, once it holds something.
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
