// Lines and parabolas through a few points.
#include "analysis/footprint/fit.h"

#include <algorithm>
#include <cmath>

namespace memprof::analysis {
namespace {

// Sizes that are rounded up somewhere (a power of two, a warp) are off by little.
constexpr double kTolerance = 512, kShare = 1e-3;

// One point for each size, ascending.
std::vector<SizeObservation> OnePerSize(std::vector<SizeObservation> observations) {
  std::sort(observations.begin(), observations.end(),
            [](const SizeObservation& a, const SizeObservation& b) { return a.batch < b.batch; });
  std::vector<SizeObservation> points;
  for (std::size_t i = 0; i < observations.size();) {
    double sum = 0;
    std::size_t end = i;
    for (; end < observations.size() && observations[end].batch == observations[i].batch; ++end)
      sum += static_cast<double>(observations[end].bytes);
    const double mean = sum / static_cast<double>(end - i);
    points.push_back({observations[i].batch, static_cast<std::uint64_t>(std::llround(mean))});
    i = end;
  }
  return points;
}

double X(const SizeObservation& point) { return static_cast<double>(point.batch); }
double Y(const SizeObservation& point) { return static_cast<double>(point.bytes); }

double Slope(const SizeObservation& a, const SizeObservation& b) {
  return (Y(b) - Y(a)) / (X(b) - X(a));
}

void SetLine(const SizeObservation& a, const SizeObservation& b, SizeModel* model) {
  model->per_unit = Slope(a, b);
  model->fixed = Y(a) - model->per_unit * X(a);
  model->per_square = 0;
}

// Newton's divided differences.
void SetParabola(const SizeObservation& a, const SizeObservation& b, const SizeObservation& c,
                 SizeModel* model) {
  const double first = Slope(a, b);
  model->per_square = (Slope(b, c) - first) / (X(c) - X(a));
  model->per_unit = first - model->per_square * (X(a) + X(b));
  model->fixed = Y(a) - model->per_unit * X(a) - model->per_square * X(a) * X(a);
}

double Value(const SizeModel& model, double x) {
  return model.fixed + model.per_unit * x + model.per_square * x * x;
}

bool Holds(const SizeModel& model, const std::vector<SizeObservation>& points) {
  return std::all_of(points.begin(), points.end(), [&model](const SizeObservation& point) {
    return std::abs(Value(model, X(point)) - Y(point)) <= std::max(kTolerance, kShare * Y(point));
  });
}

bool IsWhole(double value) { return std::abs(value - std::round(value)) < 1e-6; }

// The line through the two observations around `x`, or through the two nearest it.
double Along(const std::vector<SizeObservation>& points, double x) {
  std::size_t next = 1;
  while (next + 1 < points.size() && X(points[next]) < x) ++next;
  const SizeObservation &a = points[next - 1], &b = points[next];
  return Y(a) + Slope(a, b) * (x - X(a));
}

}  // namespace

std::uint64_t SizeModel::At(std::uint64_t batch) const {
  const auto x = static_cast<double>(batch);
  const double bytes = growth == Growth::kIrregular ? Along(points, x) : Value(*this, x);
  constexpr double kMax = 9e18;  // below 2^63
  return static_cast<std::uint64_t>(std::clamp(std::round(bytes), 1.0, kMax));
}

SizeModel FitSize(std::vector<SizeObservation> observations) {
  SizeModel model;
  std::vector<SizeObservation> points = OnePerSize(std::move(observations));
  model.fixed = Y(points.front());
  if (points.size() == 1) return model;
  const bool constant = std::all_of(
      points.begin(), points.end(),
      [&points](const SizeObservation& point) { return point.bytes == points.front().bytes; });
  model.growth = Growth::kConstant;
  if (constant) return model;
  SetLine(points.front(), points.back(), &model);
  model.growth = Growth::kLinear;
  // The tolerance at the observations also applies at size 0.
  const double least = points.size() == 2 ? 0 : -kTolerance;
  if (model.fixed >= least && (points.size() > 2 || IsWhole(model.per_unit)) &&
      Holds(model, points)) {
    return model;
  }
  if (points.size() > 2) {
    SetParabola(points.front(), points[points.size() / 2], points.back(), &model);
    model.growth = Growth::kQuadratic;
    const bool grows = model.per_square > 0 && model.per_unit >= -1e-6;
    if (grows && model.fixed >= least && Holds(model, points)) return model;
  }
  SetLine(points.front(), points.back(), &model);
  model.growth = Growth::kIrregular;
  model.points = std::move(points);
  return model;
}

}  // namespace memprof::analysis
