// The placement problem in small numbers, and orders in which to place its buffers.
#include "analysis/placement/internal/problem.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace memprof::analysis {
namespace {

using Order = std::vector<std::uint32_t>;
using Problem = PlacementProblem;

void SumLive(Problem* problem) {
  problem->live.assign(std::size_t{problem->times} + 1, 0);
  for (const SpaceBuffer& buffer : problem->buffers) {
    problem->live[buffer.begin] += buffer.units;
    problem->live[buffer.last + 1] -= buffer.units;
  }
  std::partial_sum(problem->live.begin(), problem->live.end(), problem->live.begin());
}

// Largest of live[begin…last] for many ranges: a sparse table.
class RangeMaximum {
 public:
  explicit RangeMaximum(const std::vector<std::uint64_t>& values) : rows_{values} {
    for (std::size_t width = 2; width <= values.size(); width *= 2) {
      const auto& below = rows_.back();
      std::vector<std::uint64_t> row(values.size() - width + 1);
      for (std::size_t i = 0; i < row.size(); ++i) {
        row[i] = std::max(below[i], below[i + width / 2]);
      }
      rows_.push_back(std::move(row));
    }
  }
  std::uint64_t Of(std::uint32_t first, std::uint32_t last) const {
    const auto row = static_cast<std::size_t>(std::bit_width(std::size_t{last} - first + 1)) - 1;
    return std::max(rows_[row][first], rows_[row][last + 1 - (std::size_t{1} << row)]);
  }

 private:
  std::vector<std::vector<std::uint64_t>> rows_;
};

// Buffers with the largest keys first; among equals the earlier, then the longer.
template <typename KeyOf>
Order OrderBy(const Problem& problem, const KeyOf& key_of) {
  const std::size_t count = problem.buffers.size();
  std::vector<double> keys(count);
  for (std::size_t i = 0; i < count; ++i) keys[i] = key_of(problem.buffers[i]);
  Order order(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (keys[a] != keys[b]) return keys[a] > keys[b];
    const SpaceBuffer &x = problem.buffers[a], &y = problem.buffers[b];
    if (x.begin != y.begin) return x.begin < y.begin;
    return x.last != y.last ? x.last > y.last : a < b;
  });
  return order;
}

// Buffers that are alive at the peak come first, in one order, so that there are no holes then; all
// others follow in another order.
Order PeakFirst(const Problem& problem, const Order& of_peak, const Order& of_rest) {
  const auto peak = static_cast<std::uint32_t>(
      std::max_element(problem.live.begin(), problem.live.end()) - problem.live.begin());
  const auto at_peak = [&](std::uint32_t row) {
    return problem.buffers[row].begin <= peak && peak <= problem.buffers[row].last;
  };
  Order order;
  std::copy_if(of_peak.begin(), of_peak.end(), std::back_inserter(order), at_peak);
  std::copy_if(of_rest.begin(), of_rest.end(), std::back_inserter(order), std::not_fn(at_peak));
  return order;
}

}  // namespace

std::vector<PlacementChange> PlacementChanges(const std::vector<PlacementBuffer>& buffers) {
  std::vector<PlacementChange> changes;
  changes.reserve(2 * buffers.size());
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes == 0 || buffers[i].end <= buffers[i].begin) continue;
    changes.push_back({buffers[i].begin, true, i});
    changes.push_back({buffers[i].end, false, i});
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

PlacementProblem Simplify(const std::vector<PlacementBuffer>& buffers) {
  Problem problem;
  std::vector<std::uint32_t> begin(buffers.size()), last(buffers.size());
  std::uint32_t time = 0;
  bool ended = false;
  std::vector<bool> seen(buffers.size());
  for (const PlacementChange& change : PlacementChanges(buffers)) {
    if (change.begins) {
      time += std::exchange(ended, false) ? 1 : 0;
      begin[change.buffer] = time;
    } else {
      ended = true;
      last[change.buffer] = time;
      seen[change.buffer] = true;
    }
  }
  problem.times = time + 1;
  std::uint64_t sum = 0, divisor = 0;
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    if (!seen[i]) continue;
    if (begin[i] == 0 && last[i] == time) {
      problem.always.push_back(i);
      problem.always_bytes += buffers[i].bytes;
      continue;
    }
    problem.original.push_back(i);
    sum += buffers[i].bytes;
    divisor = std::gcd(divisor, buffers[i].bytes);
  }
  // The sum of all buffers is an upper bound for every height.
  constexpr std::uint64_t kMaxUnits = std::uint64_t{1} << 39;
  problem.unit = std::max<std::uint64_t>({1, divisor, sum / kMaxUnits + 1});
  if (divisor > 0 && problem.unit > divisor) {
    problem.unit = (problem.unit + divisor - 1) / divisor * divisor;
  }
  for (const std::uint32_t i : problem.original) {
    const std::uint64_t units = (buffers[i].bytes + problem.unit - 1) / problem.unit;
    problem.buffers.push_back({begin[i], last[i], units});
  }
  SumLive(&problem);
  return problem;
}

