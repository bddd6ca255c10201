// The logs of one run, among those of others that write to the same folders: each recorder names
// its log in the run's list (proto/run_list.h), whose path every log has in its header too.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace memprof::cli {

// The list of this run: a file of this host, removed with this object.
class RunList {
 public:
  // Also removes lists that killed runs of this user have left in the directory.
  explicit RunList(const std::string& directory);
  ~RunList();
  RunList(const RunList&) = delete;
  RunList& operator=(const RunList&) = delete;

  // The value of MEMPROF_RUN. Names the run even where the file could not be made.
  const std::string& path() const { return path_; }
  // The logs of processes on this host; nothing if some may be missing.
  std::optional<std::vector<std::string>> Read() const;
  // Whether a recorder could not begin its log, and has said so.
  bool HasFailures() const;
  // A process of the run that has not ended: 0 if none can be seen.
  pid_t ProcessLeft() const;

 private:
  std::vector<std::string> Entries(bool* whole) const;
  std::string path_;
};

// The logs that match the pattern of MEMPROF_OUTPUT, were written after `since_unix_ns` and have
// `run` as their MEMPROF_RUN.
std::vector<std::string> FindLogs(const std::string& pattern, std::int64_t since_unix_ns,
                                  const std::string& run);

// Whether a launcher has started several runs, of which this is one.
bool RunsBesideOthers();

// All logs of the run, "rank2" before "rank10". Of a run beside others, those of its list: a
// thousand of them must not each look at the logs of all. Otherwise they are searched for, because
// a launcher that the run has started may have started processes on other hosts. (So they are for
// an empty list: the program may have been in a container, where the list is not.)
std::vector<std::string> OwnLogs(const std::string& pattern, std::int64_t since_unix_ns,
                                 const RunList& list);

}  // namespace memprof::cli
