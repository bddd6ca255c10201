// Rules of sizes, and the resulting peaks.
#include "cli/peak/internal/what_if.h"

#include <cstdio>
#include <cstdlib>

#include "analysis/base/units.h"
#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/shared/savings_text.h"

namespace memprof::cli {
namespace {

using analysis::FormatBytes;
using analysis::PeakLayer;
using analysis::PeakSaving;
using analysis::PeakSavings;
using analysis::Resizing;
using analysis::Session;
using analysis::SizeRule;

constexpr double kMaxFactor = 1000;

std::string FactorText(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", factor);
  return text;
}

}  // namespace

absl::StatusOr<std::vector<SizeRule>> ParseSizeRules(const std::vector<std::string>& arguments) {
  std::vector<SizeRule> rules;
  for (const std::string& argument : arguments) {
    absl::StatusOr<SizeRule> rule = ParseSizeRule(argument);
    if (!rule.ok()) return rule.status();
    rules.push_back(*std::move(rule));
  }
  return rules;
}

absl::StatusOr<SizeRule> ParseSizeRule(std::string_view argument) {
  const std::size_t equals = argument.rfind('=');
  const std::string number(equals == std::string_view::npos ? "" : argument.substr(equals + 1));
  char* end = nullptr;
  const double factor = std::strtod(number.c_str(), &end);
  const bool whole =
      !number.empty() && *end == '\0' && number.find_first_of("xX \t") == number.npos;
  if (equals == 0 || !whole || !(factor >= 0 && factor <= kMaxFactor)) {
    return absl::InvalidArgumentError(
        Cat("--what-if takes TEXT=FACTOR with a factor from 0 to 1000, not '", Printable(argument),
            "'"));
  }
  return SizeRule{std::string(argument.substr(0, equals)), factor};
}

std::string WhatIfText(const Session& session, const Resizing& resizing, const PeakSavings& savings,
                       int device) {
  std::string text = "\n  What if";
  std::string_view before_rule = " ";
  for (const SizeRule& rule : resizing.rules()) {
    Append(text, before_rule, Printable(rule.text), " had ", FactorText(rule.factor),
           " times its size");
    before_rule = ", ";
  }
  text += ":\n";
  for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
    const analysis::NewPeak before = savings.PeakAsItWas(device, of);
    if (!before.event.valid() || !resizing.Changes(device, of)) continue;
    const PeakSaving after = resizing.NewPeak(savings, device, of);
    const bool grows = after.without.bytes > before.bytes;
    const std::uint64_t change = grows ? after.without.bytes - before.bytes : after.saves_bytes;
    Append(text, "    the peak", of == PeakLayer::kBlocks ? " of blocks" : "", ": ",
           FormatBytes(before.bytes), ", then ", FormatBytes(after.without.bytes), " (",
           grows ? "+" : "-", FormatBytes(change), ") at ",
           InstantLabel(session, after.without.event), "\n");
  }
  return text;
}

Json WhatIfJson(const Session& session, const Resizing& resizing, const PeakSavings& savings,
                int device) {
  Json json = Json::object();
  for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
    if (!resizing.Changes(device, of)) continue;
    json[of == PeakLayer::kDriver ? "driver" : "blocks"] =
        SavingJson(session, resizing.NewPeak(savings, device, of));
  }
  return json;
}

}  // namespace memprof::cli
