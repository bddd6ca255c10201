// Reads conditions, and checks figures against them.
#include "cli/fail_on/conditions.h"

#include <algorithm>
#include <cstdio>

#include "analysis/base/quantity.h"
#include "analysis/base/units.h"
#include "cli/console/options.h"
#include "cli/console/terminal.h"
#include "cli/console/text.h"

namespace memprof::cli {
namespace {

struct MetricInfo {
  Metric metric;
  std::string_view name;
  enum class Unit { kBytes, kBytesPerStep, kPercent, kCount, kTime, kTier } unit;
  std::string_view example;
};
using Unit = MetricInfo::Unit;

constexpr MetricInfo kMetrics[] = {
    {Metric::kPeak, "peak", Unit::kBytes, "peak>20GiB"},
    {Metric::kReserved, "reserved", Unit::kBytes, "reserved>24GiB"},
    {Metric::kLiveAtEnd, "live-at-end", Unit::kBytes, "live-at-end>1GiB"},
    {Metric::kHeadroom, "headroom", Unit::kBytes, "headroom<2GiB"},
    {Metric::kGrowth, "growth", Unit::kBytesPerStep, "growth>1MiB/step"},
    {Metric::kFragmentation, "fragmentation", Unit::kPercent, "fragmentation>30%"},
    {Metric::kFailed, "failed", Unit::kCount, "failed>0"},
    {Metric::kStepTime, "step-time", Unit::kTime, "step-time>+10%"},
    {Metric::kDefinite, "definite", Unit::kTier, "definite"},
    {Metric::kSuspected, "suspected", Unit::kTier, "suspected"},
    {Metric::kGrowing, "growing", Unit::kTier, "growing"},
};

const MetricInfo& InfoOf(Metric metric) {
  return *std::find_if(std::begin(kMetrics), std::end(kMetrics),
                       [metric](const MetricInfo& info) { return info.metric == metric; });
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

absl::Status Wrong(std::string_view condition, std::string_view why) {
  return absl::InvalidArgumentError(Cat("--fail-on=", Printable(condition), ": ", why));
}

bool StartsWithDigit(std::string_view text) {
  return !text.empty() && ((text[0] >= '0' && text[0] <= '9') || text[0] == '.');
}

// Whether a quantity of this kind may follow as a limit of `info`.
bool Fits(const MetricInfo& info, analysis::Quantity::Kind kind) {
  using Kind = analysis::Quantity::Kind;
  if (info.unit == Unit::kTime) return kind == Kind::kTime;
  if (info.unit == Unit::kCount) return kind == Kind::kNumber;
  return info.unit != Unit::kPercent && kind != Kind::kTime;
}

std::string Known(const std::vector<Metric>& about, Compares compares) {
  std::string names;
  for (const MetricInfo& info : kMetrics) {
    if (!about.empty() && std::find(about.begin(), about.end(), info.metric) == about.end())
      continue;
    if (info.metric == Metric::kStepTime && compares == Compares::kNo) continue;
    Append(names, names.empty() ? "" : ", ", info.name);
  }
  return names;
}

// Whether the verb supports `info`.
bool Allowed(const MetricInfo& info, Compares compares, const std::vector<Metric>& about) {
  if (info.metric == Metric::kStepTime && compares == Compares::kNo) return false;
  return about.empty() || std::find(about.begin(), about.end(), info.metric) != about.end();
}

}  // namespace

std::string_view MetricName(Metric metric) { return InfoOf(metric).name; }

std::string FigureWords(Metric metric, double value) {
  char text[64];
  switch (InfoOf(metric).unit) {
    case Unit::kBytes:
      return analysis::FormatBytes(value);
    case Unit::kBytesPerStep:
      return Cat(analysis::FormatBytes(value), " per step");
    case Unit::kPercent:
      std::snprintf(text, sizeof text, "%.3g %%", value);
      return text;
    case Unit::kTime:
      return analysis::FormatDuration(static_cast<analysis::TimeNs>(value));
    case Unit::kCount:
    case Unit::kTier:
      break;
  }
  std::snprintf(text, sizeof text, "%.0f", value);
  return text;
}

absl::StatusOr<Budget::Condition> Budget::ParseOne(std::string_view text, Compares compares,
                                                   const std::vector<Metric>& about) {
  const std::size_t sign = text.find_first_of("<>=");
  const std::string name(Trim(text.substr(0, sign)));
  const MetricInfo* info = nullptr;
  std::vector<std::string> names;
  for (const MetricInfo& one : kMetrics) {
    if (!Allowed(one, compares, about)) continue;
    names.emplace_back(one.name);
    if (one.name == name) info = &one;
  }
  if (info == nullptr) {
    const auto nearest = Nearest(name, names);
    return Wrong(text, Cat("there is no figure '", Printable(name), "' here",
                           nearest ? Cat("; did you mean '", *nearest, "'?")
                                   : Cat(" (", Known(about, compares), ")")));
  }
  Condition condition{.text = std::string(text), .metric = info->metric};
  const bool tier = info->unit == Unit::kTier;
  if (tier != (sign == std::string_view::npos))
    return Wrong(text, tier ? Cat("a tier of leaks takes no limit: '", info->example, "'")
                            : Cat("how much? For example '", info->example, "'"));
  if (tier) return condition;
  const absl::Status limit = ParseLimit(text, text.substr(sign), compares, &condition);
  if (!limit.ok()) return limit;
  return condition;
}

absl::Status Budget::ParseLimit(std::string_view text, std::string_view rest, Compares compares,
                                Condition* condition) {
  const MetricInfo& info = InfoOf(condition->metric);
  const auto wrong = [&](const std::string& what) {
    return Wrong(text, Cat(what, "; for example '", info.example, "'"));
  };
  const char expected = condition->metric == Metric::kHeadroom ? '<' : '>';
  if (rest[0] != expected || rest.substr(1, 1) == "=")
    return wrong(Cat("write '", info.name, expected, "…'"));
  condition->below = expected == '<';
  rest = Trim(rest.substr(1));
  if (!rest.empty() && rest[0] == '+') {
    if (compares == Compares::kNo)
      return Wrong(text, "what was added is for 'memprof diff', which compares two runs");
    condition->change = true;
    rest.remove_prefix(1);
  }
  std::string_view number = rest;
  const bool percent = number.ends_with('%');
  if (percent) number.remove_suffix(1);
  if (info.unit == Unit::kBytesPerStep && number.ends_with("/step")) number.remove_suffix(5);
  const auto limit = analysis::ParseQuantity(number);
  const bool plain = limit && limit->kind == analysis::Quantity::Kind::kNumber;
  if (limit ? percent && !plain : !StartsWithDigit(rest))
    return wrong(Cat("'", Printable(rest), "' is no number"));
  if (limit) condition->limit = limit->exact;
  if (percent && limit) {
    if (info.unit != Unit::kPercent && !condition->change)
      return Wrong(text, Cat("percent of what? For a change write '", info.name, ">+", rest, "'"));
    condition->percent = info.unit != Unit::kPercent;
    return absl::OkStatus();
  }
  if (limit && Fits(info, limit->kind)) return absl::OkStatus();
  const std::size_t unit = std::min(number.find_first_not_of("0123456789. "), number.size());
  return wrong(Cat("'", Printable(number.substr(unit)), "' is no unit of ", info.name));
}

absl::StatusOr<Budget> Budget::Parse(const std::vector<std::string>& texts, Compares compares,
                                     const std::vector<Metric>& about) {
  Budget budget;
  for (const std::string& text : texts) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      const std::string_view one = Trim(std::string_view(text).substr(begin, end - begin));
      if (one.empty())
        return Wrong(
            text, Cat("which condition? One of ", Known(about, compares), ", such as 'growing'"));
      auto condition = ParseOne(one, compares, about);
      if (!condition.ok()) return condition.status();
      budget.conditions_.push_back(*std::move(condition));
      begin = end + 1;
    }
  }
  return budget;
}

