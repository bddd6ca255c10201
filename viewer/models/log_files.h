// Makes files that analysis::LoadLogs reads of whatever the user opened: logs, other tools'
// recordings, folders of both, and logs on other machines.
#pragma once

#include <QTemporaryDir>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/load/load.h"
#include "analysis/log/sources.h"
#include "viewer/jobs/remote_feeds.h"

namespace memprof::viewer {

// For one loading; not thread-safe. Imported logs, and copies from machines without a memprof that
// serves them, are in a folder of the user's cache, which the destructor removes: a session needs
// no file.
class LogFiles {
 public:
  // `report` gets the share copied from other machines (0 … 1).
  LogFiles(std::function<void(double)> report, std::stop_token stop,
           std::shared_ptr<RemoteFeeds> feeds = nullptr);

  // The files of `names`, in this order; a folder stands for the logs and recordings in it, by
  // name. What each is, its content tells. Of several, those that cannot be had are left out, and
  // `skipped` gets the reasons. Errors: one line that names what the user named; kCancelled.
  absl::StatusOr<std::vector<std::string>> Make(
      const std::vector<std::string>& names,
      const std::function<void(const absl::Status&)>& skipped);

  // An error with the names that the user gave, in place of those of copies.
  absl::Status Named(const absl::Status& status) const;
  // What the user named, of a file of Make().
  std::string NameOf(const std::string& file) const;
  // Of a file of Make(), for analysis::LoadOptions.
  const analysis::Elsewhere* ElsewhereOf(const std::string& file) const;
  // Texts that other machines sent.
  const std::vector<std::shared_ptr<const analysis::KeptSources>>& sources() const {
    return sources_;
  }

 private:
  absl::StatusOr<std::string> MakeOne(const std::string& name);
  absl::StatusOr<std::string> Fed(const std::string& name);
  absl::StatusOr<std::string> Copied(const RemoteLog& log, const std::string& name);
  absl::StatusOr<std::string> Imported(const std::string& path, const std::string& name);
  // A path in the temporary folder whose file name is that of `path`; "" if there is none.
  std::string NewFile(const std::string& path, const std::string& name);

  const std::function<void(double)> report_;
  const std::stop_token stop_;
  std::unique_ptr<QTemporaryDir> scratch_;
  const std::shared_ptr<RemoteFeeds> feeds_;
  std::vector<std::pair<std::string, std::string>> names_;  // of a file, and what it was made of
  std::map<std::string, analysis::Elsewhere> elsewhere_;    // of a file
  std::vector<std::shared_ptr<const analysis::KeptSources>> sources_;
};

}  // namespace memprof::viewer
