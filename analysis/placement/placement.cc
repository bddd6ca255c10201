// Offline placement: the bound, the course of a search, and a check of the outcome.
#include "analysis/placement/placement.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <thread>

#include "analysis/placement/internal/search.h"

namespace memprof::analysis {
namespace {

using Clock = std::chrono::steady_clock;

// The share of the memory alive at a time that is left to the end: small buffers, which fill gaps.
constexpr double kSmallShare = 0.003;
// The share of the time for the larger buffers alone.
constexpr double kCoreTime = 0.8;
constexpr std::size_t kTooFewForThreads = 64;

// Arranges the larger buffers, which are fewer and decisive, and then puts the small ones into
// gaps.
void ArrangeCore(const PlacementProblem& problem, const SearchLimits& limits,
                 BestArrangement* best) {
  const PlacementProblem core = Core(problem, kSmallShare);
  if (core.buffers.empty()) return;
  BestArrangement core_best(core.buffers.size());
  SearchArrangements(core, limits, &core_best);
  PlacementSpace space(problem.buffers, problem.times);
  std::vector<bool> placed(problem.buffers.size());
  std::uint64_t height = 0;
  for (std::size_t k = 0; k < core.original.size(); ++k) {
    const std::uint32_t row = core.original[k];
    space.PlaceAt(row, core_best.addresses()[k]);
    placed[row] = true;
    height = std::max(height, space.end(row));
  }
  const std::vector<PlacementOrder> orders = MakeOrders(problem);
  for (const std::uint32_t row : orders.front().order) {
    if (placed[row]) continue;
    space.Place(row, PlacementRule::kTightest);
    height = std::max(height, space.end(row));
  }
  best->Offer(space, height, core_best.found_by() + " of the larger buffers");
  best->CountMore(core_best.arrangements());
}

}  // namespace

std::uint64_t PlacementBound(const std::vector<PlacementBuffer>& buffers) {
  std::uint64_t live = 0, most = 0;
  for (const PlacementChange& change : PlacementChanges(buffers)) {
    live += change.begins ? buffers[change.buffer].bytes : -buffers[change.buffer].bytes;
    most = std::max(most, live);
  }
  return most;
}

PlacementResult PlaceBuffers(const std::vector<PlacementBuffer>& buffers,
                             const PlacementOptions& options) {
  const Clock::time_point start = Clock::now();
  const auto after = [&](double share) {
    const double seconds = std::clamp(options.seconds, 0.0, 1e6) * share;
    return start + std::chrono::microseconds(static_cast<std::int64_t>(seconds * 1e6));
  };
  PlacementResult result;
  result.bound = PlacementBound(buffers);
  result.addresses.resize(buffers.size());
  const PlacementProblem problem = Simplify(buffers);
  std::uint64_t bottom = 0;
  for (const std::uint32_t i : problem.always) {
    result.addresses[i] = bottom;
    bottom += buffers[i].bytes;
  }
  result.height = bottom;
  result.found_by = "nothing overlaps";
  if (problem.buffers.empty()) return result;

  SearchLimits limits = {after(kCoreTime), options.threads, options.seed};
  if (limits.threads <= 0) {
    limits.threads = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  }
  if (problem.buffers.size() < kTooFewForThreads) limits.threads = 1;
  BestArrangement best(problem.buffers.size());
  if (options.seconds > 0) ArrangeCore(problem, limits, &best);
  limits.deadline = after(1);
  SearchArrangements(problem, limits, &best);

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
  for (const PlacementChange& change : PlacementChanges(buffers)) {
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
