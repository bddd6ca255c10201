// Notes on places of a log: each a link and what the user wrote, in a small file beside the log.
#pragma once

#include <QByteArray>
#include <QList>
#include <QString>
#include <functional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memprof::viewer {

struct Note {
  QString place;  // a fragment: models/link.h
  QString text;
  bool operator==(const Note&) const = default;
};

// The content of a file of notes. Errors: kInvalidArgument, one line that does not name the file;
// also a later version's, which this one would not keep whole.
absl::StatusOr<QList<Note>> ParseNotes(const QByteArray& json);
QByteArray NotesText(const QList<Note>& notes);

// The notes of a log: in LOG.notes.json, or, where that cannot be written, in the user's data
// folder. Every change reads the file first, under a lock of the user's windows, so that nothing
// that another one wrote is lost; a file that cannot be read as notes is never written. Not
// thread-safe.
class NotesFile {
 public:
  // `log`: a path, or the name of a log on another machine, whose notes are in the data folder.
  explicit NotesFile(const QString& log);

  // None if there is no file. Errors: one line that names the file.
  absl::StatusOr<QList<Note>> Read() const;
  absl::Status Add(const Note& note);
  // Replaces `old`; without a text: removes it. kNotFound if it is not there any more.
  absl::Status Change(const Note& old, const Note& by);

  // Where the notes are, or would be written first.
  QString path() const;

 private:
  absl::Status Update(const std::function<absl::Status(QList<Note>*)>& edit);
  absl::Status Write(const QList<Note>& notes);

  QString beside_, own_;  // beside_ is "" of a log on another machine
};

}  // namespace memprof::viewer
