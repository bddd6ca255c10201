// Asks the program; reads its memory if that cannot answer.
#include "cli/holders/holders.h"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "cli/console/command_line.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/holders/internal/held.h"
#include "cli/holders/internal/output.h"
#include "cli/holders/internal/program.h"
#include "holders/remote/process.h"
#include "holders/remote/read.h"

namespace memprof::cli {
namespace {

using analysis::FormatCount;
using analysis::FormatDuration;

struct Question {
  pid_t pid = 0;
  std::int64_t timeout = 10;  // seconds
  bool memory = false;
};

// Why its memory has to be read is a clause, with the process as its subject.
std::string ReadHow(const Question& question, const holders::Reading& reading,
                    const std::string& why) {
  return Cat("Read from the memory of process ", question.pid, why.empty() ? "" : ", which ", why,
             ": ", FormatCount(reading.objects), " objects, ", FormatCount(reading.tensors),
             " tensors", reading.running ? "." : "; it is stopped.");
}

std::vector<std::string> ReadLimits(const holders::Reading& reading) {
  std::vector<std::string> limits;
  if (reading.running)
    limits.push_back(
        "The process ran while it was read: what changed meanwhile may be missing or twice.");
  if (reading.cut)
    limits.push_back("There are more objects than are read: the rest of them is missing.");
  if (reading.unknown_tensors)
    limits.push_back("How this release of PyTorch keeps the memory of tensors was not found.");
  limits.push_back(
      "What the graphs of autograd save, and what native code refers to, is not seen in memory.");
  limits.push_back("Neither are thread locals, context variables and caches of functools.");
  limits.push_back("Neither is garbage: it has no variable, and waits for the collector.");
  return limits;
}

absl::StatusOr<Held> FromMemory(const Question& question, const std::string& why) {
  const absl::StatusOr<holders::Reading> reading = holders::ReadHolders(question.pid, {});
  if (!reading.ok()) return reading.status();
  HeldJoiner joiner;
  for (const holders::Holder& holder : reading->holders)
    joiner.Add(holder.device, holder.address, holder.bytes,
               {holder.path, holder.root, "python", holder.chain});
  Held held;
  held.objects = reading->objects;
  held.how = ReadHow(question, *reading, why);
  held.limits = ReadLimits(*reading);
  joiner.Finish(&held);
  return held;
}

absl::StatusOr<Held> FromProgram(const Question& question) {
  const absl::StatusOr<std::string> answer =
      ReceiveAnswer(question.pid, std::chrono::seconds(question.timeout));
  if (!answer.ok()) return answer.status();
  absl::StatusOr<Held> held = ParseAnswer(*answer);
  if (!held.ok()) return held.status();
  held->how = Cat("Process ", question.pid, " answered: it looked at ", FormatCount(held->objects),
                  " objects, and stood still for ",
                  FormatDuration(static_cast<analysis::TimeNs>(
                      std::min<std::uint64_t>(held->pause_ns, INT64_MAX))),
                  ".");
  held->limits.insert(
      held->limits.begin(),
      "What native code holds has no name, and temporaries of expressions are not seen.");
  return held;
}

absl::StatusOr<Held> Answer(const Question& question) {
  const absl::StatusOr<char> state = holders::ProcessState(question.pid);
  if (!state.ok()) return state.status();
  if (question.memory) return FromMemory(question, "");
  if (*state == 'T' || *state == 't') return FromMemory(question, "cannot answer");
  absl::StatusOr<Held> held = FromProgram(question);
  if (held.ok()) return held;
  const std::string why = analysis::StatusText(held.status());
  absl::StatusOr<Held> read = FromMemory(question, why);
  if (read.ok() || absl::IsNotFound(held.status())) return read;
  return absl::Status(read.status().code(),
                      Cat("process ", question.pid, " ", why,
                          ", and its memory does not help: ", analysis::StatusText(read.status())));
}

std::string ErrorText(const absl::Status& status) {
  std::string text = analysis::StatusText(status);
  if (absl::IsPermissionDenied(status)) Append(text, ": ", holders::kHowToBeAllowed);
  return text;
}

}  // namespace

int HoldersVerb(int argc, char** argv) {
  Question question;
  bool json = false;
  std::int64_t top = 20;
  Options options(
      "holders [OPTION...] PID",
      "Shows which variables of a running Python process hold its GPU memory, as PyTorch's "
      "tensors. "
      "A program that was started with 'memprof run --holders' is asked. If it does not answer, "
      "because it hangs or is stopped, or was started without that, its memory is read from "
      "outside: that does not stop it and runs no code in it, but sees less (docs/holders.md).");
  options.Flag("json", &json, "Print one JSON object (schema memprof.holders/1).");
  options.Flag("memory", &question.memory, "Read the memory at once, without asking the program.");
  options.Integer("timeout", &question.timeout, "SECONDS",
                  "How long to wait for the program's answer. Default: 10.");
  options.Integer("top", &top, "N", "Print N holders; 0 = all. Default: 20.");
  options.Example("memprof holders 4711", "Who holds the GPU memory of process 4711.");
  options.Example("kill -STOP 4711; memprof holders 4711; kill -CONT 4711",
                  "Exactly, while the process stands still.");
  options.Example("memprof holders --json 4711 | jq '.holders[0].path'",
                  "The holder of the most bytes.");
  if (const int status = ParseOrExit(options, "holders", argc, argv); status >= 0) return status;
  if (options.arguments().size() != 1 || !absl::SimpleAtoi(options.arguments()[0], &question.pid) ||
      question.pid <= 0)
    return UsageError("holders", "give the id of one process");
  if (question.timeout < 0 || question.timeout > 86400)
    return UsageError("holders", "--timeout is a number of seconds up to 86400");
  if (top < 0) return UsageError("holders", "--top cannot be negative");
  const absl::StatusOr<Held> held = Answer(question);
  if (!held.ok()) {
    PrintError(ErrorText(held.status()));
    return kExitFailed;
  }
  const auto rows = static_cast<std::size_t>(top);
  if (json) return PrintJson(HeldJson(*held, question.pid, rows));
  return WriteOut(HeldText(*held, rows)) ? kExitFine : kExitFailed;
}

}  // namespace memprof::cli
