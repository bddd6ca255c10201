// Looks for low arrangements: orders first, then local search.
#include "analysis/placement/internal/search.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <utility>

#include "absl/container/btree_set.h"

namespace memprof::analysis {
namespace {

using Clock = std::chrono::steady_clock;

// Improves the best arrangement: removes the highest buffers, with some of those alive at the same
// time, and places them again in another order.
class LocalSearch {
 public:
  LocalSearch(const PlacementProblem& problem, PlacementSpace* space, BestArrangement* best,
              std::uint64_t seed)
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
    // Keeps an arrangement that is as good.
    if (height == height_ && CountAtTop() <= at_top_before) return;
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

  // Chooses the buffers to place again, in the order of placing: `top` first.
  void Choose(std::uint32_t top) {
    const SpaceBuffer& b = problem_.buffers[top];
    // A window of time around the topmost buffer, and a level above which all buffers are removed.
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
    // Only a random part of them, so that a step is fast.
    const std::size_t most = std::size_t{2} << random_() % (problem_.buffers.size() > 4096 ? 5 : 8);
    if (chosen_.size() > most) {
      for (std::size_t k = 0; k < most; ++k) {
        std::swap(chosen_[k], chosen_[k + random_() % (chosen_.size() - k)]);
      }
      chosen_.resize(most);
    }
    Shuffle();
    // Sometimes the topmost buffer is not placed first.
    const std::size_t at = random_() % 4 == 0 && !chosen_.empty() ? random_() % chosen_.size() : 0;
    chosen_.insert(chosen_.begin() + static_cast<std::ptrdiff_t>(at), top);
  }

  // Orders them by size, area or address with random noise, or exchanges a few of them.
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

  const PlacementProblem& problem_;
  PlacementSpace& space_;
  BestArrangement& best_;
  std::mt19937_64 random_;
  std::uint64_t height_ = 0;
  absl::btree_set<std::pair<std::uint64_t, std::uint32_t>> ends_;  // (end, buffer)
  std::vector<std::uint32_t> found_, chosen_;
  std::vector<std::uint64_t> old_;
  std::vector<std::pair<double, std::uint32_t>> keys_;
};

// Improves an order: exchanges some of its largest buffers and places everything again. Their
// positions determine what is left for all others.
class OrderSearch {
 public:
  OrderSearch(const PlacementProblem& problem, const PlacementOrder& start, PlacementSpace* space,
              BestArrangement* best, std::uint64_t seed)
      : current_(start), space_(*space), best_(*best), random_(seed) {
    const double large = 0.01 * static_cast<double>(Bound(problem));
    for (std::size_t k = 0; k < current_.order.size(); ++k) {
      if (Units(problem.buffers[current_.order[k]]) >= large) positions_.push_back(k);
    }
  }

  bool possible() const { return positions_.size() > 1; }

  void Run(std::uint64_t bound, Clock::time_point deadline) {
    const std::uint64_t before = best_.height();
    std::uint64_t tries = 0;
    while (best_.height() > bound && Clock::now() < deadline) {
      ++tries;
      std::vector<std::uint32_t> kept = current_.order;
      for (std::uint64_t k = 1 + random_() % 6; k > 0; --k) {
        std::swap(current_.order[positions_[random_() % positions_.size()]],
                  current_.order[positions_[random_() % positions_.size()]]);
      }
      if (!Arrange(current_, space_, best_, deadline, "by search among orders")) {
        current_.order = std::move(kept);
      }
    }
    best_.CountMore(tries - (best_.height() < before ? 1 : 0));
  }

  // Places all buffers in the order. Stops and returns false as soon as the arrangement cannot
  // become the best.
  static bool Arrange(const PlacementOrder& order, PlacementSpace& space, BestArrangement& best,
                      Clock::time_point deadline, const std::string& name) {
    space.Clear();
    std::uint64_t height = 0;
    for (std::size_t k = 0; k < order.order.size(); ++k) {
      space.Place(order.order[k], order.rule);
      height = std::max(height, space.end(order.order[k]));
      if (!best.found()) continue;  // the first arrangement is always completed
      if (height >= best.height() || (k % 256 == 0 && Clock::now() >= deadline)) return false;
    }
    return best.Offer(space, height, name);
  }

 private:
  PlacementOrder current_;
  PlacementSpace& space_;
  BestArrangement& best_;
  std::mt19937_64 random_;
  std::vector<std::size_t> positions_;  // of large buffers in the order
};

// Shared by the threads, in addition to the best arrangement.
struct SharedOrders {
  std::vector<PlacementOrder> orders;
  std::atomic<std::size_t> next{0};
  std::atomic<std::size_t> best{0};  // index of the order with the lowest arrangement so far
};

void SolveOn(const PlacementProblem& problem, SharedOrders* shared, std::uint64_t bound,
             Clock::time_point deadline, std::uint64_t seed, BestArrangement* best) {
  PlacementSpace space(problem.buffers, problem.times);
  const std::vector<PlacementOrder>& orders = shared->orders;
  for (std::size_t i = shared->next++; i < orders.size(); i = shared->next++) {
    if (best->found() && (Clock::now() >= deadline || best->height() <= bound)) break;
    if (OrderSearch::Arrange(orders[i], space, *best, deadline, orders[i].name)) shared->best = i;
  }
  if (!best->found()) return;
  // Alternates between the two searches, because it depends on the problem which one is better.
  OrderSearch among_orders(problem, orders[shared->best], &space, best, seed);
  LocalSearch around_top(problem, &space, best, seed);
  constexpr int kRounds = 6;
  for (int round = 0; round < kRounds && best->height() > bound; ++round) {
    const Clock::time_point now = Clock::now();
    const Clock::duration slice = (deadline - now) / (kRounds - round);
    if (slice <= Clock::duration::zero()) return;
    if (round % 3 != 2 && among_orders.possible()) {
      among_orders.Run(bound, now + slice);
    } else {
      around_top.Run(bound, now + slice);
    }
  }
}

}  // namespace

void SearchArrangements(const PlacementProblem& problem, const SearchLimits& limits,
                        BestArrangement* best) {
  const std::uint64_t bound = Bound(problem);
  SharedOrders shared;
  shared.orders = MakeOrders(problem);
  const auto work = [&](int thread) {
    SolveOn(problem, &shared, bound, limits.deadline,
            limits.seed + static_cast<std::uint64_t>(thread), best);
  };
  std::vector<std::thread> helpers;
  for (int thread = 1; thread < limits.threads; ++thread) helpers.emplace_back(work, thread);
  work(0);
  for (std::thread& helper : helpers) helper.join();
}

}  // namespace memprof::analysis
