// Offline placement: bound, orders, search, and a check of the outcome.
#include "analysis/placement.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "absl/container/btree_set.h"
#include "analysis/placement_space.h"

namespace memprof::analysis {
namespace {

using Clock = std::chrono::steady_clock;
using Order = std::vector<std::uint32_t>;

// A change of what is alive; ends come before beginnings of the same time.
struct Change {
  std::uint64_t time = 0;
  bool begins = false;
  std::uint32_t buffer = 0;
  bool operator<(const Change& other) const {
    return time != other.time ? time < other.time : begins < other.begins;
  }
};

std::vector<Change> Changes(const std::vector<PlacementBuffer>& buffers) {
  std::vector<Change> changes;
  changes.reserve(2 * buffers.size());
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].bytes == 0 || buffers[i].end <= buffers[i].begin) continue;
    changes.push_back({buffers[i].begin, true, i});
    changes.push_back({buffers[i].end, false, i});
  }
  std::sort(changes.begin(), changes.end());
  return changes;
}

// The problem in small numbers. Lifetimes are told apart only by what they overlap: a time is a run
// of beginnings that no end interrupts.
struct Problem {
  std::vector<SpaceBuffer> buffers;
  std::vector<std::uint32_t> original;  // row of each in the caller's list
  std::vector<std::uint32_t> always;    // rows alive at all times
  std::uint32_t times = 0;
  std::uint64_t unit = 1;           // bytes
  std::uint64_t always_bytes = 0;   // at the bottom
  std::vector<std::uint64_t> live;  // units alive at each time
};

