// memprof footprint: predicts the memory for an input of another size, from runs of two sizes.
#include "analysis/footprint/footprint.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "analysis/base/quantity.h"
#include "analysis/base/status_text.h"
#include "analysis/base/units.h"
#include "cli/console/command_line.h"
#include "cli/console/json.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"
#include "cli/replay/footprint.h"
#include "cli/replay/internal/footprint_text.h"
#include "cli/shared/losses.h"
#include "cli/shared/names.h"
#include "cli/shared/run_lines.h"

namespace memprof::cli {
namespace {

using analysis::Footprint;
using analysis::FormatNumberOf;

std::optional<std::uint64_t> ParsePositive(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  constexpr std::uint64_t kMax = std::uint64_t{1} << 40;
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > kMax)
    return std::nullopt;
  return value;
}

// "4,8": positive whole numbers. None for anything else.
std::optional<std::vector<std::uint64_t>> ParseSizes(std::string_view text) {
  std::vector<std::uint64_t> sizes;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const auto size = ParsePositive(text.substr(0, comma));
    if (!size) return std::nullopt;
    sizes.push_back(*size);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return sizes;
}

// The batch size in the recorded command line; none if it has none.
std::optional<std::uint64_t> BatchOf(const analysis::RunInfo& run) {
  constexpr std::string_view kNames[] = {"--batch", "--batch-size", "--batch_size",
                                         "--per_device_train_batch_size", "--micro-batch-size"};
  for (std::size_t i = 0; i < run.arguments.size(); ++i) {
    const std::string_view word = run.arguments[i];
    for (const std::string_view name : kNames) {
      if (word == name && i + 1 < run.arguments.size()) return ParsePositive(run.arguments[i + 1]);
      if (word.starts_with(name) && word.substr(name.size()).starts_with('='))
        return ParsePositive(word.substr(name.size() + 1));
    }
  }
  return std::nullopt;
}

struct FootprintArguments {
  bool json = false;
  std::int64_t top = 15, multiple = 1, device = INT64_MIN;
  std::string batch, predict, capacity, recorded;
};

void DeclareFootprint(Options* options, FootprintArguments* arguments) {
  options->Text(
      "batch", &arguments->batch, "N,N,...",
      "Sizes of the runs' inputs, in the order of the logs. Without it they are read from "
      "the recorded command lines (--batch, --batch-size and the like).");
  options->Text("predict", &arguments->predict, "N,...", "Show the peaks with these sizes.");
  options->Text("capacity", &arguments->capacity, "SIZE",
                "Show the largest input that fits into SIZE, e.g. 24GiB, in place of the device's "
                "own memory.");
  options->Text(
      "recorded", &arguments->recorded, "NAME[:OPTION[=VALUE],...]",
      "The allocator that the program used, where the logs do not show it well; names and "
      "options as for 'memprof replay'.");
  options->Integer("multiple", &arguments->multiple, "N",
                   "Only sizes that are multiples of N can be the largest (default 1).");
  options->Integer("device", &arguments->device, "N", "Only this device.");
  options->Integer("top", &arguments->top, "N", "Rows of each table; 0 = all (default 15).");
  options->Flag("json", &arguments->json, "Print one JSON object (schema memprof.footprint/1).");
  options->Example("memprof footprint --batch=4,8 --predict=16,32 four.mprof eight.mprof",
                   "Peaks with 16 and with 32.");
  options->Example("memprof footprint --capacity=24GiB four.mprof eight.mprof sixteen.mprof",
                   "The largest batch for a card of 24 GiB; sizes as on the command lines.");
}

// An exit status, or -1 on success.
int ReadSizes(const FootprintArguments& arguments, std::vector<analysis::FootprintInput>* inputs) {
  const auto given = ParseSizes(arguments.batch);
  if (!given) {
    return UsageError("footprint", Cat("--batch=", arguments.batch,
                                       ": whole numbers above 0, with commas between"));
  }
  if (!given->empty() && given->size() != inputs->size()) {
    return UsageError("footprint", Cat("--batch has ", FormatNumberOf(given->size(), "size"),
                                       " for ", FormatNumberOf(inputs->size(), "log")));
  }
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    analysis::FootprintInput& input = (*inputs)[i];
    const auto size =
        given->empty() ? BatchOf(input.session->run()) : std::optional<std::uint64_t>((*given)[i]);
    if (!size) {
      return UsageError("footprint", Cat(input.session->path(),
                                         ": its command line does not show the size of its input; "
                                         "give --batch"));
    }
    input.batch = *size;
  }
  return -1;
}

