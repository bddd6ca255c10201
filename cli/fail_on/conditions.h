// Budgets for continuous integration: conditions of --fail-on, such as 'peak>20GiB', and whether a
// run meets them. Grammar and figures: docs/diff.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "analysis/leaks/leaks.h"
#include "analysis/store/session.h"

namespace memprof::cli {

// The metrics of conditions.
enum class Metric {
  kPeak,           // bytes
  kReserved,       // bytes
  kLiveAtEnd,      // bytes
  kHeadroom,       // bytes, a minimum
  kGrowth,         // bytes per step
  kFragmentation,  // a share, in percent
  kFailed,         // a number
  kStepTime,       // nanoseconds; of diff only
  kDefinite,       // leaks of this tier or a worse one
  kSuspected,
  kGrowing,
};
std::string_view MetricName(Metric metric);

// One figure of a run. `device` is kNoDevice for figures of no single device.
struct Figure {
  int device = analysis::kNoDevice;
  double value = 0;
};
using Figures = std::map<Metric, std::vector<Figure>>;

// Whether conditions may compare two runs ('peak>+5%').
enum class Compares { kNo, kYes };

class Budget {
 public:
  // `texts` are the values of --fail-on, each one or more conditions separated by commas. Errors
  // (kInvalidArgument) are one line with the condition, what is wrong, and often a suggestion.
  // `about`: the metrics that the verb supports; empty = all.
  static absl::StatusOr<Budget> Parse(const std::vector<std::string>& texts, Compares compares,
                                      const std::vector<Metric>& about = {});

  bool empty() const { return conditions_.empty(); }
  bool Needs(Metric metric) const;

  // One line for each condition that `now` violates; with `before`, also for those that compare.
  std::vector<std::string> Violations(const Figures& now, const Figures* before = nullptr) const;

 private:
  struct Condition {
    std::string text;
    Metric metric = Metric::kPeak;
    bool below = false;    // violated below the limit
    bool change = false;   // the limit is for the increase
    bool percent = false;  // of the value before
    double limit = 0;
  };
  static absl::StatusOr<Condition> ParseOne(std::string_view text, Compares compares,
                                            const std::vector<Metric>& about);
  // Parses what follows the name: the sign, the limit and its unit.
  static absl::Status ParseLimit(std::string_view text, std::string_view rest, Compares compares,
                                 Condition* condition);
  static bool Violated(const Condition& condition, double value, std::optional<double> before);

  std::vector<Condition> conditions_;
};

// The figures that `budget` needs. `leaks`: the leaks, if they were searched for already.
Figures CollectFigures(const analysis::Session& session, const Budget& budget,
                       const analysis::LeakReport* leaks = nullptr);

// "21.3 GiB", "1.00 MiB per step", "31 %", "2": a figure as text.
std::string FigureWords(Metric metric, double value);

// Prints the violations on standard error, one line each, with the name `log`. True if there are
// any.
bool ReportViolations(const std::string& log, const std::vector<std::string>& violations);

}  // namespace memprof::cli
