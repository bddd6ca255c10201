// Asks the agent in a program that was started with `memprof run --holders`. Any process may have
// the name of its socket: the answer is not trusted.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "cli/holders/internal/held.h"

namespace memprof::cli {

// What the program sends. Errors are a clause with the program as its subject, such as "did not
// answer within 10 s"; kNotFound if nobody listens.
absl::StatusOr<std::string> ReceiveAnswer(pid_t pid, std::chrono::milliseconds timeout);

// kInvalidArgument, a clause like the above, for what is no answer.
absl::StatusOr<Held> ParseAnswer(std::string_view document);

}  // namespace memprof::cli
