// Guests that say themselves what must be in their log (guests/expected.h), and what the commands
// `memprof dump`, `report` and `leaks` make of it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace memprof::testing {

// One event. `line` is 0 where it has no stack, or where that is nobody's business.
struct Call {
  std::string op, layer;
  int device = -1;
  std::uint64_t address = 0, bytes = 0;
  std::string api;
  int line = 0;
  bool operator==(const Call&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Call& call);

// The "call …" lines of a guest's output.
std::vector<Call> ExpectedCalls(const std::string& text);
// Its "end …" lines: `op` is the reason for which the memory went with its context.
std::vector<Call> ExpectedEnds(const std::string& text);
// Such ends in the log.
std::vector<Call> RecordedEnds(const std::string& log);

// A guest's run and its log.
class Recording {
 public:
  // Runs the guest with these arguments; its log is `log` in a directory of its own.
  explicit Recording(const std::string& guest, std::vector<std::string> arguments = {},
                     std::map<std::string, std::string> environment = {});

  const GuestResult& guest() const { return guest_; }
  const TempDirectory& directory() const { return directory_; }
  std::string log() const { return directory_.File("g.mprof"); }
  std::vector<Call> expected() const { return ExpectedCalls(guest_.out); }

 private:
  TempDirectory directory_;
  GuestResult guest_;
};

// What the command prints as JSON; null, and a failure, where it does not end with status 0.
nlohmann::json MemprofJson(const std::vector<std::string>& arguments);

// The events of a log that a guest speaks of: all but samples and marks of the recorder's own
// choosing. Lines are those of the innermost frame in the source of a guest; its function goes to
// `functions` where that is not null.
std::vector<Call> DumpedCalls(const std::string& log,
                              std::vector<std::string>* functions = nullptr);

// What is wrong with the device's ledger at its last sample, a failed call's; empty when it closes:
// what is in use is what the stand-in must have in use, `contexts` of it and `pages` of 2 MiB; the
// layers hold what the guest says that it left allocated; and the parts add up.
std::string LedgerGap(const std::string& log, int device, const std::string& guest_said,
                      std::uint64_t contexts, std::uint64_t pages);

// "KIND BYTES" of everything imported and never closed, sorted; KIND as in docs/json.md.
std::vector<std::string> UnclosedImports(const std::string& log);

}  // namespace memprof::testing
