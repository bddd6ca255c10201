// Runs guests that start and end in different ways, and reads what they leave when they are killed.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>

#include "analysis/log/ring_recovery.h"
#include "tests/integration/harness.h"

namespace memprof::testing {

inline GuestResult Life(const TempDirectory& directory, std::vector<std::string> arguments) {
  GuestOptions options{.directory = directory.path()};
  options.arguments = std::move(arguments);
  return RunGuest("guest_runtime_life", options);
}

// The log and what its ring still holds, combined as a reader does.
struct Recovered {
  Log log;
  std::uint64_t from_ring = 0;
  absl::Status status;
};

inline Recovered ReadKilled(const std::string& path) {
  const Log whole = ReadLog(path);
  Recovered recovered;
  const absl::StatusOr<analysis::RecoveredRing> ring =
      analysis::RecoverRing(whole.header.ring_path(), whole.header.pid(),
                            whole.header.start_time_ns(), std::filesystem::file_size(path));
  recovered.status = ring.status();
  if (!ring.ok()) return recovered;
  recovered.log = ReadLog(path, ring->committed_log_bytes);
  AddDefinitions(ring->definitions, &recovered.log);
  for (const log::Events& columns : ring->events) {
    const std::vector<Event> events = ExpandEvents(columns);
    recovered.from_ring += events.size();
    recovered.log.events.insert(recovered.log.events.end(), events.begin(), events.end());
  }
  return recovered;
}

}  // namespace memprof::testing
