// A running program, and what in it is needed to load a library into it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/attach/internal/stub.h"
#include "holders/remote/process.h"

namespace memprof::cli {

// A thread that has not ended.
bool Lives(pid_t thread);
std::vector<pid_t> ThreadsOf(pid_t pid);
// An error that names the tracer of a thread of the process, such as gdb: a thread can have one.
absl::Status CheckTracer(pid_t pid, pid_t thread);

class Target {
 public:
  // Errors say what to do: no such process, not allowed, stopped, of another machine or C library.
  static absl::StatusOr<Target> Open(pid_t pid);

  pid_t pid() const { return pid_; }
  // By which it is looked at: the process, or another of its threads if the first one has left it
  // (pthread_exit). Then nothing can be seen by the process's own number any more.
  pid_t task() const { return task_; }
  // The path from which the recorder in it was loaded; "" if it is not loaded.
  const std::string& recorder() const { return recorder_; }
  // Reads /proc again: after the recorder was loaded, or the first thread has left.
  absl::Status Refresh();
  // The functions of the C library, without the rest.
  absl::StatusOr<StubParts> Functions() const;
  // Executable bytes of a library that nothing uses: between the end of its code and the end of the
  // page. Nothing if no gap is that large.
  std::optional<std::uint64_t> FindGap(std::size_t bytes) const;
  // An address far from everything that is mapped.
  std::uint64_t FindPlace() const;
  bool Read(std::uint64_t address, void* to, std::size_t bytes) const;
  // In the recorder.
  std::uint64_t SymbolOfRecorder(const std::string& name) const;
  // In the program, or in libpython.
  std::uint64_t SymbolOfPython(const std::string& name) const;
  // Whether the library can be loaded there: by this C library, of this release.
  absl::Status CheckLibrary(const std::string& library) const;
  // That no filter of system calls may kill it for those of the recorder: that it has none, or only
  // such as memprof lives with too, which is in the same container.
  absl::Status CheckFilters() const;

 private:
  explicit Target(pid_t pid) : pid_(pid), task_(pid) {}
  // The program's path of a mapping: that of here is longer if the program's root is a folder.
  std::string SeenThere(const std::string& mapped) const;

  pid_t pid_, task_;
  std::vector<holders::Mapping> mappings_;
  std::string recorder_, recorder_file_;  // the second as it is mapped: "... (deleted)"
};

}  // namespace memprof::cli
