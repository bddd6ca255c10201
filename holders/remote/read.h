// Which variables of another process hold its GPU memory, read from outside: the process is not
// stopped, and runs no code for this. So it may be stopped, or hang.
//
// What a running process changes meanwhile is read torn. Everything is checked and bounded: the
// result may lack objects, and is never an endless walk.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace memprof::holders {

struct ReadOptions {
  // Names of types whose objects are looked for, with those of derived types.
  std::vector<std::string> targets = {"torch._C.TensorBase", "torch._C._TensorBase"};
  std::size_t most_objects = 20'000'000;
};

struct Holder {
  int device = 0;
  std::uint64_t address = 0, bytes = 0;  // of the storage
  std::string path, root;
  std::vector<std::string> chain;
};

struct Reading {
  std::size_t objects = 0;       // that were reached; without text, numbers and the like
  std::size_t tensors = 0;       // of these, on any device
  bool cut = false;              // there were more objects
  bool running = false;          // the process was not stopped
  bool unknown_tensors = false;  // there are tensors, and how they refer to memory was not found
  std::uint64_t bytes_read = 0;
  std::vector<Holder> holders;  // for each storage, up to 4
};

// Errors: kNotFound (no process, or it has ended meanwhile), kPermissionDenied, kFailedPrecondition
// (no Python, or one that is not known).
absl::StatusOr<Reading> ReadHolders(pid_t pid, const ReadOptions& options);

// For tests: all objects that are reached, and each target by the way that a user knows best.
struct Reached {
  struct Target {
    std::uint64_t address = 0;
    std::string path, root;
    std::vector<std::string> chain;
  };
  std::vector<std::uint64_t> objects;
  std::vector<Target> targets;
};
absl::StatusOr<Reached> ReachedObjects(pid_t pid, const ReadOptions& options);

}  // namespace memprof::holders