FootprintAnswer Answer(const Footprint& footprint, const std::vector<std::uint64_t>& sizes,
                       std::uint64_t capacity, std::uint64_t multiple) {
  FootprintAnswer answer;
  answer.footprint = &footprint;
  answer.capacity_given = capacity > 0;
  answer.capacity = capacity > 0 ? capacity : footprint.capacity();
  const std::uint64_t room =
      answer.capacity > footprint.overhead() ? answer.capacity - footprint.overhead() : 0;
  for (const std::uint64_t size : sizes) {
    answer.predictions.push_back(answer.capacity > 0 ? footprint.Predict(size, room)
                                                     : footprint.Predict(size));
  }
  if (answer.capacity > 0) answer.limit = footprint.Largest(room, multiple);
  return answer;
}

int Print(const FootprintArguments& arguments, const std::vector<analysis::FootprintInput>& inputs,
          const std::vector<FootprintAnswer>& answers) {
  std::vector<analysis::FootprintInput> sorted = inputs;  // as in a footprint: by size
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.batch < b.batch; });
  std::vector<std::string> logs;
  bool simulated = false;
  for (const analysis::FootprintInput& input : sorted) {
    logs.push_back(input.session->path());
    simulated |= Simulated(*input.session);
  }
  analysis::Symbols symbols(sorted.back().session);
  const auto top = static_cast<std::size_t>(arguments.top);
  if (arguments.json) {
    Json devices = Json::array();
    for (const FootprintAnswer& answer : answers)
      devices.push_back(FootprintJson(answer, symbols, logs, top));
    return PrintJson(WithSampling(*sorted.back().session, {{"schema", "memprof.footprint/1"},
                                                           {"logs", logs},
                                                           {"simulated", simulated},
                                                           {"devices", std::move(devices)}}));
  }
  std::string text = RunLines(*sorted.back().session);
  for (const FootprintAnswer& answer : answers) text += FootprintText(answer, symbols, logs, top);
  return WriteOut(text) ? kExitFine : kExitFailed;
}

}  // namespace

int FootprintVerb(int argc, char** argv) {
  FootprintArguments arguments;
  Options options(
      "footprint [OPTION...] LOG LOG...",
      "Predicts the memory that a program will take with an input of another size, and "
      "the largest input that fits, from short runs with two sizes or more. Requests of "
      "the runs are aligned by step and call site, their sizes fitted, and fed to the "
      "recorded allocator. The method is in docs/footprint.md.");
  DeclareFootprint(&options, &arguments);
  if (const int status = ParseOrExit(options, "footprint", argc, argv); status >= 0) return status;
  if (options.arguments().size() < 2)
    return UsageError("footprint", "name the logs of at least two runs");
  if (arguments.top < 0) return UsageError("footprint", "--top cannot be negative");
  if (arguments.multiple < 1 || arguments.multiple > (std::int64_t{1} << 32))
    return UsageError("footprint", "--multiple must be a number from 1 to 2^32");
  const auto sizes = ParseSizes(arguments.predict);
  if (!sizes) {
    return UsageError("footprint", Cat("--predict=", arguments.predict,
                                       ": whole numbers above 0, with commas between"));
  }
  std::uint64_t capacity = 0;
  if (!arguments.capacity.empty()) {
    const auto bytes = analysis::ParseSize(arguments.capacity);
    if (!bytes.ok())
      return UsageError("footprint", "--capacity: " + analysis::StatusText(bytes.status()));
    if (*bytes == 0) return UsageError("footprint", "--capacity must be larger than 0");
    capacity = *bytes;
  }
  std::optional<analysis::allocators::AllocatorSpec> recorded;
  if (!arguments.recorded.empty()) {
    const auto spec = analysis::allocators::ParseSpec(arguments.recorded);
    if (!spec.ok())
      return UsageError("footprint", "--recorded: " + analysis::StatusText(spec.status()));
    recorded = *spec;
  }
  std::vector<analysis::FootprintInput> inputs;
  for (const std::string& path : options.arguments()) {
    inputs.push_back({OpenWholeLog(path, "footprint"), 0});
    if (!inputs.back().session) return kExitFailed;
  }
  if (const int status = ReadSizes(arguments, &inputs); status >= 0) return status;
  auto footprints = analysis::BuildFootprints(inputs, recorded ? &*recorded : nullptr);
  if (!footprints.ok()) {
    PrintError(Cat("footprint: ", analysis::StatusText(footprints.status())));
    return kExitFailed;
  }
  std::vector<FootprintAnswer> answers;
  for (const Footprint& footprint : *footprints) {
    if (arguments.device != INT64_MIN && footprint.device() != arguments.device) continue;
    answers.push_back(
        Answer(footprint, *sizes, capacity, static_cast<std::uint64_t>(arguments.multiple)));
  }
  if (answers.empty()) {
    PrintError(Cat("footprint: no memory of device ", arguments.device, " in all of the logs"));
    return kExitFailed;
  }
  return Print(arguments, inputs, answers);
}

}  // namespace memprof::cli
