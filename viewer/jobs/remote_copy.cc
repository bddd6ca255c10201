// Reads what ssh writes: a line with the length, and the file.
#include "viewer/jobs/remote_copy.h"

#include <QFile>
#include <QFileInfo>
#include <QProcess>
#include <QStorageInfo>
#include <algorithm>

#include "viewer/geometry/units.h"
#include "viewer/geometry/words.h"
#include "viewer/models/plain_line.h"

namespace memprof::viewer {
namespace {

constexpr int kPollMilliseconds = 100;
constexpr qint64 kCopyPiece = 1 << 20;
constexpr qint64 kMaxMessage = 4096;  // of ssh's own messages, the last bytes

class Copy {
 public:
  Copy(const RemoteLog& log, const QString& file) : log_(log), file_(file) {}
  ~Copy() { End(); }

  absl::Status Run(const std::function<void(double)>& report, const std::stop_token& stop) {
    if (!file_.open(QIODevice::WriteOnly)) return Fail(file_.errorString());
    ssh_.setStandardInputFile(QProcess::nullDevice());
    ssh_.start(SshProgram(), SshArguments(log_, CopyCommand(log_), SshMayAsk()));
    if (!ssh_.waitForStarted())
      return Fail(Tr("ssh cannot be started: %1").arg(ssh_.errorString()));
    while (total_ < 0 || copied_ < total_) {
      if (stop.stop_requested()) return absl::CancelledError("the copy was cancelled");
      // The process may end with bytes that are still to be read.
      const bool more = ssh_.waitForReadyRead(kPollMilliseconds);
      KeepMessages();
      if (absl::Status status = TakeAll(); !status.ok()) return status;
      if (total_ > 0) report(static_cast<double>(copied_) / static_cast<double>(total_));
      if (!more && ssh_.state() == QProcess::NotRunning && ssh_.bytesAvailable() == 0) break;
    }
    if (total_ < 0 || copied_ < total_) return Ended();
    return file_.flush() ? absl::OkStatus() : Fail(file_.errorString());
  }

 private:
  absl::Status Fail(const QString& why) const {
    const QString line = Tr("%1 on %2: %3").arg(log_.path, log_.host, why).simplified();
    // What the other machine says may be meant for a terminal.
    return absl::UnavailableError(PlainLine(line, 1000).toStdString());
  }

  void KeepMessages() { messages_ = (messages_ + ssh_.readAllStandardError()).right(kMaxMessage); }

  absl::Status TakeAll() {
    if (total_ < 0 && !ssh_.canReadLine() && ssh_.bytesAvailable() < kMaxMessage)
      return absl::OkStatus();
    if (total_ < 0) {
      bool is_number = false;
      const QByteArray line = ssh_.readLine(kMaxMessage).trimmed();
      total_ = line.toLongLong(&is_number);
      if (!is_number || total_ < 0)
        return Fail(Tr("expected the length of the file, got '%1': do the start-up files of that "
                       "shell print something?")
                        .arg(QString::fromLocal8Bit(line.left(60))));
      const qint64 room = QStorageInfo(QFileInfo(file_.fileName()).absolutePath()).bytesAvailable();
      if (room >= 0 && total_ > room)
        return Fail(Tr("has %1, and the cache folder has room for %2")
                        .arg(FormatBytes(static_cast<std::uint64_t>(total_)),
                             FormatBytes(static_cast<std::uint64_t>(room))));
    }
    while (copied_ < total_ && ssh_.bytesAvailable() > 0) {
      const QByteArray piece = ssh_.read(std::min(kCopyPiece, total_ - copied_));
      if (file_.write(piece) != piece.size()) return Fail(file_.errorString());
      copied_ += piece.size();
    }
    return absl::OkStatus();
  }

  // ssh ended early: it, or the other machine's shell, says why in the last line.
  absl::Status Ended() {
    KeepMessages();
    const QList<QByteArray> lines = messages_.trimmed().split('\n');
    if (!lines.back().trimmed().isEmpty())
      return Fail(QString::fromLocal8Bit(lines.back().trimmed()));
    if (total_ < 0) return Fail(Tr("ssh ended with status %1").arg(ssh_.exitCode()));
    return Fail(Tr("the connection ended after %1 of %2")
                    .arg(FormatBytes(static_cast<std::uint64_t>(copied_)),
                         FormatBytes(static_cast<std::uint64_t>(total_))));
  }

  void End() {
    if (ssh_.state() == QProcess::NotRunning) return;
    ssh_.terminate();
    if (ssh_.waitForFinished(2000)) return;
    ssh_.kill();
    ssh_.waitForFinished(2000);
  }

  const RemoteLog& log_;
  QFile file_;
  QProcess ssh_;
  QByteArray messages_;
  qint64 total_ = -1, copied_ = 0;
};

}  // namespace

absl::Status CopyRemoteLog(const RemoteLog& log, const QString& file,
                           const std::function<void(double)>& report, const std::stop_token& stop) {
  return Copy(log, file).Run(report, stop);
}

}  // namespace memprof::viewer
