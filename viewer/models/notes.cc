// Reads and writes files of notes.
#include "viewer/models/notes.h"

#include <QCryptographicHash>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QLockFile>
#include <QSaveFile>
#include <QStandardPaths>

#include "absl/strings/str_cat.h"
#include "analysis/base/status_text.h"
#include "viewer/models/remote_log.h"

namespace memprof::viewer {
namespace {

constexpr int kNotesVersion = 1;
constexpr qint64 kMaxNotesFile = 4 << 20;
constexpr qsizetype kMaxNotes = 1000, kMaxNote = 4000;
constexpr int kLockMilliseconds = 3000;

const QLatin1String kVersionKey("memprof_notes"), kNotesKey("notes"), kPlaceKey("place"),
    kTextKey("text");

absl::Status NotNotes(const char* why) { return absl::InvalidArgumentError(why); }

absl::Status Named(const QString& path, const std::string& why) {
  return absl::UnavailableError(absl::StrCat(path.toStdString(), ": ", why));
}

}  // namespace

absl::StatusOr<QList<Note>> ParseNotes(const QByteArray& json) {
  QJsonParseError error;
  const QJsonObject whole = QJsonDocument::fromJson(json, &error).object();
  const QJsonValue version = whole.value(kVersionKey), list = whole.value(kNotesKey);
  if (!version.isDouble() || !list.isArray()) return NotNotes("is no file of notes");
  if (version.toInt(-1) != kNotesVersion) return NotNotes("is of another version of the viewer");
  if (list.toArray().size() > kMaxNotes) return NotNotes("has more than 1000 notes");
  QList<Note> notes;
  for (const QJsonValue& value : list.toArray()) {
    const QJsonObject note = value.toObject();
    const QJsonValue place = note.value(kPlaceKey), text = note.value(kTextKey);
    if (!place.isString() || !text.isString()) return NotNotes("has a note without place or text");
    notes.push_back({place.toString(), text.toString()});
  }
  return notes;
}

QByteArray NotesText(const QList<Note>& notes) {
  QJsonArray list;
  for (const Note& note : notes)
    list.append(QJsonObject{{kPlaceKey, note.place}, {kTextKey, note.text}});
  return QJsonDocument(QJsonObject{{kVersionKey, kNotesVersion}, {kNotesKey, list}}).toJson();
}

NotesFile::NotesFile(const QString& log) {
  const bool remote = !QFileInfo::exists(log) && IsRemoteName(log);
  const QString name = remote ? log : QFileInfo(log).absoluteFilePath();
  if (!remote) beside_ = name + QStringLiteral(".notes.json");
  const QByteArray hash = QCryptographicHash::hash(name.toUtf8(), QCryptographicHash::Sha1).toHex();
  own_ = QStringLiteral("%1/notes/%2.json")
             .arg(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation),
                  QString::fromLatin1(hash));
}

QString NotesFile::path() const {
  return beside_.isEmpty() || (!QFileInfo::exists(beside_) && QFileInfo::exists(own_)) ? own_
                                                                                       : beside_;
}

absl::StatusOr<QList<Note>> NotesFile::Read() const {
  QFile file(path());
  const QFileInfo info(file.fileName());
  // To write through a link to nowhere would make a file where the link's maker wants one.
  if (info.isSymLink() && !info.exists()) return Named(file.fileName(), "is a link to nowhere");
  if (!info.exists()) return QList<Note>();
  if (!info.isFile() || !file.open(QIODevice::ReadOnly))
    return Named(file.fileName(), "cannot be read");
  const QByteArray json = file.read(kMaxNotesFile + 1);
  if (json.size() > kMaxNotesFile) return Named(file.fileName(), "is too large for notes");
  absl::StatusOr<QList<Note>> notes = ParseNotes(json);
  if (!notes.ok()) return Named(file.fileName(), analysis::StatusText(notes.status()));
  return notes;
}

absl::Status NotesFile::Add(const Note& note) {
  return Update([&](QList<Note>* notes) {
    if (notes->size() >= kMaxNotes) return Named(path(), "has as many notes as it can have");
    notes->push_back({note.place, note.text.left(kMaxNote)});
    return absl::OkStatus();
  });
}

absl::Status NotesFile::Change(const Note& old, const Note& by) {
  return Update([&](QList<Note>* notes) {
    const qsizetype at = notes->indexOf(old);
    if (at < 0) return absl::NotFoundError("the note was changed or removed meanwhile");
    if (by.text.isEmpty())
      notes->removeAt(at);
    else
      (*notes)[at] = {by.place, by.text.left(kMaxNote)};
    return absl::OkStatus();
  });
}

absl::Status NotesFile::Update(const std::function<absl::Status(QList<Note>*)>& edit) {
  QDir().mkpath(QFileInfo(own_).absolutePath());
  // Where no lock can be made, as without a data folder, this window is taken for the only one.
  QLockFile lock(own_ + QStringLiteral(".lock"));
  if (!lock.tryLock(kLockMilliseconds) && lock.error() == QLockFile::LockFailedError)
    return Named(path(), "is being changed by another window");
  absl::StatusOr<QList<Note>> notes = Read();
  if (!notes.ok()) return notes.status();
  if (absl::Status status = edit(&*notes); !status.ok()) return status;
  return Write(*notes);
}

absl::Status NotesFile::Write(const QList<Note>& notes) {
  const QString first = path();
  const QByteArray text = NotesText(notes);
  if (text.size() > kMaxNotesFile) return Named(first, "would be too large to be read again");
  for (const QString& to : {first, own_}) {
    QSaveFile file(to);
    if (file.open(QIODevice::WriteOnly) && file.write(text) == text.size() && file.commit())
      return absl::OkStatus();
    // Notes that are beside the log stay there: two files would contradict each other.
    if (QFileInfo::exists(first)) break;
  }
  return Named(first, "cannot be written");
}

}  // namespace memprof::viewer
