// A folder in /tmp as a program sees it, which may be in a container: for files that it is to open.
//
// Whoever can write to that /tmp is not trusted: the folder is new and ours alone until it has its
// content, every step is relative to an open folder, and no link is followed.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace memprof::cli {

// The user whose rights the process has at files, in our user namespace; -1 if it has ended.
uid_t UserOf(pid_t pid, gid_t* group = nullptr);
// Whether the path leads the program to the same file or folder as us.
bool SeesSameFile(pid_t pid, const std::string& path);

class ProgramFolder {
 public:
  // A new one, of the name `preferred` if that is free.
  static absl::StatusOr<ProgramFolder> Make(pid_t pid, const std::string& preferred = "");
  // That which an earlier call made, from the path of something in it: "/tmp/memprof-XXXXXX/...".
  static absl::StatusOr<ProgramFolder> OfFile(pid_t pid, const std::string& path);
  ProgramFolder(ProgramFolder&& other) noexcept;
  ProgramFolder& operator=(ProgramFolder&&) = delete;
  ~ProgramFolder();

  const std::string& name() const { return name_; }
  std::string path() const { return "/tmp/" + name_; }  // as the program sees it
  std::string here() const;                             // as we see it, while the program lives

  absl::Status Write(const std::string& name, const std::string& bytes);
  absl::Status CopyFile(const std::string& from, const std::string& name);
  // The .py files in `from` and below it.
  absl::Status CopyPython(const std::string& from, const std::string& name);
  // To the program's user, who may then write to it.
  absl::Status HandOver();
  // Copies the file `name` to the new file `to`; also after the end of the program.
  absl::Status BringHome(const std::string& name, const std::string& to) const;
  bool Has(const std::string& name) const;
  void Remove();

 private:
  ProgramFolder(pid_t pid, int tmp, std::string name)
      : pid_(pid), tmp_(tmp), name_(std::move(name)) {}

  pid_t pid_;
  int tmp_, folder_ = -1;
  std::string name_;
};

}  // namespace memprof::cli
