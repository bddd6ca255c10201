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

class Target {
 public:
  // Errors say what to do: no such process, not allowed, stopped, of another machine or C library.
  static absl::StatusOr<Target> Open(pid_t pid);

  pid_t pid() const { return pid_; }
  // The path from which the recorder in it was loaded; "" if it is not loaded.
  const std::string& recorder() const { return recorder_; }
  // Reads /proc again: after the recorder was loaded.
  absl::Status Refresh();
  // The functions of the C library, without the rest.
  absl::StatusOr<StubParts> Functions() const;
  // Executable bytes of a library that nothing uses: between the end of its code and the end of the
  // page. Nothing if no gap is that large.
  std::optional<std::uint64_t> FindGap(std::size_t bytes) const;
  // In the recorder.
  std::uint64_t SymbolOfRecorder(const std::string& name) const;
  // In the program, or in libpython.
  std::uint64_t SymbolOfPython(const std::string& name) const;
  // Whether the library can be loaded there: by this C library, of this release.
  absl::Status CheckLibrary(const std::string& library) const;

 private:
  explicit Target(pid_t pid) : pid_(pid) {}
  // The program's path of a mapping: that of here is longer if the program's root is a folder.
  std::string SeenThere(const std::string& mapped) const;

  pid_t pid_;
  std::vector<holders::Mapping> mappings_;
  std::string recorder_, recorder_file_;  // the second as it is mapped: "... (deleted)"
};

}  // namespace memprof::cli
