// A thread that starts ssh, feeds the mirror, and waits before it tries again.
#include "viewer/jobs/remote_feed.h"

#include <QElapsedTimer>
#include <QFileInfo>
#include <QProcess>
#include <QStorageInfo>
#include <algorithm>
#include <chrono>
#include <utility>

#include "viewer/geometry/words.h"
#include "viewer/models/plain_line.h"

namespace memprof::viewer {
namespace {

constexpr int kFeedPollMilliseconds = 100;
constexpr qint64 kMostFeedMessage = 4096;  // of ssh's own messages, the last bytes
constexpr int kNoConnection = 255;         // ssh's own status for that

std::uint64_t RoomFor(const std::string& file) {
  const QStorageInfo storage(QFileInfo(QString::fromStdString(file)).absolutePath());
  return static_cast<std::uint64_t>(std::max<qint64>(storage.bytesAvailable(), 0));
}

// ssh, and what it starts here, do not outlive their connection.
class SshProcess {
 public:
  ~SshProcess() {
    if (process.state() == QProcess::NotRunning) return;
    process.closeWriteChannel();
    process.terminate();
    if (process.waitForFinished(2000)) return;
    process.kill();
    process.waitForFinished(2000);
  }
  void KeepMessages() {
    messages_ = (messages_ + process.readAllStandardError()).right(kMostFeedMessage);
  }
  // The last line of its messages.
  QString Message() {
    KeepMessages();
    return QString::fromLocal8Bit(messages_.trimmed().split('\n').back().trimmed());
  }

  QProcess process;

 private:
  QByteArray messages_;
};

}  // namespace

RemoteFeed::RemoteFeed(RemoteLog log, std::string file,
                       std::shared_ptr<analysis::NamesElsewhere> names, FeedOptions options)
    : log_(std::move(log)),
      options_(std::move(options)),
      mirror_(file, std::move(names), [file] { return RoomFor(file); }),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

RemoteFeed::~RemoteFeed() = default;

FeedState RemoteFeed::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}

absl::Status RemoteFeed::WaitForLog(const std::function<void(double)>& report,
                                    const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const FeedState now = state();
    if (now.generation > 0) return absl::OkStatus();
    if (now.ended) return now.status;
    report(now.share);
    std::unique_lock lock(mutex_);
    moved_.wait_for(lock, stop, std::chrono::milliseconds(kFeedPollMilliseconds),
                    [this] { return state_.generation > 0 || state_.ended; });
  }
  return absl::CancelledError("stopped");
}

template <typename Change>
void RemoteFeed::Publish(Change change) {
  {
    const std::lock_guard lock(mutex_);
    change(state_);
  }
  moved_.notify_all();
}

// Copies of the sources are made once for each whole state, which has all that is new.
void RemoteFeed::PublishCopied() {
  const bool whole = mirror_.generation() != state().generation;
  const auto sources =
      whole ? std::make_shared<const analysis::KeptSources>(mirror_.sources()) : nullptr;
  Publish([&](FeedState& state) {
    if (mirror_.expected() > 0)
      state.share = static_cast<double>(mirror_.size()) / static_cast<double>(mirror_.expected());
    state.trouble.clear();
    if (!whole) return;
    state.file = mirror_.file();
    state.generation = mirror_.generation();
    state.replaced = mirror_.replaced();
    state.growing = mirror_.growing();
    state.sources = sources;
  });
}

RemoteFeed::End RemoteFeed::Fail(const absl::Status& status) {
  const QString line = Tr("%1 on %2: %3")
                           .arg(log_.path, log_.host,
                                QString::fromUtf8(status.message().data(),
                                                  static_cast<qsizetype>(status.message().size())))
                           .simplified();
  Publish([&](FeedState& state) {
    // What the other machine says may be meant for a terminal.
    state.status = absl::Status(status.code(), PlainLine(line, 1000).toStdString());
  });
  return End::kFailed;
}

void RemoteFeed::Run(const std::stop_token& stop) {
  int wait = options_.first_wait_ms;
  while (!stop.stop_requested()) {
    QElapsedTimer lasted;
    lasted.start();
    if (Connect(stop) != End::kLost) {
      Publish([](FeedState& state) { state.ended = true; });
      return;
    }
    if (lasted.elapsed() > wait) wait = options_.first_wait_ms;
    Wait(wait, stop);
    wait = std::min(2 * wait, options_.longest_wait_ms);
  }
}

void RemoteFeed::Wait(int milliseconds, const std::stop_token& stop) {
  for (; milliseconds > 0 && !stop.stop_requested(); milliseconds -= 1000) {
    Publish([&](FeedState& state) {
      state.trouble = Tr("The connection to %1 is lost; trying again in %2 s")
                          .arg(log_.host)
                          .arg((milliseconds + 999) / 1000);
    });
    std::unique_lock lock(mutex_);
    moved_.wait_for(lock, stop, std::chrono::milliseconds(std::min(milliseconds, 1000)),
                    [] { return false; });
  }
}

RemoteFeed::End RemoteFeed::Connect(const std::stop_token& stop) {
  mirror_.Begin();
  SshProcess ssh;
  const std::string position = analysis::PositionText(mirror_.Position());
  // Nothing in these ends the quotes, in any shell: ParseRemoteLog() and IsRemotePath().
  const QString command = QStringLiteral("'%1' serve --stdio --from=%2 -- '%3'")
                              .arg(options_.memprof, QString::fromStdString(position), log_.path);
  ssh.process.start(SshProgram(), SshArguments(log_, command, options_.may_ask));
  if (!ssh.process.waitForStarted())
    return Fail(absl::UnavailableError(
        Tr("ssh cannot be started: %1").arg(ssh.process.errorString()).toStdString()));
  QElapsedTimer silent;
  silent.start();
  // Before the greeting ssh itself has its time limit, and a user may have to be asked.
  while (!mirror_.greeted() || silent.elapsed() < options_.silence_ms) {
    if (stop.stop_requested()) return End::kLost;
    const bool more = ssh.process.waitForReadyRead(kFeedPollMilliseconds);
    ssh.KeepMessages();
    const QByteArray bytes = ssh.process.readAllStandardOutput();
    if (!bytes.isEmpty()) {
      silent.restart();
      const absl::Status status =
          mirror_.Take({bytes.constData(), static_cast<std::size_t>(bytes.size())});
      if (mirror_.greeted()) {
        ever_greeted_ = true;
        PublishCopied();
      }
      // A damaged stream is one more reason to begin anew; the position has what was sound.
      if (absl::IsDataLoss(status) && state().generation > 0) return End::kLost;
      if (!status.ok()) return Fail(status);
      if (mirror_.generation() > 0 && !mirror_.growing()) return End::kComplete;
    }
    if (!more && bytes.isEmpty() && ssh.process.state() == QProcess::NotRunning) break;
  }
  if (ever_greeted_) return End::kLost;
  const QString message = ssh.Message();
  if (ssh.process.exitStatus() == QProcess::NormalExit && ssh.process.exitCode() != kNoConnection)
    return Fail(absl::UnimplementedError(
        (message.isEmpty() ? Tr("memprof does not answer there") : message).toStdString()));
  return Fail(absl::UnavailableError(
      (message.isEmpty() ? Tr("ssh ended without a word") : message).toStdString()));
}

}  // namespace memprof::viewer