PlacementProblem Core(const PlacementProblem& whole, double share) {
  Problem core;
  Order by_size(whole.buffers.size());
  std::iota(by_size.begin(), by_size.end(), 0u);
  std::sort(by_size.begin(), by_size.end(), [&](std::uint32_t a, std::uint32_t b) {
    return whole.buffers[a].units > whole.buffers[b].units;
  });
  // The most units alive at a time without the `count` largest buffers.
  const auto left_out = [&](std::size_t count) {
    std::vector<std::uint64_t> live(std::size_t{whole.times} + 1);
    for (std::size_t k = count; k < by_size.size(); ++k) {
      const SpaceBuffer& buffer = whole.buffers[by_size[k]];
      live[buffer.begin] += buffer.units;
      live[buffer.last + 1] -= buffer.units;
    }
    std::partial_sum(live.begin(), live.end(), live.begin());
    return static_cast<double>(*std::max_element(live.begin(), live.end()));
  };
  const double most = share * static_cast<double>(Bound(whole));
  std::size_t low = 0, high = by_size.size();  // enough is left out with `high`
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    if (left_out(middle) <= most) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  if (high * 10 > by_size.size() * 9) return core;
  core.times = whole.times;
  core.unit = whole.unit;
  by_size.resize(high);
  std::sort(by_size.begin(), by_size.end());
  for (const std::uint32_t row : by_size) {
    core.original.push_back(row);
    core.buffers.push_back(whole.buffers[row]);
  }
  SumLive(&core);
  return core;
}

std::uint64_t Bound(const PlacementProblem& problem) {
  return *std::max_element(problem.live.begin(), problem.live.end());
}

std::vector<PlacementOrder> MakeOrders(const PlacementProblem& problem) {
  const RangeMaximum pressure(problem.live);
  const Order size =
      OrderBy(problem, [](const SpaceBuffer& b) -> double { return static_cast<double>(b.units); });
  const Order area = OrderBy(problem, [](const SpaceBuffer& b) { return Life(b) * Units(b); });
  const Order life = OrderBy(problem, [](const SpaceBuffer& b) { return Life(b); });
  const Order size_and_life =
      OrderBy(problem, [](const SpaceBuffer& b) { return Units(b) * std::sqrt(Life(b)); });
  const Order pressed = OrderBy(problem, [&](const SpaceBuffer& b) {
    // Buffers that live when most is alive come first, in a few coarse classes; then larger ones.
    const double share = static_cast<double>(pressure.Of(b.begin, b.last)) /
                         static_cast<double>(1 + pressure.Of(0, problem.times - 1));
    return std::floor(share * 8) * 1e13 + Units(b);
  });
  const Order birth = OrderBy(problem, [](const SpaceBuffer& b) { return -double{1} * b.begin; });
  const Order death = OrderBy(problem, [](const SpaceBuffer& b) -> double { return b.last; });
  using Rule = PlacementRule;
  return {
      {"by size, tightest gap", Rule::kTightest, size},
      {"peak first by birth, tightest gap", Rule::kTightest, PeakFirst(problem, birth, size)},
      {"peak first by death, tightest gap", Rule::kTightest, PeakFirst(problem, death, size)},
      {"peak first by duration, tightest gap", Rule::kTightest, PeakFirst(problem, life, size)},
      {"peak first by death, lowest gap", Rule::kLowest, PeakFirst(problem, death, size)},
      {"by duration, tightest gap", Rule::kTightest, life},
      {"by size and duration, tightest gap", Rule::kTightest, size_and_life},
      {"by size, lowest gap", Rule::kLowest, size},
      {"by area, tightest gap", Rule::kTightest, area},
      {"by duration, lowest gap", Rule::kLowest, life},
      {"by size and duration, lowest gap", Rule::kLowest, size_and_life},
      {"by pressure and size, tightest gap", Rule::kTightest, pressed},
      {"by area, lowest gap", Rule::kLowest, area},
      {"by pressure and size, lowest gap", Rule::kLowest, pressed},
      {"by birth, lowest gap", Rule::kLowest, birth},
  };
}

}  // namespace memprof::analysis
