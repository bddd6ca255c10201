// Compares the memory live before steps.
#include "analysis/steps/internal/closed.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace memprof::analysis {
namespace {

// A share of the swing, and bytes: see Slack.
constexpr double kRounded = 0.03, kMaxRounded = 4 << 20;

// Memory that may be live before a step and not before a later one. An allocator rounds kept memory
// up by up to a MiB, differently each time. In a training it must be close to nothing all the same:
// memory that is live between micro-batches and not between steps is gradients.
double Slack(const TokenStream& stream, double swing) {
  const bool learns =
      std::find(stream.trains.begin(), stream.trains.end(), true) != stream.trains.end();
  const bool known = !stream.trains.empty();
  return kTooLittle * swing + (known && !learns ? std::min(kRounded * swing, kMaxRounded) : 0);
}

// By how much memory rises within windows: the median.
double UsualRise(const TokenStream& stream, std::span<const std::uint32_t> begins) {
  std::vector<double> rises;
  for (std::size_t i = 1; i < begins.size(); ++i) {
    const auto begin = stream.level.begin() + begins[i - 1];
    const auto end = stream.level.begin() + begins[i];
    rises.push_back(static_cast<double>(*std::max_element(begin, end) - *begin));
  }
  const auto middle = rises.begin() + static_cast<std::ptrdiff_t>(rises.size() / 2);
  std::nth_element(rises.begin(), middle, rises.end());
  return *middle;
}

}  // namespace

double ClosedShare(const TokenStream& stream, std::span<const std::uint32_t> begins, double swing) {
  const double slack = Slack(stream, swing);
  std::uint64_t floor = ~std::uint64_t{0};
  std::size_t closed = 0;
  for (std::size_t i = begins.size(); i-- > 0;) {
    floor = std::min(floor, stream.level[begins[i]]);
    if (static_cast<double>(stream.level[begins[i]] - floor) <= slack) ++closed;
  }
  return static_cast<double>(closed) / static_cast<double>(begins.size());
}

double ReturnedShare(const TokenStream& stream, std::span<const std::uint32_t> begins,
                     double swing) {
  std::vector<double> growth;
  for (std::size_t i = 1; i < begins.size(); ++i)
    growth.push_back(static_cast<double>(stream.level[begins[i]]) -
                     static_cast<double>(stream.level[begins[i - 1]]));
  const auto middle = growth.begin() + static_cast<std::ptrdiff_t>(growth.size() / 2);
  std::nth_element(growth.begin(), middle, growth.end());
  // Windows that usually free more than they allocate also free memory from before them: only the
  // rise within a window is its own.
  if (*middle < 0) swing = std::min(swing, UsualRise(stream, begins));
  return swing <= 0 ? 0 : swing / (swing + std::abs(*middle));
}

bool Trains(const TokenStream& stream, std::span<const std::uint32_t> begins) {
  if (stream.trains.empty()) return false;
  std::size_t training = 0;
  for (std::size_t i = 1; i < begins.size(); ++i) {
    bool trains = false;
    for (std::uint32_t p = begins[i - 1]; p < begins[i] && !trains; ++p)
      trains = stream.trains[stream.token[p]];
    training += trains ? 1 : 0;
  }
  return training * 10 >= (begins.size() - 1) * 9;
}

}  // namespace memprof::analysis
