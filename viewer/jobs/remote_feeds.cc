// Feeds by the names that the user gave.
#include "viewer/jobs/remote_feeds.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "analysis/symbols/names_elsewhere.h"
#include "viewer/jobs/scratch_folder.h"

namespace memprof::viewer {
namespace {

QString& RemoteMemprof() {
  static QString path;
  return path;
}

}  // namespace

void SetRemoteMemprof(const QString& path) { RemoteMemprof() = path; }

RemoteFeeds::~RemoteFeeds() = default;

std::string RemoteFeeds::NewFile(const RemoteLog& log) {
  if (scratch_ == nullptr) scratch_ = MakeScratchFolder();
  if (scratch_ == nullptr) return {};
  const QString own = scratch_->filePath(QString::number(feeds_.size()));
  if (!QDir().mkpath(own)) return {};
  return (own + QLatin1Char('/') + QFileInfo(log.path).fileName()).toStdString();
}

absl::StatusOr<FeedState> RemoteFeeds::LogOf(const std::string& name, const RemoteLog& log,
                                             const std::function<void(double)>& report,
                                             const std::stop_token& stop) {
  RemoteFeed* feed = nullptr;
  {
    const std::lock_guard lock(mutex_);
    Feed& entry = feeds_[name];
    if (entry.feed == nullptr) {
      const std::string file = NewFile(log);
      if (file.empty()) return absl::UnavailableError(absl::StrCat(name, ": no cache folder"));
      FeedOptions options{.may_ask = SshMayAsk()};
      if (!RemoteMemprof().isEmpty()) options.memprof = RemoteMemprof();
      entry.feed = std::make_unique<RemoteFeed>(log, file, names_, options);
    }
    feed = entry.feed.get();
  }
  // Feeds live as long as this.
  if (absl::Status status = feed->WaitForLog(report, stop); !status.ok()) return status;
  FeedState state = feed->state();
  const std::lock_guard lock(mutex_);
  feeds_[name].replaced = state.replaced;
  return state;
}

void RemoteFeeds::SetNote(const QString& note) {
  const std::lock_guard lock(mutex_);
  note_ = note;
}

const RemoteFeeds::Feed* RemoteFeeds::Find(const QString& name) const {
  const auto found = feeds_.find(name.toStdString());
  return found != feeds_.end() && found->second.feed != nullptr ? &found->second : nullptr;
}

std::uint64_t RemoteFeeds::GenerationOf(const QString& name) const {
  const std::lock_guard lock(mutex_);
  const Feed* const feed = Find(name);
  return feed != nullptr ? feed->feed->state().generation : 0;
}

bool RemoteFeeds::IsReplaced(const QString& name) const {
  const std::lock_guard lock(mutex_);
  const Feed* const feed = Find(name);
  return feed != nullptr && feed->feed->state().replaced != feed->replaced;
}

bool RemoteFeeds::follows() const {
  const std::lock_guard lock(mutex_);
  return std::any_of(feeds_.begin(), feeds_.end(), [](const auto& entry) {
    return entry.second.feed != nullptr && !entry.second.feed->state().ended;
  });
}

QString RemoteFeeds::Said() const {
  const std::lock_guard lock(mutex_);
  for (const auto& [name, entry] : feeds_) {
    if (entry.feed == nullptr) continue;
    const FeedState state = entry.feed->state();
    if (!state.trouble.isEmpty()) return state.trouble;
    // What never came is the error of its opening.
    if (state.ended && !state.status.ok() && state.generation > 0)
      return QString::fromStdString(std::string(state.status.message()));
  }
  return note_;
}

}  // namespace memprof::viewer
