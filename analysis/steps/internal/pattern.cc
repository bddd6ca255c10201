// Tries periods of the sequence and keeps the finest whose windows are not parts of another's.
//
// A token that is allocated once a step cuts the sequence into similar windows. This token is not
// known, so those are tried whose frequency explains most allocations. Such a cut may be anywhere
// within a step. It is moved to the allocation before which least memory is live, because a step is
// a transaction: it frees what it allocates. The same distinguishes steps from micro-batches
// (gradients are live between these) and from layers.
#include "analysis/steps/internal/pattern.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "analysis/steps/internal/candidates.h"
#include "analysis/steps/internal/closed.h"
#include "analysis/steps/internal/windows.h"

namespace memprof::analysis {
namespace {

constexpr std::size_t kCountsTried = 16;  // how many numbers of occurrences are tried
constexpr std::size_t kTokensTried = 2;   // how many tokens of each number

// Cuts to try: occurrences of one token each.
std::vector<Positions> FindCuts(const TokenStream& stream, const TokenIndex& index) {
  struct OfCount {
    std::uint64_t mass = 0;  // allocations of all tokens that occur this often
    // Those that are spread over most of the run first, then by irregularity.
    std::vector<std::tuple<bool, double, std::uint32_t>> tokens;
  };
  std::map<std::size_t, OfCount> groups;
  for (std::uint32_t t = 0; t < stream.distinct; ++t) {
    const std::span<const std::uint32_t> positions = index.Of(t);
    if (positions.size() < kMinCuts) continue;
    OfCount& group = groups[positions.size()];
    group.mass += positions.size();
    const bool local = (positions.back() - positions.front()) * 2 < stream.size();
    group.tokens.emplace_back(local, Irregularity(positions), t);
  }
  std::vector<std::pair<std::uint64_t, std::size_t>> by_mass;
  for (const auto& [count, group] : groups) by_mass.emplace_back(group.mass, count);
  std::sort(by_mass.rbegin(), by_mass.rend());
  if (by_mass.size() > kCountsTried) by_mass.resize(kCountsTried);
  std::vector<Positions> cuts;
  for (const auto& [mass, count] : by_mass) {
    auto& tokens = groups[count].tokens;
    const std::size_t tried = std::min(tokens.size(), kTokensTried);
    std::partial_sort(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(tried),
                      tokens.end());
    for (std::size_t i = 0; i < tried; ++i) {
      const std::span<const std::uint32_t> positions = index.Of(std::get<2>(tokens[i]));
      cuts.emplace_back(positions.begin(), positions.end());
    }
  }
  return cuts;
}

// The cuts at places where all live memory stays to the end: for streams in which no token occurs
// once a step. Of the tokens at such places, the most frequent one gives the cuts.
Positions FindClosures(const TokenStream& stream) {
  std::vector<std::uint64_t> floor(stream.level);
  for (std::size_t p = floor.size(); p-- > 1;) floor[p - 1] = std::min(floor[p - 1], floor[p]);
  const std::uint64_t top = *std::max_element(stream.level.begin(), stream.level.end());
  std::map<std::uint32_t, Positions> closures;
  std::uint64_t high = top;  // the highest level since the last closure
  for (std::uint32_t p = 0; p < stream.size(); ++p) {
    const double swing = static_cast<double>(top - floor[p]);
    const double above = static_cast<double>(stream.level[p] - floor[p]);
    if (above <= kTooLittle * swing && static_cast<double>(high - floor[p]) > 0.1 * swing) {
      closures[stream.token[p]].push_back(p);
      high = stream.level[p];
    }
    high = std::max(high, stream.level[p]);
  }
  Positions best;
  for (auto& [token, positions] : closures)
    if (positions.size() > best.size()) best = std::move(positions);
  if (best.size() < kMinCuts) return {};
  // In the last step it is not known whether live memory stays, so cuts there are too early.
  Positions gaps;
  for (std::size_t i = 1; i < best.size(); ++i) gaps.push_back(best[i] - best[i - 1]);
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  std::size_t kept = 1;
  for (std::size_t i = 1; i < best.size(); ++i)
    if ((best[i] - best[kept - 1]) * 2 >= *middle) best[kept++] = best[i];
  best.resize(kept);
  return best;
}

// The allocation with which steps begin: the `nth` of `token` in a window.
struct Opening {
  std::uint32_t token = 0, nth = 0, of = 0;
  double transient = 0;  // live before it and freed soon: mean over windows
  std::uint32_t seen = 0;
  // In the most typical window: the position, and the memory live before it beyond that at the cuts
  // before and after.
  bool typical = false;
  std::uint32_t offset = 0;
  double level = 0, level_to_next = 0;
};

// How much of the memory live before each allocation from `begin` to `end` is freed before `until`.
std::vector<double> Transient(const TokenStream& stream, std::uint32_t begin, std::uint32_t end,
                              std::uint32_t until) {
  std::uint64_t floor = ~std::uint64_t{0};
  std::vector<double> transient(end - begin);
  for (std::uint32_t p = until; p-- > begin;) {
    floor = std::min(floor, stream.level[p]);
    if (p < end) transient[p - begin] = static_cast<double>(stream.level[p] - floor);
  }
  return transient;
}

// How much temporary memory is live before every allocation of the typical window: the mean over
// windows with the same count. Memory that is freed later than in the next window counts as
// staying.
std::vector<Opening> Openings(const TokenStream& stream, std::span<const std::uint32_t> cuts,
                              std::uint32_t end, const WindowCounts& counts,
                              const std::vector<std::uint32_t>& typical,
                              const WindowLikeness& likeness) {
  const std::size_t most_typical = static_cast<std::size_t>(
      std::max_element(likeness.likeness.begin(), likeness.likeness.end()) -
      likeness.likeness.begin());
  std::vector<std::uint32_t> offset(stream.distinct + 1, 0);
  for (std::uint32_t t = 0; t < stream.distinct; ++t) offset[t + 1] = offset[t] + typical[t];
  std::vector<Opening> openings(offset.back());
  for (std::uint32_t t = 0; t < stream.distinct; ++t)
    for (std::uint32_t j = 0; j < typical[t]; ++j)
      openings[offset[t] + j] = {.token = t, .nth = j, .of = typical[t]};
  std::vector<std::uint32_t> seen(stream.distinct, 0), as_typical(stream.distinct, 0);
  for (std::size_t w = 0; w < counts.size(); ++w) {
    for (const WindowCounts::Entry& entry : counts.Of(w)) {
      as_typical[entry.token] = entry.count == typical[entry.token] ? 1 : 0;
      seen[entry.token] = 0;
    }
    const std::uint32_t stop = w + 1 < cuts.size() ? cuts[w + 1] : end;
    const std::uint32_t until = w + 2 < cuts.size()    ? cuts[w + 2]
                                : w + 2 == cuts.size() ? end
                                                       : std::min(stream.size(), 2 * end - cuts[w]);
    const std::vector<double> transient = Transient(stream, cuts[w], stop, until);
    for (std::uint32_t p = cuts[w]; p < stop; ++p) {
      const std::uint32_t t = stream.token[p];
      if (as_typical[t] == 0) continue;
      Opening& opening = openings[offset[t] + seen[t]++];
      opening.transient += transient[p - cuts[w]];
      ++opening.seen;
      if (w != most_typical) continue;
      const auto level = static_cast<double>(stream.level[p]);
      opening.typical = true;
      opening.offset = p - cuts[w];
      opening.level = level - static_cast<double>(stream.level[cuts[w]]);
      opening.level_to_next = level - static_cast<double>(stream.level[stop]);
    }
  }
  std::erase_if(openings, [&](const Opening& opening) {
    return !opening.typical || opening.seen * 5 < counts.size() * 4;
  });
  for (Opening& opening : openings) opening.transient /= opening.seen;
  std::sort(openings.begin(), openings.end(),
            [](const Opening& a, const Opening& b) { return a.offset < b.offset; });
  return openings;
}

// Of the allocations before which the least temporary memory is live, the one that begins the
// longest climb. A window has `window` tokens.
const Opening* ChooseOpening(const std::vector<Opening>& openings, double window) {
  if (openings.empty()) return nullptr;
  double low = openings[0].transient, high = low;
  for (const Opening& opening : openings) {
    low = std::min(low, opening.transient);
    high = std::max(high, opening.transient);
  }
  const auto is_low = [&](std::size_t i) {
    return openings[i].transient <= low + kTooLittle * (high - low);
  };
  std::vector<std::size_t> lowest;
  for (std::size_t i = 0; i < openings.size(); ++i)
    if (is_low(i)) lowest.push_back(i);
  std::size_t best = 0;
  double longest = -1;
  for (std::size_t i = 0; i < lowest.size(); ++i) {
    const bool last = i + 1 == lowest.size();
    const double next = openings[lowest[last ? 0 : i + 1]].offset + (last ? window : 0);
    const double climb = next - openings[lowest[i]].offset;
    if (climb > longest) {
      longest = climb;
      best = i;
    }
  }
  // The first allocations of a rise may be so small that the level is still among the lowest after
  // each of them, or no larger than the memory that the window keeps. Windows repeat, so the search
  // continues from the begin of the window at its end.
  std::size_t first = lowest[best];
  for (std::size_t n = 0; n + 1 < openings.size(); ++n) {
    const std::size_t before = first == 0 ? openings.size() - 1 : first - 1;
    // Compared at the nearer cut, so that what a window keeps does not matter.
    const bool late = openings[before].offset * 2 > window;
    const double there = late ? openings[before].level_to_next : openings[before].level;
    const double here = late && first > 0 ? openings[first].level_to_next : openings[first].level;
    if (!is_low(before) || there >= here) break;
    first = before;
  }
  return &openings[first];
}

// The position in (from, to] near `expected`, at most a tenth of the range away, before which least
// is live; of equal ones the last.
std::uint32_t LowestNear(const TokenStream& stream, std::uint32_t from, std::uint32_t to,
                         std::uint32_t expected) {
  const std::uint32_t reach = std::max<std::uint32_t>(8, (to - from) / 10);
  const std::uint32_t middle = from + expected;
  const std::uint32_t first = middle > from + reach ? middle - reach : from + 1;
  std::uint32_t best = to;
  for (std::uint32_t p = std::min(to, middle + reach); p >= first; --p)
    if (stream.level[p] < stream.level[best]) best = p;
  return best;
}

// Moves cuts to `opening`: one for each window, one before the first cut and one after the last cut
// if the stream has them.
Positions MoveTo(const TokenStream& stream, std::span<const std::uint32_t> cuts,
                 std::span<const std::uint32_t> occurrences, const Opening& opening) {
  Positions begins;
  const auto in = [&](std::uint32_t from, std::uint32_t to) {
    const auto first = std::lower_bound(occurrences.begin(), occurrences.end(), from);
    return std::span(first, std::lower_bound(first, occurrences.end(), to));
  };
  const std::uint32_t behind = opening.of - opening.nth;  // from the end of a window
  if (const auto before = in(0, cuts.front()); before.size() >= behind)
    begins.push_back(before[before.size() - behind]);
  for (std::size_t w = 0; w + 1 < cuts.size(); ++w) {
    const auto here = in(cuts[w], cuts[w + 1]);
    if (here.size() <= opening.nth || here.size() < behind) {
      begins.push_back(LowestNear(stream, cuts[w], cuts[w + 1], opening.offset));
      continue;
    }
    const std::uint32_t front = here[opening.nth], back = here[here.size() - behind];
    begins.push_back(stream.level[front] < stream.level[back] ? front : back);
  }
  if (const auto after = in(cuts.back(), stream.size()); after.size() > opening.nth)
    begins.push_back(after[opening.nth]);
  std::sort(begins.begin(), begins.end());
  begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
  return begins;
}

Candidate Try(const TokenStream& stream, const TokenIndex& index, const Positions& cuts) {
  Candidate candidate;
  if (cuts.size() < kMinCuts) return candidate;
  const std::span<const std::uint32_t> middle = MiddleOf(cuts, kWindowsLookedAt + 1);
  const std::span<const std::uint32_t> windows = middle.first(middle.size() - 1);
  const std::uint32_t end = middle.back();
  const WindowCounts counts(stream, windows, end);
  const std::vector<std::uint32_t> typical = counts.Typical();
  const WindowLikeness likeness = counts.Compare(typical);
  candidate.common = likeness.common;
  candidate.weighted = likeness.weighted;
  const std::vector<Opening> openings = Openings(stream, windows, end, counts, typical, likeness);
  const Opening* opening = ChooseOpening(openings, static_cast<double>(likeness.typical));
  if (opening == nullptr) return candidate;
  double high = 0;
  for (const Opening& other : openings) high = std::max(high, other.transient);
  candidate.swing = high;
  candidate.begins = MoveTo(stream, cuts, index.Of(opening->token), *opening);
  if (candidate.begins.size() < kMinCuts) return {};
  candidate.closed = ClosedShare(stream, candidate.begins, high);
  candidate.trains = Trains(stream, candidate.begins);
  candidate.returned = candidate.trains ? 1 : ReturnedShare(stream, candidate.begins, high);
  candidate.covered =
      std::min(1.0, (static_cast<double>(candidate.begins.back() - candidate.begins.front()) +
                     static_cast<double>(likeness.typical)) /
                        static_cast<double>(stream.size()));
  return candidate;
}

// Likeness of the steps, without the first, which sets up, and the last, which may be cut.
void Measure(const TokenStream& stream, Candidate* candidate) {
  const Positions& begins = candidate->begins;
  if (begins.size() < 4) return;
  const WindowLikeness likeness =
      CompareWindows(stream, std::span(begins).subspan(1, begins.size() - 2), begins.back());
  candidate->common = likeness.common;
  candidate->weighted = likeness.weighted;
}

// The period of a complete stream; without begins if there is none.
Candidate FindOne(const TokenStream& stream, std::uint32_t hint) {
  Candidate best;
  if (stream.size() < 2 * kMinCuts) return best;
  const TokenIndex index(stream);
  const auto look_at = [&](const Positions& cuts) {
    Candidate candidate = Try(stream, index, cuts);
    if (!candidate.begins.empty() && IsBetter(stream, candidate, best, hint))
      best = std::move(candidate);
  };
  for (const Positions& cuts : FindCuts(stream, index)) look_at(cuts);
  if (!best.Good()) look_at(FindClosures(stream));
  if (!best.begins.empty()) Measure(stream, &best);
  return best;
}

double TypicalSize(const Candidate& candidate) {
  return static_cast<double>(candidate.begins.back() - candidate.begins.front()) /
         static_cast<double>(candidate.begins.size() - 1);
}

TokenStream PartOf(const TokenStream& stream, std::uint32_t begin, std::uint32_t end) {
  TokenStream part;
  part.token.assign(stream.token.begin() + begin, stream.token.begin() + end);
  part.level.assign(stream.level.begin() + begin, stream.level.begin() + end);
  part.distinct = stream.distinct;
  part.trains = stream.trains;
  return part;
}

// Whether nearly all of the middle window of `part` is of kinds that the middle window of `whole`
// has too: the rest of a run in which some steps did more.
bool IsRestOf(const TokenStream& part, const Positions& rest, const TokenStream& whole,
              const Positions& begins) {
  constexpr std::size_t kOf = 10, kNearlyAll = 9;
  const auto middle = [](const TokenStream& stream, const Positions& of) {
    const std::size_t w = (of.size() - 1) / 2;
    return std::span(stream.token).subspan(of[w], of[w + 1] - of[w]);
  };
  const auto all = middle(whole, begins), some = middle(part, rest);
  const absl::flat_hash_set<std::uint32_t> known(all.begin(), all.end());
  const auto shared = static_cast<std::size_t>(std::count_if(
      some.begin(), some.end(), [&](std::uint32_t token) { return known.contains(token); }));
  return shared * kOf >= some.size() * kNearlyAll;
}

// Adds the steps of another stage of the training before or after `found`, or of the rest of this
// one. An evaluation takes less than half of a training step.
void AddStages(const TokenStream& stream, Period* found) {
  constexpr double kStage = 0.2, kAsLarge = 0.5, kCertain = 0.8;
  const auto least = static_cast<std::uint32_t>(kStage * static_cast<double>(stream.size()));
  const Positions period = found->begins;
  const std::uint32_t first = period.front();
  for (const auto& [begin, end] : {std::pair(0u, first), std::pair(period.back(), stream.size())}) {
    // After `found`, the range may begin with the last step of it.
    if (end - begin < least + (begin == 0 ? 0 : static_cast<std::uint32_t>(found->typical)))
      continue;
    const TokenStream part = PartOf(stream, begin, end);
    const Candidate stage = FindOne(part, 0);
    if (stage.begins.empty() || !stage.Good() || ConfidenceIn(part, stage) < kCertain) continue;
    if (TypicalSize(stage) < kAsLarge * found->typical &&
        !IsRestOf(part, stage.begins, stream, period))
      continue;
    for (const std::uint32_t at : stage.begins) found->begins.push_back(begin + at);
  }
  std::sort(found->begins.begin(), found->begins.end());
  found->begins.erase(std::unique(found->begins.begin(), found->begins.end()), found->begins.end());
}

}  // namespace

Period FindPeriod(const TokenStream& stream, std::uint32_t hint) {
  Period period;
  Candidate best = FindOne(stream, hint);
  if (best.begins.empty()) return period;
  period.confidence = ConfidenceIn(stream, best);
  period.common_likeness = best.common;
  period.weighted_likeness = best.weighted;
  period.closed = best.closed;
  period.trains = best.trains;
  period.typical = TypicalSize(best);
  period.begins = std::move(best.begins);
  if (best.Good()) AddStages(stream, &period);
  return period;
}

}  // namespace memprof::analysis
