// The logs on other machines that were opened together: a connection and a growing copy for each.
#pragma once

#include <QString>
#include <QTemporaryDir>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "viewer/jobs/remote_feed.h"

namespace memprof::viewer {

// What the user's command line says of other machines: where memprof is there. "" is "memprof", as
// the shell there finds it. Call before logs are opened.
void SetRemoteMemprof(const QString& path);

// Thread-safe. The copies are in a folder of the user's cache, until the destructor removes it.
class RemoteFeeds {
 public:
  ~RemoteFeeds();  // ends the connections: may take a second

  // The log that `name` means, once it is whole: the first call connects. Calls `report` with the
  // share copied. Errors: as RemoteFeed::WaitForLog; kUnavailable without a cache folder.
  absl::StatusOr<FeedState> LogOf(const std::string& name, const RemoteLog& log,
                                  const std::function<void(double)>& report,
                                  const std::stop_token& stop);
  const std::shared_ptr<analysis::NamesElsewhere>& names() const { return names_; }
  // Something that stays to be said, as long as nothing is wrong.
  void SetNote(const QString& note);

  // Counts the whole states that came of a log; 0 for one without a connection.
  std::uint64_t GenerationOf(const QString& name) const;
  // Whether the log is another than the one that LogOf() last gave.
  bool IsReplaced(const QString& name) const;
  // Whether more may come, of any.
  bool follows() const;
  // What is wrong just now with one of them, or the note: a line, or "".
  QString Said() const;

 private:
  struct Feed {
    std::unique_ptr<RemoteFeed> feed;
    std::uint64_t replaced = 0;  // of the state that was given
  };
  std::string NewFile(const RemoteLog& log);  // with mutex_
  const Feed* Find(const QString& name) const;

  mutable std::mutex mutex_;
  const std::shared_ptr<analysis::NamesElsewhere> names_ =
      std::make_shared<analysis::NamesElsewhere>();
  std::unique_ptr<QTemporaryDir> scratch_;
  std::map<std::string, Feed> feeds_;
  QString note_;
};

}  // namespace memprof::viewer
