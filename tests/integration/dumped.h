// Guests that print what their log must contain (tests/families/expected.h), and the output of the
// commands `memprof dump`, `report` and `leaks` for that log.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "tests/integration/harness.h"

namespace memprof::testing {

// One event. `line` is 0 if it has no stack, or if the line is not checked.
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
// Its "end …" lines: `op` is the reason why the memory ended with its context.
std::vector<Call> ExpectedEnds(const std::string& text);
// The corresponding ends in the log.
std::vector<Call> RecordedEnds(const std::string& log);

// A guest's run and its log.
class Recording {
 public:
  // Runs the guest with these arguments, in a separate directory; its log is `log`.
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

// The command's JSON output; null, and a failed expectation, if the exit status is not 0.
nlohmann::json MemprofJson(const std::vector<std::string>& arguments);

// The events of a log that a guest prints: all except the recorder's own samples and marks. Lines
// are those of the innermost frame in the guest's sources; `functions`, if not null, receives its
// functions.
std::vector<Call> DumpedCalls(const std::string& log,
                              std::vector<std::string>* functions = nullptr);

// Errors in the device's ledger at its last sample, which a failed call causes; empty if there are
// none. Used memory must be that of the stand-in: `contexts` contexts and `pages` pages of 2 MiB.
// The layers must hold what the guest left allocated, and the parts must add up.
std::string LedgerGap(const std::string& log, int device, const std::string& guest_said,
                      std::uint64_t contexts, std::uint64_t pages);

// "KIND BYTES" of all imports that were never closed, sorted; KIND as in docs/json.md.
std::vector<std::string> UnclosedImports(const std::string& log);

}  // namespace memprof::testing