Problem Simplify(const std::vector<PlacementBuffer>& buffers) {
  Problem problem;
  std::vector<std::uint32_t> begin(buffers.size()), last(buffers.size());
  std::uint32_t time = 0;
  bool ended = false;
  std::vector<bool> seen(buffers.size());
  for (const Change& change : Changes(buffers)) {
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
  // No arrangement that is tried is higher than all buffers upon each other.
  constexpr std::uint64_t kMostUnits = std::uint64_t{1} << 39;
  problem.unit = std::max<std::uint64_t>({1, divisor, sum / kMostUnits + 1});
  if (divisor > 0 && problem.unit > divisor) {
    problem.unit = (problem.unit + divisor - 1) / divisor * divisor;
  }
  problem.live.resize(std::size_t{problem.times} + 1);
  for (const std::uint32_t i : problem.original) {
    const std::uint64_t units = (buffers[i].bytes + problem.unit - 1) / problem.unit;
    problem.buffers.push_back({begin[i], last[i], units});
    problem.live[begin[i]] += units;
    problem.live[last[i] + 1] -= units;
  }
  std::partial_sum(problem.live.begin(), problem.live.end(), problem.live.begin());
  return problem;
}

// ---------------------------------------------------------------------------------------------
// Orders

struct NamedOrder {
  const char* name;
  PlacementRule rule;
  Order order;
};

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

double Life(const SpaceBuffer& buffer) { return buffer.last - buffer.begin + 1.0; }

double Units(const SpaceBuffer& buffer) { return static_cast<double>(buffer.units); }

std::vector<NamedOrder> MakeOrders(const Problem& problem) {
  const RangeMaximum pressure(problem.live);
  const Order size =
      OrderBy(problem, [](const SpaceBuffer& b) -> double { return static_cast<double>(b.units); });
  const Order area = OrderBy(problem, [](const SpaceBuffer& b) { return Life(b) * Units(b); });
  const Order life = OrderBy(problem, [](const SpaceBuffer& b) { return Life(b); });
  const Order size_and_life =
      OrderBy(problem, [](const SpaceBuffer& b) { return Units(b) * std::sqrt(Life(b)); });
  const Order pressed = OrderBy(problem, [&](const SpaceBuffer& b) {
    // Where most is alive comes first, in a few coarse classes; then the larger.
    const double share = static_cast<double>(pressure.Of(b.begin, b.last)) /
                         static_cast<double>(1 + pressure.Of(0, problem.times - 1));
    return std::floor(share * 8) * 1e13 + Units(b);
  });
  const Order birth = OrderBy(problem, [](const SpaceBuffer& b) { return -double{1} * b.begin; });
  using Rule = PlacementRule;
  return {
      {"by size, tightest gap", Rule::kTightest, size},
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

// ---------------------------------------------------------------------------------------------
// Search

constexpr std::uint64_t kNotFound = std::numeric_limits<std::uint64_t>::max();

// The best arrangement so far, of all threads.
class Best {
 public:
  explicit Best(std::size_t buffers) : addresses_(buffers) {}

  // Keeps the arrangement if it is lower.
  void Offer(const PlacementSpace& space, std::uint64_t height, const std::string& found_by) {
    const std::lock_guard lock(mutex_);
    ++arrangements_;
    if (height >= height_) return;
    height_ = height;
    found_by_ = found_by;
    for (std::uint32_t i = 0; i < addresses_.size(); ++i) addresses_[i] = space.address(i);
  }
  void CountMore(std::uint64_t arrangements) {
    const std::lock_guard lock(mutex_);
    arrangements_ += arrangements;
  }
  std::uint64_t Take(std::vector<std::uint64_t>* addresses) {
    const std::lock_guard lock(mutex_);
    *addresses = addresses_;
    return height_;
  }
  std::uint64_t height() const { return height_; }
  const std::string& found_by() const { return found_by_; }
  std::uint64_t arrangements() const { return arrangements_; }
  const std::vector<std::uint64_t>& addresses() const { return addresses_; }

 private:
  std::mutex mutex_;
  std::atomic<std::uint64_t> height_{kNotFound};
  std::string found_by_;
  std::uint64_t arrangements_ = 0;
  std::vector<std::uint64_t> addresses_;
};

// Improves the best arrangement: takes what lies highest, with some of what is alive at the same
// time, out and places it anew in another order.
class LocalSearch {
 public:
  LocalSearch(const Problem& problem, PlacementSpace* space, Best* best, std::uint64_t seed)
      : problem_(problem), space_(*space), best_(*best), random_(seed) {}

  // Until `deadline`, or until nothing can be lower than `bound`.
  void Run(std::uint64_t bound, Clock::time_point deadline) {
    Load();
    std::uint64_t steps = 0;
    while (height_ > bound && best_.height() > bound && Clock::now() < deadline) {
      Step();
      if (++steps % 1024 == 0 && best_.height() < height_) Load();
    }
    best_.CountMore(steps);
  }

 private:
  void Load() {
    std::vector<std::uint64_t> addresses;
    height_ = best_.Take(&addresses);
    space_.Clear();
    ends_.clear();
    for (std::uint32_t i = 0; i < addresses.size(); ++i) {
      space_.PlaceAt(i, addresses[i]);
      ends_.insert({space_.end(i), i});
    }
  }

  void Step() {
    const std::uint32_t top = ends_.rbegin()->second;
    Choose(top);
    const std::size_t at_top_before = CountAtTop();
    old_.clear();
    for (const std::uint32_t i : chosen_) {
      old_.push_back(space_.address(i));
      Take(i);
    }
    const PlacementRule rule =
        random_() % 2 == 0 ? PlacementRule::kLowest : PlacementRule::kTightest;
    std::uint64_t highest = 0;
    for (const std::uint32_t i : chosen_) {
      space_.Place(i, rule);
      ends_.insert({space_.end(i), i});
      highest = std::max(highest, space_.end(i));
    }
    const std::uint64_t height = ends_.rbegin()->first;
    if (height < height_) {
      height_ = height;
      best_.Offer(space_, height, "by search");
      return;
    }
    if (height == height_ && CountAtTop() <= at_top_before) return;  // as good: go on from there
    for (const std::uint32_t i : chosen_) Take(i);
    for (std::size_t k = 0; k < chosen_.size(); ++k) {
      space_.PlaceAt(chosen_[k], old_[k]);
      ends_.insert({space_.end(chosen_[k]), chosen_[k]});
    }
  }

  void Take(std::uint32_t buffer) {
    ends_.erase({space_.end(buffer), buffer});
    space_.Remove(buffer);
  }

  // Buffers that end where the highest one does, up to a few.
  std::size_t CountAtTop() const {
    std::size_t count = 0;
    for (auto at = ends_.rbegin(); at != ends_.rend() && at->first == height_ && count < 64; ++at) {
      ++count;
    }
    return count;
  }

  // What to place anew, in the order in which it will be: `top` first.
  void Choose(std::uint32_t top) {
    const SpaceBuffer& b = problem_.buffers[top];
    // A window of time around the topmost buffer, and a level above which all is taken out.
    const std::uint32_t life = b.last - b.begin + 1;
    const std::uint64_t reach = random_() % 3 == 0 ? random_() % (4 * std::uint64_t{life} + 16) : 0;
    const auto begin =
        static_cast<std::uint32_t>(b.begin - std::min<std::uint64_t>(b.begin, reach));
    const auto last =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(problem_.times - 1, b.last + reach));
    found_.clear();
    space_.Overlapping(begin, last, &found_);
    const double level = Uniform() * static_cast<double>(height_);
    chosen_.clear();
    for (const std::uint32_t i : found_) {
      if (i != top && static_cast<double>(space_.end(i)) > level) chosen_.push_back(i);
    }
    // Few enough that a step is quick: a random part of them.
    const std::size_t most = std::size_t{2} << random_() % 8;
    if (chosen_.size() > most) {
      for (std::size_t k = 0; k < most; ++k) {
        std::swap(chosen_[k], chosen_[k + random_() % (chosen_.size() - k)]);
      }
      chosen_.resize(most);
    }
    Shuffle();
    // Now and then the topmost is not the first.
    const std::size_t at = random_() % 4 == 0 && !chosen_.empty() ? random_() % chosen_.size() : 0;
    chosen_.insert(chosen_.begin() + static_cast<std::ptrdiff_t>(at), top);
  }

  // By size, area or address, blurred by chance, or a few exchanges from it.
  void Shuffle() {
    const std::uint64_t kind = random_() % 4;
    const double noise = random_() % 2 == 0 ? 0.1 : 0.8;
    keys_.clear();
    for (const std::uint32_t i : chosen_) {
      const SpaceBuffer& b = problem_.buffers[i];
      double key = Units(b);
      if (kind == 1) key *= Life(b);
      if (kind == 2) key = -static_cast<double>(space_.address(i));
      if (kind == 3) key = Life(b);
      keys_.push_back({key * (1 + noise * (Uniform() - 0.5)), i});
    }
    std::sort(keys_.begin(), keys_.end(), std::greater<>());
    for (std::size_t k = 0; k < chosen_.size(); ++k) chosen_[k] = keys_[k].second;
  }

  double Uniform() { return static_cast<double>(random_() >> 11) * 0x1p-53; }

  const Problem& problem_;
  PlacementSpace& space_;
  Best& best_;
  std::mt19937_64 random_;
  std::uint64_t height_ = 0;
  absl::btree_set<std::pair<std::uint64_t, std::uint32_t>> ends_;  // (end, buffer)
  std::vector<std::uint32_t> found_, chosen_;
  std::vector<std::uint64_t> old_;
  std::vector<std::pair<double, std::uint32_t>> keys_;
};

void SolveOn(const Problem& problem, const std::vector<NamedOrder>& orders,
             std::atomic<std::size_t>* next_order, std::uint64_t bound, Clock::time_point deadline,
             std::uint64_t seed, Best* best) {
  PlacementSpace space(problem.buffers, problem.times);
  for (std::size_t i = (*next_order)++; i < orders.size(); i = (*next_order)++) {
    if (i > 0 && (Clock::now() >= deadline || best->height() == bound)) break;
    space.Clear();
    std::uint64_t height = 0;
    bool complete = true;
    for (std::size_t k = 0; k < orders[i].order.size(); ++k) {
      const std::uint32_t buffer = orders[i].order[k];
      space.Place(buffer, orders[i].rule);
      height = std::max(height, space.end(buffer));
      // Too high already, or too late: nothing to gain.
      if (i == 0 || (height < best->height() && (k % 256 != 0 || Clock::now() < deadline)))
        continue;
      complete = false;
      break;
    }
    if (complete) best->Offer(space, height, orders[i].name);
  }
  if (best->height() == kNotFound) return;
  LocalSearch(problem, &space, best, seed).Run(bound, deadline);
}

}  // namespace

std::uint64_t PlacementBound(const std::vector<PlacementBuffer>& buffers) {
  std::uint64_t live = 0, most = 0;
  for (const Change& change : Changes(buffers)) {
    live += change.begins ? buffers[change.buffer].bytes : -buffers[change.buffer].bytes;
    most = std::max(most, live);
  }
  return most;
}

PlacementResult PlaceBuffers(const std::vector<PlacementBuffer>& buffers,
                             const PlacementOptions& options) {
  const Clock::time_point deadline =
      Clock::now() + std::chrono::microseconds(
                         static_cast<std::int64_t>(std::clamp(options.seconds, 0.0, 1e6) * 1e6));
  PlacementResult result;
  result.bound = PlacementBound(buffers);
  result.addresses.resize(buffers.size());
  const Problem problem = Simplify(buffers);
  std::uint64_t bottom = 0;
  for (const std::uint32_t i : problem.always) {
    result.addresses[i] = bottom;
    bottom += buffers[i].bytes;
  }
  result.height = bottom;
  result.found_by = "nothing overlaps";
  if (problem.buffers.empty()) return result;

  const std::uint64_t bound = *std::max_element(problem.live.begin(), problem.live.end());
  const std::vector<NamedOrder> orders = MakeOrders(problem);
  Best best(problem.buffers.size());
  std::atomic<std::size_t> next_order{0};
  int threads = options.threads;
  if (threads <= 0) threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (problem.buffers.size() < 64) threads = 1;
  std::vector<std::thread> helpers;
  for (int t = 1; t < threads; ++t) {
    helpers.emplace_back([&, t] {
      SolveOn(problem, orders, &next_order, bound, deadline,
              options.seed + static_cast<std::uint64_t>(t), &best);
    });
  }
  SolveOn(problem, orders, &next_order, bound, deadline, options.seed, &best);
  for (std::thread& helper : helpers) helper.join();

  for (std::uint32_t i = 0; i < problem.buffers.size(); ++i) {
    const std::uint64_t address = bottom + best.addresses()[i] * problem.unit;
    result.addresses[problem.original[i]] = address;
    result.height = std::max(result.height, address + buffers[problem.original[i]].bytes);
  }
  result.found_by = best.found_by();
  result.arrangements = best.arrangements();
  return result;
}

std::string PlacementConflict(const std::vector<PlacementBuffer>& buffers,
                              const std::vector<std::uint64_t>& addresses, std::uint64_t height) {
  if (addresses.size() != buffers.size()) return "a buffer has no address";
  std::map<std::uint64_t, std::uint32_t> alive;  // by address
  const auto overlap = [&](std::uint32_t a, std::uint32_t b) {
    return "buffers " + std::to_string(a) + " and " + std::to_string(b) + " overlap";
  };
  for (const Change& change : Changes(buffers)) {
    const std::uint32_t i = change.buffer;
    if (!change.begins) {
      alive.erase(addresses[i]);
      continue;
    }
    if (addresses[i] > height || buffers[i].bytes > height - addresses[i]) {
      return "buffer " + std::to_string(i) + " lies too high";
    }
    const auto after = alive.lower_bound(addresses[i]);
    if (after != alive.end() && after->first - addresses[i] < buffers[i].bytes) {
      return overlap(i, after->second);
    }
    if (after != alive.begin()) {
      const auto before = std::prev(after);
      if (addresses[i] - before->first < buffers[before->second].bytes) {
        return overlap(before->second, i);
      }
    }
    alive[addresses[i]] = i;
  }
  return "";
}

}  // namespace memprof::analysis
