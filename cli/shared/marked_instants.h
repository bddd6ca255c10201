// Instants that a log marks itself: "oom", when a request for memory last failed, and
// "snapshot=LABEL", where the program asked for a snapshot. All that was live then can be told.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "analysis/store/session.h"

namespace memprof::cli {

struct MarkedInstant {
  analysis::EventId event;
  std::string words;  // "the failed request of 32.0 MiB (event 4711)"
};

// In form; whether the log has it is another question.
bool IsMarkedInstant(std::string_view text);
// `text` is one in form. Errors: kNotFound, with one line.
absl::StatusOr<MarkedInstant> FindMarkedInstant(const analysis::Session& session,
                                                std::string_view text);

}  // namespace memprof::cli
