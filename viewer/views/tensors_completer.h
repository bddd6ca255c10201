// Completes the last term of a query: its field, and the values of a field.
#pragma once

#include <QObject>
#include <QStringList>

class QCompleter;
class QLineEdit;
class QStringListModel;

namespace memprof::viewer {

// The completions of the term at the end of `text`; pure. Empty if there are none.
QStringList CompletionsOf(const QString& text);

// Belongs to its line, and offers CompletionsOf() the text before the cursor.
class TensorsCompleter : public QObject {
  Q_OBJECT

 public:
  explicit TensorsCompleter(QLineEdit* line);

 private:
  void Offer();
  void Take(const QString& term);

  QLineEdit* line_;
  QCompleter* completer_;
  QStringListModel* terms_;
};

}  // namespace memprof::viewer
