// The notes of a log as a list: goes to one, changes its text, removes it.
#pragma once

#include <QDialog>
#include <QTableWidget>

#include "viewer/models/notes.h"

class QLabel;
class QPushButton;

namespace memprof::viewer {

class NotesDialog : public QDialog {
  Q_OBJECT

 public:
  explicit NotesDialog(const QString& log, QWidget* parent = nullptr);

  QTableWidget* table() const { return table_; }
  void RemoveCurrent();

 signals:
  void Chosen(const QString& place);
  void Failed(const QString& line);

 private:
  void Fill();
  void Changed(int row);
  void Change(const Note& old, const Note& by);
  void Enable();  // the buttons that need a note

  NotesFile file_;
  QList<Note> notes_;
  QTableWidget* table_;
  QLabel* empty_;
  QPushButton *go_, *edit_, *remove_;
};

}  // namespace memprof::viewer
