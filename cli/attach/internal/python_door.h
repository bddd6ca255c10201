// The way that CPython 3.14 and later keep open for debuggers (PEP 768, as sys.remote_exec): its
// main thread executes a file when it next comes to a safe place. Nobody is stopped for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "cli/attach/internal/target.h"

namespace memprof::cli {

class PythonDoor {
 public:
  // Nothing if there is no such Python in it, or it does not allow this. Runs no code there.
  static std::optional<PythonDoor> Find(const Target& target);

  // `script`: a path as the program sees it.
  absl::Status Ask(const std::string& script) const;
  // The thread has begun with the file; also if it cannot be asked any more.
  bool Answered() const;
  // Takes the question back, unless it was Answered().
  void Withdraw() const;

 private:
  explicit PythonDoor(pid_t pid) : pid_(pid) {}

  pid_t pid_;
  std::uint64_t breaker_ = 0, pending_ = 0, script_ = 0, most_script_ = 0;  // addresses, and bytes
};

}  // namespace memprof::cli
