// The menu of notes: adds one at the present place, goes to one, and opens the list of them.
#pragma once

#include <QMenu>
#include <functional>

#include "viewer/models/notes.h"

namespace memprof::viewer {

class Places;

class NotesMenu : public QMenu {
  Q_OBJECT

 public:
  // `log` tells the open log; "" = none.
  NotesMenu(Places* places, std::function<QString()> log, QWidget* parent);

  // Asks for a text, and adds the note.
  void AskForNote();
  void Add(const QString& text);
  void Edit();

 signals:
  void Said(const QString& line);    // what was done
  void Failed(const QString& line);  // what could not be done

 private:
  void Fill();
  void Report(const absl::Status& status, const QString& done);

  Places* const places_;
  const std::function<QString()> log_;
};

}  // namespace memprof::viewer
