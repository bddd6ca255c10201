// Looks at what is named: by the file system, then by the first bytes.
#include "viewer/models/log_files.h"

#include <QCoreApplication>
#include <QDir>
#include <QFile>
#include <QFileInfo>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "analysis/base/status_text.h"
#include "analysis/interchange/import_file.h"
#include "analysis/log/paths.h"
#include "proto/framing.h"
#include "viewer/jobs/remote_copy.h"
#include "viewer/jobs/scratch_folder.h"
#include "viewer/models/remote_log.h"

namespace memprof::viewer {
namespace {

constexpr qint64 kHeadBytes = 4096;

std::string HeadOf(const QString& path) {
  QFile file(path);
  // Only of files: a pipe would wait for a writer.
  if (!QFileInfo(path).isFile() || !file.open(QIODevice::ReadOnly)) return {};
  return file.read(kHeadBytes).toStdString();
}

bool IsLog(std::string_view head) {
  return head.starts_with(std::string_view(log::kMagic, sizeof log::kMagic));
}

// The logs and recordings in a folder, by name; analysis::LogsOf for its errors.
absl::StatusOr<std::vector<std::string>> FilesIn(const std::string& folder,
                                                 const std::stop_token& stop) {
  std::vector<std::string> files;
  const QDir directory(QString::fromStdString(folder));
  for (const QFileInfo& file : directory.entryInfoList(QDir::Files | QDir::Hidden, QDir::Name)) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    const std::string path = absl::StrCat(folder, "/", file.fileName().toStdString());
    bool wanted = file.suffix() == QLatin1String("mprof");
    if (!wanted && !file.isHidden()) {
      const std::string head = HeadOf(file.filePath());
      wanted = IsLog(head) || analysis::LooksLikeRecording(head);
    }
    if (wanted) files.push_back(path);
  }
  if (files.empty()) return analysis::LogsOf({folder});
  return files;
}

}  // namespace

LogFiles::LogFiles(std::function<void(double)> report, std::stop_token stop,
                   std::shared_ptr<RemoteFeeds> feeds)
    : report_(std::move(report)),
      stop_(std::move(stop)),
      feeds_(feeds != nullptr ? std::move(feeds) : std::make_shared<RemoteFeeds>()) {}

absl::StatusOr<std::vector<std::string>> LogFiles::Make(
    const std::vector<std::string>& names,
    const std::function<void(const absl::Status&)>& skipped) {
  std::vector<std::string> all;
  for (const std::string& name : names) {
    if (!QFileInfo(QString::fromStdString(name)).isDir()) {
      all.push_back(name);
      continue;
    }
    const auto inside = FilesIn(name, stop_);
    if (!inside.ok()) return inside.status();
    all.insert(all.end(), inside->begin(), inside->end());
  }
  std::vector<std::string> files;
  absl::Status last;
  for (const std::string& name : all) {
    absl::StatusOr<std::string> file = MakeOne(name);
    if (file.ok()) {
      files.push_back(*std::move(file));
      continue;
    }
    if (all.size() == 1 || absl::IsCancelled(file.status())) return file.status();
    last = file.status();
    skipped(last);
  }
  if (files.empty()) return last;
  return files;
}

absl::StatusOr<std::string> LogFiles::MakeOne(const std::string& name) {
  const QString path = QString::fromStdString(name);
  std::string file = name;
  if (!QFileInfo::exists(path) && IsRemoteName(path)) {
    absl::StatusOr<std::string> fed = Fed(name);
    if (!fed.ok()) return fed;
    file = *std::move(fed);
  }
  const std::string head = HeadOf(QString::fromStdString(file));
  const bool recording =
      !IsLog(head) && analysis::DetectFormat(head) != analysis::ImportFormat::kUnknown;
  return recording ? Imported(file, name) : file;
}

absl::StatusOr<std::string> LogFiles::Fed(const std::string& name) {
  QString problem;
  const std::optional<RemoteLog> log = ParseRemoteLog(QString::fromStdString(name), &problem);
  if (!log) return absl::InvalidArgumentError(problem.toStdString());
  const absl::StatusOr<FeedState> fed = feeds_->LogOf(name, *log, report_, stop_);
  if (fed.ok()) {
    names_.emplace_back(fed->file, name);
    elsewhere_[fed->file] = {feeds_->names(), fed->growing};
    if (fed->sources != nullptr) sources_.push_back(fed->sources);
    return fed->file;
  }
  // No memprof that serves it, or no log: another tool's recording needs none.
  const bool serves = !absl::IsUnimplemented(fed.status());
  if (serves && !absl::IsInvalidArgument(fed.status())) return fed.status();
  absl::StatusOr<std::string> copied = Copied(*log, name);
  if (copied.ok() && !serves && IsLog(HeadOf(QString::fromStdString(*copied))))
    feeds_->SetNote(
        QCoreApplication::translate(
            "remote",
            "Copied as it was: it is not followed, and names of native frames are looked up on "
            "this machine. A memprof of this release there would serve both, see "
            "--remote-memprof (%1)")
            .arg(QString::fromStdString(std::string(fed.status().message()))));
  return copied;
}

absl::StatusOr<std::string> LogFiles::Copied(const RemoteLog& log, const std::string& name) {
  const std::string file = NewFile(log.path.toStdString(), name);
  if (file.empty()) return absl::UnavailableError(absl::StrCat(name, ": no cache folder"));
  const absl::Status status = CopyRemoteLog(log, QString::fromStdString(file), report_, stop_);
  if (!status.ok()) return status;
  return file;
}

const analysis::Elsewhere* LogFiles::ElsewhereOf(const std::string& file) const {
  const auto found = elsewhere_.find(file);
  return found != elsewhere_.end() ? &found->second : nullptr;
}

absl::StatusOr<std::string> LogFiles::Imported(const std::string& path, const std::string& name) {
  const std::string made = NewFile(path, name);
  QFile file(QString::fromStdString(made));
  if (made.empty() || !file.open(QIODevice::WriteOnly))
    return absl::UnavailableError(absl::StrCat(name, ": no cache folder"));
  const auto summary = analysis::ImportFile(
      path, QCoreApplication::applicationVersion().toStdString(),
      [&file, this](std::string_view piece) {
        const auto size = static_cast<qint64>(piece.size());
        return !stop_.stop_requested() && file.write(piece.data(), size) == size;
      });
  if (stop_.stop_requested()) return absl::CancelledError("stopped");
  if (!summary.ok()) return Named(summary.status());
  if (!file.flush())
    return absl::UnavailableError(absl::StrCat(name, ": ", file.errorString().toStdString()));
  return made;
}

absl::Status LogFiles::Named(const absl::Status& status) const {
  std::string text = analysis::StatusText(status);
  for (const auto& [file, name] : names_) text = absl::StrReplaceAll(text, {{file, name}});
  return absl::Status(status.code(), text);
}

std::string LogFiles::NameOf(const std::string& file) const {
  for (const auto& [made, name] : names_)
    if (made == file) return name;
  return file;
}

std::string LogFiles::NewFile(const std::string& path, const std::string& name) {
  if (scratch_ == nullptr) scratch_ = MakeScratchFolder();
  if (scratch_ == nullptr) return {};
  // A folder of its own, so that equal names stay as they are.
  const QString own = scratch_->filePath(QString::number(names_.size()));
  if (!QDir().mkpath(own)) return {};
  const QString file = own + QLatin1Char('/') + QFileInfo(QString::fromStdString(path)).fileName();
  names_.emplace_back(file.toStdString(), name);
  return names_.back().first;
}

}  // namespace memprof::viewer
