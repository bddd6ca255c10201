// Completes the last term of a query: its field, and the words that a field can hold.
#pragma once

#include <QObject>
#include <QStringList>

class QCompleter;
class QLineEdit;
class QStringListModel;

namespace memprof::viewer {

// What the term that ends at the end of `text` may become; pure. Empty where nothing is known.
QStringList CompletionsOf(const QString& text);

// Belongs to its line, and offers CompletionsOf() what stands before the cursor.
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
