// Resizes allocations by call site and tensor.
#include "cli/peak/internal/what_if.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unordered_map>

#include "analysis/base/units.h"
#include "cli/console/json.h"
#include "cli/console/text.h"
#include "cli/shared/names.h"
#include "cli/shared/peak_groups.h"

namespace memprof::cli {
namespace {

using analysis::AllocationId;
using analysis::AllocationRecord;
using analysis::FormatBytes;
using analysis::Layer;
using analysis::PeakLayer;
using analysis::PeakSaving;
using analysis::PeakSavings;
using analysis::Session;

constexpr double kMaxFactor = 1000;

bool Suballocated(const Session& session, AllocationId id) {
  for (const AllocationId child : session.Children(id)) {
    const Layer layer = session.record(child).layer;
    if (layer == Layer::kSegment || layer == Layer::kBlock) return true;
  }
  return false;
}

std::string FactorText(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", factor);
  return text;
}

// The rules by what they are asked about, remembered.
class Matcher {
 public:
  Matcher(const Session& session, analysis::Symbols& symbols, const std::vector<SizeRule>& rules)
      : session_(session), rules_(rules), labels_(symbols) {}

  // The first rule that fits `id`; rules.size() if none does.
  std::size_t Of(AllocationId id) {
    std::size_t rule = OfStack(session_.record(id).stack);
    for (const AllocationId child : session_.Children(id)) {
      const AllocationRecord& a = session_.record(child);
      if (a.layer != Layer::kTensor) continue;
      rule = std::min({rule, OfStack(a.stack), OfTensor(a.second)});
    }
    return rule;
  }

 private:
  std::size_t OfStack(analysis::StackId stack) {
    const auto [it, fresh] = by_stack_.try_emplace(stack.value, 0);
    if (fresh) it->second = FirstIn(labels_.Of(stack));
    return it->second;
  }
  std::size_t OfTensor(std::uint64_t tensor) {
    const auto [it, fresh] = by_tensor_.try_emplace(tensor, 0);
    if (fresh) {
      const analysis::TensorInfo* info =
          session_.tensor(analysis::TensorId(static_cast<std::uint32_t>(tensor)));
      it->second = info == nullptr ? rules_.size() : FirstIn(info->name);
    }
    return it->second;
  }
  std::size_t FirstIn(const std::string& text) const {
    std::size_t rule = 0;
    while (rule < rules_.size() && text.find(rules_[rule].text) == std::string::npos) ++rule;
    return rule;
  }

  const Session& session_;
  const std::vector<SizeRule>& rules_;
  SiteLabels labels_;
  std::unordered_map<std::uint32_t, std::size_t> by_stack_;
  std::unordered_map<std::uint64_t, std::size_t> by_tensor_;
};

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

WhatIf::WhatIf(const Session& session, analysis::Symbols& symbols, std::vector<SizeRule> rules)
    : session_(session),
      rules_(std::move(rules)),
      matches_(rules_.size(), 0),
      factor_(session.records().size(), 1) {
  Matcher matcher(session, symbols, rules_);
  const auto records = session.records();
  for (std::uint32_t i = 0; i < records.size(); ++i) {
    const AllocationId id(i);
    if (!analysis::PeakLayerOf(records[i].layer) || Suballocated(session, id)) continue;
    const std::size_t rule = matcher.Of(id);
    if (rule == rules_.size()) continue;
    ++matches_[rule];
    factor_[i] = static_cast<float>(rules_[rule].factor);
  }
}

bool WhatIf::Resizes(int device, PeakLayer of) const {
  const auto records = session_.records();
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (factor_[i] != 1 && records[i].device == device &&
        analysis::PeakLayerOf(records[i].layer) == of)
      return true;
  }
  return false;
}

PeakSaving WhatIf::NewPeak(const PeakSavings& savings, int device, PeakLayer of) const {
  return savings.WithSizes(device, of, [this](AllocationId id, const AllocationRecord& a) {
    const float factor = factor_[id.value];
    if (factor == 1) return a.bytes;
    const double bytes = std::ceil(static_cast<double>(a.bytes) * static_cast<double>(factor));
    return bytes < 9e18 ? static_cast<std::uint64_t>(bytes) : a.bytes;
  });
}

std::string WhatIf::Text(const PeakSavings& savings, int device) const {
  std::string text = "\n  What if";
  for (std::size_t i = 0; i < rules_.size(); ++i)
    Append(text, i == 0 ? " " : ", ", Printable(rules_[i].text), " had ",
           FactorText(rules_[i].factor), " times its size");
  text += ":\n";
  for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
    const analysis::NewPeak before = savings.PeakAsItWas(device, of);
    if (!before.event.valid() || !Resizes(device, of)) continue;
    const PeakSaving after = NewPeak(savings, device, of);
    const bool grows = after.without.bytes > before.bytes;
    const std::uint64_t change = grows ? after.without.bytes - before.bytes : after.saves_bytes;
    Append(text, "    the peak", of == PeakLayer::kBlocks ? " of blocks" : "", ": ",
           FormatBytes(before.bytes), ", then ", FormatBytes(after.without.bytes), " (",
           grows ? "+" : "-", FormatBytes(change), ") at ",
           InstantLabel(session_, after.without.event), "\n");
  }
  return text;
}

Json WhatIf::ToJson(const PeakSavings& savings, int device) const {
  Json json = Json::object();
  for (const PeakLayer of : {PeakLayer::kDriver, PeakLayer::kBlocks}) {
    if (!Resizes(device, of)) continue;
    json[of == PeakLayer::kDriver ? "driver" : "blocks"] =
        SavingJson(session_, NewPeak(savings, device, of));
  }
  return json;
}

}  // namespace memprof::cli
