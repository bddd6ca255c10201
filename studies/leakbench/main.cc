// LeakBench: figures on how well leaks are detected. docs/leakbench.md explains them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "studies/leakbench/detectors.h"

namespace {

using memprof::leakbench::Case;
using memprof::leakbench::Cases;
using memprof::leakbench::Detector;
using memprof::leakbench::Detectors;
using memprof::leakbench::Kinds;
using memprof::leakbench::Precision;
using memprof::leakbench::Run;
using memprof::leakbench::Said;
using memprof::leakbench::Sample;
using memprof::leakbench::Score;
using memprof::leakbench::ScoreOf;
using memprof::leakbench::Steps;
using memprof::leakbench::Truth;
using memprof::leakbench::WilsonInterval;

constexpr char kHelp[] =
    "usage: leakbench [--draws N] [--kinds held-out|development] [--marks yes|no|no-pattern]\n"
    "                 [--steps N] [--accesses yes|no] [--cases] [--detect]\n"
    "\n"
    "Runs labelled leaks and what looks like leaks through memprof's rule and seven older ones, "
    "and\n"
    "prints precision, recall and false-positive rate at 40, 100 and 400 steps.\n"
    "\n"
    "  --draws N        random draws of each case (60)\n"
    "  --kinds KINDS    held-out (default), or development: what the rule was made on\n"
    "  --marks ANS      whether steps are marked (yes); no: each case alone in a training loop;\n"
    "                   no-pattern: each alone in a server\n"
    "  --steps N        only that many steps\n"
    "  --accesses ANS   whether the log says what kernels were given (yes)\n"
    "  --cases          also what memprof says of each case, at each length\n"
    "  --detect         also after how many steps leaks are first told\n";

struct Options {
  int draws = 60, steps = 0;
  bool cases = false, detect = false;
  memprof::leakbench::RunOptions run{.kinds = Kinds::kHeldOut};
};

std::vector<Sample> RunAll(const Options& options, int steps) {
  std::vector<Sample> all;
  for (int draw = 0; draw < options.draws; ++draw) {
    for (Sample& sample : Run(static_cast<std::uint32_t>(draw), steps, options.run))
      all.push_back(std::move(sample));
  }
  return all;
}

void PrintTable(const std::vector<Sample>& samples, int steps) {
  std::printf("\n%d steps, %zu sites%-15s decidable cases          all cases\n", steps,
              samples.size(), "");
  std::printf("%-34s %9s %7s %7s   %9s %7s\n", "", "precision", "recall", "FPR", "precision",
              "recall");
  for (const Detector& detector : Detectors()) {
    const Score some = ScoreOf(detector, samples, true), all = ScoreOf(detector, samples, false);
    std::printf("%-34s %9.3f %7.3f %7.4f   %9.3f %7.3f\n", detector.name.c_str(), some.precision(),
                some.recall(), some.false_positive_rate(), all.precision(), all.recall());
  }
  const Precision found = memprof::leakbench::PrecisionOf(samples);
  if (found.named == 0 || found.slope_errors.empty()) return;
  const std::size_t n = found.slope_errors.size();
  std::printf(
      "call site right: %.1f %%; slope off by %.1f %% (median), %.1f %% (95th percentile)\n",
      100.0 * found.named_right / found.named, 100 * found.slope_errors[n / 2],
      100 * found.slope_errors[n * 95 / 100]);
}

// Precision, recall and false-positive rate of memprof's rule with their 95 % intervals.
void PrintIntervals(const std::vector<Sample>& samples) {
  for (const Detector& detector : Detectors()) {
    if (!detector.name.starts_with("memprof")) continue;
    const Score score = ScoreOf(detector, samples, true);
    const auto [p_low, p_high] = WilsonInterval(score.hits, score.hits + score.false_alarms);
    const auto [r_low, r_high] = WilsonInterval(score.hits, score.hits + score.misses);
    const auto [f_low, f_high] =
        WilsonInterval(score.false_alarms, score.false_alarms + score.rejections);
    std::printf("%s: precision %.3f to %.3f, recall %.3f to %.3f, FPR %.4f to %.4f (95 %%)\n",
                detector.name.c_str(), p_low, p_high, r_low, r_high, f_low, f_high);
  }
}

// The number of steps, in a run of 100, after which a leak was first reported in any tier.
void PrintStepsToDetect(const Options& options) {
  constexpr int kSteps = 100;
  std::map<std::pair<int, const Case*>, int> first;
  std::size_t leaks = 0;
  for (const int until :
       {11, 12, 13, 14, 15, 16, 18, 20, 22, 24, 26, 28, 30, 35, 40, 50, 60, 80, kSteps}) {
    for (int draw = 0; draw < options.draws; ++draw) {
      memprof::leakbench::RunOptions run = options.run;
      run.until = until;
      for (const Sample& sample : Run(static_cast<std::uint32_t>(draw), kSteps, run)) {
        if (sample.of->truth != Truth::kLeak) continue;
        leaks += until == kSteps;
        if (sample.said != Said::kNothing) first.try_emplace({draw, sample.of}, until);
      }
    }
  }
  std::vector<int> steps;
  for (const auto& [leak, until] : first) steps.push_back(until);
  if (steps.empty()) return;
  std::sort(steps.begin(), steps.end());
  std::printf(
      "\nof %zu leaks in runs of %d steps, %zu were told; first after %d steps (median), "
      "%d (90th percentile)\n",
      leaks, kSteps, steps.size(), steps[steps.size() / 2], steps[steps.size() * 9 / 10]);
}

void PrintCases(const std::vector<Sample>& samples, Kinds kinds) {
  std::printf("\n%-34s %9s %8s %8s\n", "case", "suspected", "growing", "nothing");
  for (const Case& one : Cases(kinds)) {
    int said[3] = {};
    for (const Sample& sample : samples)
      if (sample.of == &one) ++said[static_cast<int>(sample.said)];
    std::printf("%-34s %9d %8d %8d\n", one.name.c_str(), said[2], said[1], said[0]);
  }
}

bool Parse(int argc, char** argv, Options* options) {
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (name == "--detect") {
      options->detect = true;
      continue;
    }
    if (name == "--cases") {
      options->cases = true;
      continue;
    }
    ++i;
    if (name == "--draws" && std::atoi(value.c_str()) > 0)
      options->draws = std::atoi(value.c_str());
    else if (name == "--steps" && std::atoi(value.c_str()) > 0)
      options->steps = std::atoi(value.c_str());
    else if (name == "--kinds" && (value == "held-out" || value == "development"))
      options->run.kinds = value == "held-out" ? Kinds::kHeldOut : Kinds::kDevelopment;
    else if (name == "--marks" && (value == "yes" || value == "no" || value == "no-pattern"))
      options->run.marks = value == "yes"  ? Steps::kMarked
                           : value == "no" ? Steps::kUnmarked
                                           : Steps::kNoPattern;
    else if (name == "--accesses" && (value == "yes" || value == "no"))
      options->run.accesses = value == "yes";
    else
      return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (argc > 1 && std::strcmp(argv[1], "--help") == 0) return std::fputs(kHelp, stdout) < 0;
  if (!Parse(argc, argv, &options)) {
    std::fputs("leakbench: wrong usage; see leakbench --help\n", stderr);
    return 2;
  }
  const Kinds kinds = options.run.kinds;
  std::printf("%d draws of %zu %s kinds, %s accesses\n", options.draws, Cases(kinds).size(),
              kinds == Kinds::kHeldOut ? "held-out" : "development",
              options.run.accesses ? "with" : "without");
  for (const int steps : {40, 100, 400}) {
    if (options.steps > 0 && options.steps != steps) continue;
    const std::vector<Sample> samples = RunAll(options, steps);
    if (samples.empty()) return 1;
    PrintTable(samples, steps);
    PrintIntervals(samples);
    if (options.cases) PrintCases(samples, kinds);
  }
  if (options.detect) PrintStepsToDetect(options);
  return 0;
}
