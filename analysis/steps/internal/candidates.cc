// Compares periods by their regularity, and by the memory live at the begin of their windows.
#include "analysis/steps/internal/candidates.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "analysis/steps/internal/closed.h"

namespace memprof::analysis {
namespace {

constexpr double kAlike = 0.9, kMostlyAlike = 0.6;  // common, and by tokens
constexpr double kClosed = 0.9, kReturned = 0.5;

// Whether `a` and `b` are so near to each other that they count the same steps.
bool SameNumber(double a, double b) { return std::max(a, b) <= 1.5 * std::min(a, b); }

// Whether levels rise evenly and in small steps, as with a list to which every step adds. Layers
// that keep their results raise the level by everything that they allocate.
bool ClimbEvenly(const std::vector<double>& levels, double swing) {
  constexpr double kEven = 2.5, kLittle = 0.2;
  const double climb = levels.back() - levels.front();
  if (levels.size() < 4 || climb <= 0) return false;
  if (climb > kLittle * swing * static_cast<double>(levels.size() - 1)) return false;
  for (std::size_t i = 1; i < levels.size(); ++i)
    if (levels[i] - levels[i - 1] > kEven * climb / static_cast<double>(levels.size() - 1))
      return false;
  return true;
}

// Whether the windows of `fine` are parts of those of `coarse`: before nearly all of them more is
// live than where `coarse` begins and ends, such as gradients between micro-batches or the input
// between layers.
bool ArePartsOf(const TokenStream& stream, const Candidate& fine, const Candidate& coarse) {
  constexpr std::size_t kOf = 10, kNearlyAll = 9, kEvenOf = 2;
  if (SameNumber(static_cast<double>(fine.begins.size()),
                 static_cast<double>(coarse.begins.size())) ||
      fine.begins.size() < coarse.begins.size())
    return false;
  const double slack = kTooLittle * coarse.swing;
  std::size_t windows = 0, above = 0, even = 0;
  auto at = fine.begins.begin();
  for (std::size_t w = 0; w + 1 < coarse.begins.size(); ++w) {
    const std::uint32_t begin = coarse.begins[w], end = coarse.begins[w + 1];
    at = std::upper_bound(at, fine.begins.end(), begin);
    std::vector<double> levels;
    for (; at != fine.begins.end() && *at < end; ++at)
      levels.push_back(static_cast<double>(stream.level[*at]));
    if (levels.empty()) continue;
    ++windows;
    const double lowest = *std::min_element(levels.begin(), levels.end());
    if (lowest <= static_cast<double>(stream.level[begin]) + slack ||
        levels.back() <= static_cast<double>(stream.level[end]) + slack)
      continue;
    ++above;
    even += ClimbEvenly(levels, fine.swing) ? 1 : 0;
  }
  return windows * 2 >= coarse.begins.size() && above * kOf >= windows * kNearlyAll &&
         even * kEvenOf < above;
}

// A candidate that covers a much smaller part of the run than the other is a loop beside the
// training.
bool IsBeside(const Candidate& candidate, const Candidate& other) {
  return candidate.covered < 0.5 * other.covered;
}

// How similar the order of allocations is in the middle windows, by all sequences of three. Windows
// of random traffic have similar contents in different orders. 0 for less than three kinds.
double OrderLikeness(const TokenStream& stream, const Positions& begins) {
  const std::span<const std::uint32_t> middle = MiddleOf(begins, kWindowsLookedAt + 1);
  if (middle.size() < kMinCuts) return 0;
  absl::flat_hash_map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> ids;
  absl::flat_hash_set<std::uint32_t> kinds;
  TokenStream threes;
  const std::uint32_t first = middle.front(), end = middle.back();
  for (std::uint32_t p = first; p < end; ++p) {
    const auto at = [&](std::uint32_t i) { return stream.token[std::min(i, stream.size() - 1)]; };
    kinds.insert(at(p));
    const auto id = static_cast<std::uint32_t>(ids.size());
    threes.Add(ids.try_emplace({at(p), at(p + 1), at(p + 2)}, id).first->second, 0);
  }
  if (kinds.size() < 3) return 0;
  Positions moved;
  for (const std::uint32_t begin : middle.first(middle.size() - 1)) moved.push_back(begin - first);
  const WindowLikeness likeness = CompareWindows(threes, moved, end - first);
  return likeness.common * (0.5 + 0.5 * likeness.weighted);
}

}  // namespace

bool Candidate::Good() const {
  return common >= kAlike && weighted >= kMostlyAlike && returned >= kReturned;
}

double Candidate::Score() const {
  return common * (0.5 + 0.5 * weighted) * std::min(1.0, returned / kReturned);
}

std::span<const std::uint32_t> MiddleOf(const Positions& cuts, std::size_t most) {
  const std::size_t take = std::min(cuts.size(), most);
  return std::span(cuts).subspan((cuts.size() - take) / 2, take);
}

double Irregularity(std::span<const std::uint32_t> positions) {
  const double n = static_cast<double>(positions.size() - 1);
  double sum = 0, squares = 0;
  for (std::size_t i = 1; i < positions.size(); ++i) {
    const double gap = positions[i] - positions[i - 1];
    sum += gap;
    squares += gap * gap;
  }
  const double mean = sum / n;
  return std::sqrt(std::max(0.0, squares / n - mean * mean)) / mean;
}

bool IsBetter(const TokenStream& stream, const Candidate& candidate, const Candidate& best,
              std::uint32_t hint) {
  if (best.begins.empty() || candidate.Good() != best.Good())
    return best.begins.empty() || candidate.Good();
  const double score = candidate.Score() * std::sqrt(candidate.covered);
  const double best_score = best.Score() * std::sqrt(best.covered);
  if (!candidate.Good()) return score * candidate.closed > best_score * best.closed;
  if (IsBeside(candidate, best) || IsBeside(best, candidate))
    return candidate.covered > best.covered;
  const auto steps = static_cast<double>(candidate.begins.size());
  const auto best_steps = static_cast<double>(best.begins.size());
  if (SameNumber(steps, best_steps)) {
    // If a token is missing in some steps, two windows are joined there.
    const bool nearly = std::min(score, best_score) >= 0.95 * std::max(score, best_score);
    if (nearly && std::abs(steps - best_steps) > 1)
      return Irregularity(candidate.begins) < Irregularity(best.begins);
    return score > best_score;
  }
  const bool hinted = SameNumber(steps, hint), best_hinted = SameNumber(best_steps, hint);
  if (hinted != best_hinted) return hinted;
  return steps > best_steps ? !ArePartsOf(stream, candidate, best)
                            : ArePartsOf(stream, best, candidate);
}

double ConfidenceIn(const TokenStream& stream, const Candidate& candidate) {
  constexpr double kInOrder = 0.75;
  const double repeats = static_cast<double>(candidate.begins.size());
  const double support = 1 - std::exp2(1 - repeats);
  double regular = candidate.closed;
  if (regular < kClosed) {
    const double order = OrderLikeness(stream, candidate.begins);
    regular = order >= kInOrder ? 1 - (1 - regular) * (1 - order) : std::max(regular, order);
  }
  return candidate.Score() * regular * support * std::min(1.0, 2 * candidate.covered);
}

}  // namespace memprof::analysis
