// Instants of a log that options name: the peak, the end, the end of a step, and those that the log
// has: "oom", when a request for memory last failed, "snapshot=LABEL", where the program took a
// snapshot, and "event=N". All memory live at such an instant is known.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/peak/peak.h"
#include "analysis/store/session.h"

namespace memprof::cli {

// The default of --device.
inline constexpr std::int64_t kAllDevices = std::numeric_limits<std::int64_t>::min();

struct MarkedInstant {
  analysis::EventId event;
  std::string words;  // "the failed request of 32.0 MiB (event 4711)"
};

// Whether the form is valid; the log may not have the instant.
bool IsMarkedInstant(std::string_view text);
// `text` has a valid form. Errors: kNotFound, with one line.
absl::StatusOr<MarkedInstant> FindMarkedInstant(const analysis::Session& session,
                                                std::string_view text);

// The last step of that number. Errors: kNotFound, with one line.
absl::StatusOr<analysis::StepInfo> FindStep(const analysis::Session& session, std::int64_t number);

// The peak, unless one of these is set.
struct When {
  bool end = false;                  // of the log
  std::optional<std::int64_t> step;  // its end
  std::string marked;

  bool IsPeak() const { return !end && !step && marked.empty(); }
};
// Parses "peak", "end", "step=N" or a marked instant; none for an invalid form.
std::optional<When> ParseWhen(std::string_view text);

struct Instants {
  std::vector<analysis::Peak> of_devices;
  std::string words;  // "the end of step 3"; "" of peaks
};
// Of all devices or of one. Errors: kNotFound, with one line.
absl::StatusOr<Instants> FindInstants(const analysis::Session& session, std::int64_t device,
                                      const When& when);

}  // namespace memprof::cli