bool Budget::Needs(Metric metric) const {
  return std::any_of(conditions_.begin(), conditions_.end(),
                     [metric](const Condition& c) { return c.metric == metric; });
}

bool Budget::Violated(const Condition& condition, double value, std::optional<double> before) {
  if (InfoOf(condition.metric).unit == Unit::kTier) return value > 0;
  if (!condition.change) return condition.below ? value < condition.limit : value > condition.limit;
  if (!before) return false;
  const double added = condition.below ? *before - value : value - *before;
  return added > (condition.percent ? *before * condition.limit / 100 : condition.limit);
}

std::vector<std::string> Budget::Violations(const Figures& now, const Figures* before) const {
  std::vector<std::string> lines;
  for (const Condition& condition : conditions_) {
    const auto figures = now.find(condition.metric);
    if (figures == now.end()) continue;
    // The worst of several devices, on one line.
    const Figure* worst = nullptr;
    std::optional<double> was;
    for (const Figure& figure : figures->second) {
      std::optional<double> earlier;
      if (before != nullptr) {
        earlier = 0;
        if (const auto old = before->find(condition.metric); old != before->end())
          for (const Figure& one : old->second)
            if (one.device == figure.device) earlier = one.value;
      }
      if (!Violated(condition, figure.value, earlier)) continue;
      const bool worse = worst == nullptr || (condition.below ? figure.value < worst->value
                                                              : figure.value > worst->value);
      if (!worse) continue;
      worst = &figure;
      was = earlier;
    }
    if (worst == nullptr) continue;
    const std::string where =
        worst->device == analysis::kNoDevice ? "" : Cat(" on device ", worst->device);
    std::string line = Cat(condition.text, ": ");
    if (InfoOf(condition.metric).unit == Unit::kTier)
      Append(line, analysis::FormatNumberOf(static_cast<std::uint64_t>(worst->value), "leak"),
             " of this tier or a worse one");
    else
      Append(line, FigureWords(condition.metric, worst->value), where,
             condition.change && was ? Cat(", was ", FigureWords(condition.metric, *was)) : "");
    lines.push_back(std::move(line));
  }
  return lines;
}

bool ReportViolations(const std::string& log, const std::vector<std::string>& violations) {
  for (const std::string& line : violations) PrintError(Cat(log, ": budget exceeded: ", line));
  return !violations.empty();
}

}  // namespace memprof::cli
